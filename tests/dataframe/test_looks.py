"""How frames show themselves: structure, nothing computed, all text escaped."""

from __future__ import annotations

import glassloom.dataframe as gd
import pandas as pd


def test_text_shows_columns_dtypes_and_divisions():
    frame = gd.from_pandas(pd.DataFrame({"x": [1, 2, 3], "y": [0.5, 1.5, 2.5]}), npartitions=2)
    assert repr(frame) == "\n".join(
        [
            "DataFrame structure:",
            "                   x        y",
            "npartitions=2  int64  float64",
            "            0    ...      ...",
            "            1    ...      ...",
            "            2    ...      ...",
            "3 rows, 2 tasks, from-pandas",
        ]
    )
    assert repr(frame.x.sum()) == "Scalar(int64, sum)"


def test_many_partitions_and_columns_are_shown_with_an_ellipsis():
    wide = pd.DataFrame({f"column{number}": range(100) for number in range(40)})
    html = gd.from_pandas(wide, npartitions=50)._repr_html_()
    assert html.count("<tr>") < 25
    assert "column5" in html and "column20" not in html and "column39" in html
    assert "28 more columns" in html
    text = repr(gd.from_pandas(wide, npartitions=50))
    assert max(map(len, text.splitlines())) < 200
    assert text.count("\n") < 14


def test_html_escapes_what_the_user_wrote_and_cuts_long_names():
    hostile = "<script>alert(1)</script>"
    frame = pd.DataFrame({hostile: [1], "a" * 500: [2], "two\nlines": [3]}, index=pd.Index(["<b>"], name="<i>key</i>"))
    html = gd.from_pandas(frame)._repr_html_()
    assert hostile not in html and "<i>key" not in html and "<b>" not in html
    assert "&lt;script&gt;alert(1)&lt;/scr" in html
    assert ">" + "a" * 27 + "…</th>" in html
    assert "two lines" in html


def test_html_says_what_is_known_without_computing():
    frame = gd.datasets.timeseries(seed=1)
    html = frame._repr_html_()
    for text in ("2,592,000", "30", "timestamp", "2000-01-01", "float64", "DataFrame"):
        assert text in html
    filtered = frame[frame.x > 0]._repr_html_()
    assert "not known" in filtered
    assert "divisions not known" in gd.from_pandas(pd.DataFrame({"x": [2, 1]}), sort=False)._repr_html_()
    assert "Series" in frame.x._repr_html_()
    assert "Scalar" in frame.x.sum()._repr_html_()
    assert "Index" in frame.index._repr_html_()


def test_columns_are_offered_for_completion():
    frame = gd.from_pandas(pd.DataFrame({"delay": [1], "two words": [2]}))
    assert "delay" in dir(frame) and "two words" not in dir(frame)
    assert frame._ipython_key_completions_() == ["delay", "two words"]
    assert "upper" in dir(gd.from_pandas(pd.Series(["a"])).str)

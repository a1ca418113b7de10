"""What of pandas isn't there says so, and the page that says what is there says what is there."""

import importlib.util
from pathlib import Path

import glassloom.dataframe as gd
import pandas as pd
import pytest
from glassloom.dataframe import support
from glassloom.errors import NotSupported

DOCS = Path(__file__).parents[2] / "docs"
FRAME = pd.DataFrame({"x": [1, 2, 3], "rank": [1, 2, 3]})


def generator():
    spec = importlib.util.spec_from_file_location("dataframe_support", DOCS / "dataframe_support.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_what_the_code_says():
    made = generator()
    written = (DOCS / "dataframe-support.md").read_text()
    if f"pandas {made.version()}'s" not in written:
        pytest.skip(f"the page is of another pandas than {made.version()}")
    assert written == made.page(), "run: python docs/dataframe_support.py"


def test_every_row_says_what_the_method_does():
    rows = [line for line in (DOCS / "dataframe-support.md").read_text().splitlines() if line.startswith("| `")]
    assert len(rows) > 400
    assert [row for row in rows if row.endswith("|  |")] == []


@pytest.mark.parametrize("kind", support.PANDAS)
def test_every_public_name_of_pandas_is_there_or_says_what_to_use(kind):
    frame = gd.from_pandas(FRAME[["x"]], npartitions=2)
    lazy = {"DataFrame": frame, "Series": frame.x, "Index": frame.index}[kind]
    unlisted = []
    for name in dir(support.PANDAS[kind]):
        if name.startswith("_") or hasattr(type(lazy), name):
            continue
        assert not hasattr(lazy, name)
        with pytest.raises(NotImplementedError, match=rf"^{kind}\.{name} isn't supported: .+\. Use .+"):
            getattr(lazy, name)
        if (kind, name) not in support.NOT_THERE:
            unlisted.append(name)
    assert unlisted == [], "say why, and what to use instead, in glassloom/dataframe/support.py"


def test_columns_come_before_what_isnt_there_and_other_names_are_unknown():
    frame = gd.from_pandas(FRAME, npartitions=2)
    assert frame["rank"].compute().tolist() == frame.rank.compute().tolist() == [1, 2, 3]
    with pytest.raises(NotSupported, match=r"DataFrame\.ewm isn't supported: each weight depends on all rows before"):
        frame.ewm  # noqa: B018
    with pytest.raises(AttributeError, match="DataFrame has no attribute 'rnak'.*did you mean 'rank'"):
        frame.rnak  # noqa: B018
    with pytest.raises(AttributeError, match="Series has no attribute 'rnak'"):
        frame.x.rnak  # noqa: B018
    with pytest.raises(AttributeError, match="Index has no attribute 'rnak'"):
        frame.index.rnak  # noqa: B018


def test_labels_have_the_fields_and_methods_of_their_dtype():
    labels = pd.date_range("2020-01-31", periods=5, freq="D", name="t")
    index = gd.from_pandas(pd.DataFrame({"x": range(5)}, index=labels), npartitions=2).index
    assert index.year.compute().tolist() == [2020] * 5
    assert index.is_month_end.compute().tolist() == labels.is_month_end.tolist()
    assert index.date.compute().tolist() == list(labels.date)
    assert index.floor("2D").compute().equals(labels.floor("2D"))
    assert index.day_name().compute().equals(labels.day_name())
    assert index.tz is None
    assert index.tz_localize("UTC").tz == labels.tz_localize("UTC").tz

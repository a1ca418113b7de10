"""CSV as Arrow parses it: the frame is the one that pandas makes of the text, to the last bit, or Arrow isn't asked."""

from __future__ import annotations

import io
import warnings

import glassloom as gl
import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pytest
from glassloom.dataframe.arrow import csv as arrow_csv
from glassloom.errors import GlassloomError
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from pandas._libs import parsers

needs_rounding = pytest.mark.skipif(
    not arrow_csv._rounds_to_nearest(), reason="this pandas rounds numbers otherwise than Arrow, which is then not used"
)
WORDS = ["a", "b c", "naïve", "2020-01-02", "x1", "True story", "None of it", "e5"]
WHOLE = ["1", "-7", "007", "0", "9007199254740993", "-0", "922337203685477580"]
REAL = [
    "1.5",
    "-0.0",
    "1e5",
    ".5",
    "2.",
    "8.442185152504812e-05",
    "0.1444443599999999812",
    "1e-310",
    "123456789012345678.25",
]
ODD = ["", "NA", "nan", "NaN", "NAN", " 1", "1 ", "+1", "0x1F", "inf", "-Infinity", "1e400", "99999999999999999999", "1_0",
       "true", "False", '"q"', 'q"q', "1,5", "1;5", "a\tb", "a\r", "-", ".", "1e", " ", "\x0b1", "\t1", "1\t", " NA", "NA ", " x", "x ", "\0", "9300000000000000000"]  # fmt: skip


def identical(got, expected):
    pd.testing.assert_frame_equal(got, expected, check_exact=True)
    for name in expected.columns:
        if expected[name].dtype == np.float64:
            assert got[name].to_numpy().tobytes() == expected[name].to_numpy().tobytes()


def columns(size):
    pools = st.sampled_from([WORDS, WHOLE, REAL, [*WHOLE, *REAL], [*WORDS, ""], [*REAL, "", "NA"]])
    plain = pools.flatmap(lambda pool: st.lists(st.sampled_from(pool), min_size=size, max_size=size))
    return st.one_of(plain, plain, st.lists(st.sampled_from(WORDS + WHOLE + REAL + ODD), min_size=size, max_size=size))


@st.composite
def texts(draw):
    """Return a text: mostly plain columns, some with a few odd values, lines or names."""
    size = draw(st.integers(1, 6))
    made = [draw(columns(size)) for _ in range(draw(st.integers(2, 3)))]
    names = draw(st.sampled_from([["a", "b", "c"], ["a", "b", "c"], ["a", "a", "b"], ["a", "", "b"], ["1", " b", "c"]]))
    lines = [",".join(names[: len(made)]), *(",".join(row) for row in zip(*made, strict=True))]
    place = draw(st.integers(1, len(lines)))
    lines[place:place] = draw(
        st.sampled_from([[], [], [], [""], ["  "], ["1"], [",,,,"], [",".join("" for _ in made)]])
    )
    return draw(st.sampled_from(["\n", "\n", "\n", "\r\n"])).join(lines) + draw(st.sampled_from(["\n", ""]))


@needs_rounding
@settings(max_examples=120, deadline=None)
@given(text=texts())
@example(text="a,b\n1,x\n2,NA\n")
@example(text="a,b\n-0,x\n1,y\n")
@example(text="a,b\n0x10,x\n1,y\n")
@example(text="a,b\n1,1\n2,x\n")
@example(text="a,b\nx,1\n5,2\n")
def test_what_arrow_makes_of_a_text_is_what_pandas_makes(text):
    data = text.encode()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            expected = pd.read_csv(io.BytesIO(data))
        except (ValueError, OverflowError):  # of which ParserError is one
            expected = None
    meta = pd.DataFrame() if expected is None else expected[:0]
    parser = arrow_csv.arrow_csv({}, data, meta)
    if parser is None:
        return
    got = parser.parse(data, meta, header=None)
    if got is not None:
        identical(got, expected)


@needs_rounding
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=texts(), size=st.integers(1, 40), some=st.booleans())
@example(text="a,b\n1,x\n2,y\n3,NA\n4,5\n", size=4, some=False)
@example(text="a,b\n1.5,x\n2,y\n3,z\n,5\n", size=4, some=True)
def test_frames_are_the_same_with_and_without_arrow(tmp_path, text, size, some):
    (tmp_path / "a.csv").write_bytes(text.encode())
    made = []
    for arrow in (True, False):
        with gl.config.set({"dataframe.arrow": arrow}), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                lazy = gd.read_csv(tmp_path / "a.csv", blocksize=size)
                made.append((lazy[list(lazy.columns[1:])] if some else lazy).compute(scheduler="inline"))
            except GlassloomError as error:
                made.append((type(error), str(error)))
    if isinstance(made[1], tuple):
        assert made[0] == made[1]
    else:  # rows that are too long make an index of tuples, whose missing values differ from each other
        identical(*(frame.set_axis(frame.index.map(str)) for frame in made))


PLAIN = "k,name,x\n" + "".join(f"{n},n{n % 3},{n / 7!r}\n" for n in range(900)) + "7,,\n8,n1,NaN\n"


@needs_rounding
@pytest.mark.parametrize(
    "options",
    [{}, {"sep": ","}, {"usecols": ["x", "name"]}, {"dtype": {"k": "float64"}}, {"header": 0}, {"dtype": str}],
)
def test_plain_text_is_parsed_by_arrow(tmp_path, monkeypatch, options):
    (tmp_path / "a.csv").write_text(PLAIN)
    expected = pd.read_csv(tmp_path / "a.csv", **options)
    lazy = gd.read_csv(tmp_path / "a.csv", blocksize=3000, **options)
    assert lazy.npartitions > 4
    monkeypatch.setattr("glassloom.dataframe.io.csv.Parser.parse", None)  # pandas isn't asked
    identical(lazy.compute(scheduler="inline").reset_index(drop=True), expected)
    monkeypatch.undo()
    identical(gd.read_csv(tmp_path / "a.csv", blocksize=None, **options).compute(scheduler="inline"), expected)


@needs_rounding
@pytest.mark.parametrize(
    "options", [{"na_values": ["n1"]}, {"header": None}, {"comment": "#"}, {"decimal": "."}, {"quotechar": "'"}]
)
def test_other_options_are_left_to_pandas(options):
    assert arrow_csv.arrow_csv(options, PLAIN.encode(), pd.read_csv(io.StringIO(PLAIN), **options)[:0]) is None


@needs_rounding
def test_a_column_of_text_is_text_in_every_piece_for_which_pandas_infers_a_dtype():
    """Numbers at the end of a long block make a mixed column in pandas, which `fitted` turns to text in its own way."""
    rows = ["a,1"] * 5000
    parser = arrow_csv.arrow_csv(
        {}, b"s,x\na,1\n", pd.DataFrame({"s": pd.Series(dtype="str"), "x": pd.Series(dtype="int64")})
    )
    assert parser is not None
    meta = pd.read_csv(io.StringIO("s,x\na,1\n"))[:0]
    parse = lambda lines: parser.parse(("\n".join(lines) + "\n").encode(), meta, header=b"s,x\n")  # noqa: E731
    assert len(parse(rows)) == 5000
    assert parse([*rows, "007,1"]) is None
    assert parse([*rows[:1000], *["007,1"] * 1000, *rows]) is None
    assert len(parse([*rows[:1000], *["007,1"] * 400, *rows])) == 6400


def test_the_values_that_are_missing_are_those_of_pandas():
    assert set(arrow_csv._MISSING) == set(parsers.STR_NA_VALUES)


def test_files_whose_columns_are_in_another_order_are_cut_with_their_own_names(tmp_path):
    (tmp_path / "a.csv").write_text("x,name\n" + "1,u\n" * 30)
    (tmp_path / "b.csv").write_text("name,x\n" + "v,2\n" * 30)
    for size in (20, None):
        got = gd.read_csv(tmp_path / "*.csv", blocksize=size).compute(scheduler="inline")
        assert got.x.tolist() == [1] * 30 + [2] * 30
        assert got.name.tolist() == ["u"] * 30 + ["v"] * 30

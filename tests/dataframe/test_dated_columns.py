"""Labels of text files, and columns of times, whose `dtype` is given: the results are pandas'."""

import glassloom.dataframe as gd
import pandas as pd
import pytest
from frame_helpers import assert_same, blocks_of
from glassloom.backends.pandas_version import HAS_COPY_ON_WRITE, PANDAS_VERSION
from glassloom.dataframe.io import csv
from glassloom.errors import MetaError

pytestmark = pytest.mark.filterwarnings("ignore:Could not infer format")

VALUES = {
    "numbers": ["1", "3", "5", "7"],
    "floats": ["1.5", "", "3", "4"],
    "booleans": ["True", "False", "True", "True"],
    "booleans, one missing": ["True", "", "False", "True"],
    "times": ["2020-01-01", "2020-01-03", "2020-01-02", "2020-01-05"],
    "some times": ["x", "2020-01-03", "2020-01-02", "2020-01-05"],
    "years": ["2020", "2021", "2022", "2023"],
    "texts": ["a", "b", "c", "d"],
}
DATES = [False, True, [0], ["a"]]


def write(path, values):
    path.write_text("a,b\n" + "".join(f"{value},{number}\n" for number, value in enumerate(values)))


@pytest.mark.parametrize("values", VALUES.values(), ids=VALUES.keys())
@pytest.mark.parametrize("dtype", [None, object, str])
def test_labels_are_those_that_pandas_infers(tmp_path, values, dtype):
    write(tmp_path / "a.csv", values)
    for dates in DATES:
        for given in ({}, {"engine": "python"}, {"sep": ",|;", "engine": "python"}):
            options = {"index_col": 0, "parse_dates": dates, "dtype": dtype, **given}
            lazy, wanted = gd.read_csv(tmp_path / "a.csv", **options), pd.read_csv(tmp_path / "a.csv", **options)
            assert_same(lazy.compute(scheduler="inline"), wanted)


@pytest.mark.parametrize("dtype", ["Int64", "float32", "category", object])
def test_labels_without_times_have_the_dtype_of_their_column(tmp_path, dtype):
    write(tmp_path / "a.csv", VALUES["numbers"])
    for dates in DATES:
        if dates and dtype in ("category", "Int64") and not HAS_COPY_ON_WRITE:  # an error
            continue
        options = {"index_col": 0, "parse_dates": dates, "dtype": {"a": dtype}}
        lazy, wanted = gd.read_csv(tmp_path / "a.csv", **options), pd.read_csv(tmp_path / "a.csv", **options)
        assert_same(lazy.compute(scheduler="inline"), wanted)


@pytest.mark.filterwarnings("ignore:Constructing a Categorical with a dtype")
@pytest.mark.parametrize("kind", ["numbers", "times", "texts"])
@pytest.mark.parametrize("categories", [None, [1, 3], ["1", "3", "a"], pd.DatetimeIndex(["2020-01-03", "2020-01-01"])])
def test_categories_are_made_of_labels_as_they_are_inferred(tmp_path, kind, categories):
    write(tmp_path / "a.csv", VALUES[kind])
    for options in (
        {"engine": "python"},
        {"parse_dates": ["a"], "engine": "python"},
        {"index_col": ["b", "a"], "engine": "python"},
    ):
        options = {"index_col": 0, "dtype": {"a": pd.CategoricalDtype(categories)}, **options}
        if kind == "times" and "parse_dates" in options and (categories is None or PANDAS_VERSION < (3, 0)):
            continue  # an error
        for size in (None, 30):
            lazy, wanted = (
                gd.read_csv(tmp_path / "a.csv", blocksize=size, **options),
                pd.read_csv(tmp_path / "a.csv", **options),
            )
            assert_same(lazy.compute(scheduler="inline"), wanted)


def test_labels_of_several_blocks_are_inferred(tmp_path):
    write(tmp_path / "a.csv", map(str, range(40)))
    lazy = gd.read_csv(tmp_path / "a.csv", index_col=0, parse_dates=[0], dtype=object, blocksize=60)
    assert lazy.npartitions > 3
    assert_same(lazy.compute(), pd.read_csv(tmp_path / "a.csv", index_col=0, parse_dates=[0], dtype=object))


MADE_OF_TIMES = {
    "objects": {"dtype": object},
    "objects of one column": {"dtype": {"a": object}},
    "objects as labels": {"dtype": {"a": object}, "index_col": 0},
    "text as labels": {"dtype": {"a": str, "b": float}, "index_col": "a"},
    "nullable text as labels": {"dtype": {"a": "string"}, "index_col": "a"},
    "other times as labels": {"dtype": {"a": "datetime64[s]"}, "index_col": 0, "engine": "python"},
    "text as one of two labels": {"dtype": {"a": str}, "index_col": ["b", "a"]},
    "times, whatever the dtype of all": {"dtype": str, "index_col": 0},
    "times, whatever the dtype": {"dtype": {"a": "category"}},
}


@pytest.mark.parametrize("options", MADE_OF_TIMES.values(), ids=MADE_OF_TIMES.keys())
@pytest.mark.parametrize("size", [None, 40])
def test_a_dtype_makes_of_times_what_pandas_makes_of_them(tmp_path, options, size):
    if not HAS_COPY_ON_WRITE and "text" in next(name for name, one in MADE_OF_TIMES.items() if one is options):
        pytest.skip("before pandas 3 such labels are refused")
    write(tmp_path / "a.csv", [f"{day:02d}/02/2020" if day % 5 else "" for day in range(1, 12)])
    options = {"parse_dates": ["a"], "dayfirst": True, **options}
    lazy, wanted = (
        gd.read_csv(tmp_path / "a.csv", blocksize=size, **options),
        pd.read_csv(tmp_path / "a.csv", **options),
    )
    found = lazy.compute(scheduler="inline")
    assert_same(found if options.get("index_col") is not None else found.reset_index(drop=True), wanted)
    assert lazy.reset_index().b.compute(scheduler="inline").tolist() == wanted.reset_index().b.tolist()


@pytest.mark.skipif(not HAS_COPY_ON_WRITE, reason="before pandas 3 these are an error of pandas")
def test_labels_that_a_dtype_makes_of_times_otherwise_are_refused(tmp_path):
    write(tmp_path / "a.csv", VALUES["times"])
    with pytest.raises(
        NotImplementedError,
        match=r"parse_dates=\['a'\] makes times of column 'a', and dtype='category' .* astype\(\) make",
    ):
        gd.read_csv(tmp_path / "a.csv", parse_dates=["a"], dtype={"a": "category"}, index_col="a")


def test_objects_that_are_no_times_as_those_of_the_sample_are_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr(csv, "SAMPLE_ROWS", 10)
    write(tmp_path / "a.csv", [*(f"{day:02d}/02/2020" for day in range(1, 28)), "2020-02-28"])
    with pytest.raises(
        MetaError, match=r"column 'a' holds '2020-02-28', which isn't a time of the sample's format; give date_format="
    ):
        gd.read_csv(tmp_path / "a.csv", parse_dates=["a"], dtype=object, dayfirst=True, blocksize=60).compute()


@pytest.mark.parametrize("dtype", [object, {"a": object}])
def test_texts_that_are_no_times_stay_texts_of_their_dtype(tmp_path, dtype):
    write(tmp_path / "a.csv", VALUES["some times"])
    lazy, wanted = (module.read_csv(tmp_path / "a.csv", parse_dates=["a"], dtype=dtype) for module in (gd, pd))
    assert_same(lazy.compute(), wanted)


@pytest.mark.parametrize("kind", ["numbers", "floats", "booleans", "years", "texts"])
def test_labels_that_pyarrow_reads_are_inferred(tmp_path, kind):
    write(tmp_path / "a.csv", VALUES[kind])
    options = {"index_col": 0, "dtype": object, "engine": "pyarrow"}
    lazy = gd.read_csv(tmp_path / "a.csv", **options)
    if PANDAS_VERSION < (
        3,
        1,
    ):  # which finds no dtype of labels in one of all columns, and makes objects of PyArrow's numbers
        options = {"index_col": 0, "dtype": {"b": object}}
    assert_same(lazy.compute(), pd.read_csv(tmp_path / "a.csv", **options))


@pytest.mark.parametrize(
    "options", [{"dtype": "category"}, {"dtype": str, "index_col": 0}, {"dtype": {"a": "category"}}]
)
def test_times_of_a_dtype_that_pyarrow_would_read_are_refused(tmp_path, options):
    write(tmp_path / "a.csv", VALUES["times"])
    with pytest.raises(
        NotImplementedError, match="engine='pyarrow' can't read times of column 'a'.*leave out the engine"
    ):
        gd.read_csv(tmp_path / "a.csv", parse_dates=["a"], engine="pyarrow", **options)


@pytest.mark.skipif(not HAS_COPY_ON_WRITE, reason="before pandas 3 texts are objects")
def test_labels_that_are_booleans_of_which_some_are_missing_have_one_dtype_in_all_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr(csv, "SAMPLE_ROWS", 3)
    path = tmp_path / "a.csv"
    path.write_text("a,c,b\n" + "".join(f"{'' if row == 1 else row % 3 == 0},{row % 2},{row}\n" for row in range(20)))
    for options in (
        {"index_col": "a"},
        {"index_col": ["a", "c"]},
        {"index_col": "a", "usecols": ["a", "b"]},
        {"index_col": "a", "dtype": {"b": "float32"}},
        {"index_col": "a", "dtype": {"a": "boolean"}},
        {"index_col": "a", "dtype": "str"},
    ):
        lazy = gd.read_csv(path, blocksize=40, **options)
        expected = pd.read_csv(path, **options)
        assert_same(lazy.compute(scheduler="inline"), expected)
        assert {block.index.dtype for block in blocks_of(lazy)} == {expected.index.dtype}
    with path.open("a") as file:
        file.write("maybe,1,2\n")
    with pytest.raises(MetaError, match="index_col='a'.*there is 'maybe', too. Give dtype={'a': str}"):
        gd.read_csv(path, index_col="a", blocksize=40).compute(scheduler="inline")


@pytest.mark.parametrize("size", [None, 40])
def test_dates_of_labels_are_looked_for_in_labels_that_the_header_has_no_name_for(tmp_path, size):
    path = tmp_path / "a.csv"
    for first in ("2020-01-0{}", "{}", "r{}"):
        path.write_text("a,b\n" + "".join(f"{first.format(row)},2020-02-0{row},{row}\n" for row in range(1, 9)))
        for options in ({}, {"index_col": 0}, {"index_col": 0, "dtype": {"b": "float64"}}):
            lazy = gd.read_csv(path, blocksize=size, parse_dates=True, **options)
            assert_same(lazy.compute(scheduler="inline"), pd.read_csv(path, parse_dates=True, **options))


@pytest.mark.skipif(not HAS_COPY_ON_WRITE, reason="before pandas 3 texts are objects")
@pytest.mark.parametrize(
    "dtype", [{"a": "float64"}, "float64", {"a": "Float64"}, {"a": "int64"}, {"b": "float64"}], ids=str
)
@pytest.mark.parametrize("values", [["20200101", "20200103", "20200102"], ["1", "3", "2"]], ids=["days", "numbers"])
def test_dates_are_looked_for_in_numbers_as_a_dtype_makes_them(tmp_path, values, dtype):
    write(tmp_path / "a.csv", values)
    for size in (None, 20):
        lazy = gd.read_csv(tmp_path / "a.csv", blocksize=size, parse_dates=["a"], dtype=dtype)
        expected = pd.read_csv(tmp_path / "a.csv", parse_dates=["a"], dtype=dtype)
        assert_same(lazy.compute(scheduler="inline").reset_index(drop=True), expected)


@pytest.mark.parametrize("dtype", [{"a": "float32"}, "float64", {"a": "int64"}, {"a": bool}, {"a": "boolean"}], ids=str)
@pytest.mark.parametrize(
    "values",
    [["true", "FALSE", "", "true"], ["1", "x", "2", "3"], ["1", "2", "4.50"], ["True", "false", "True"]],
    ids=",".join,
)
@pytest.mark.parametrize("engine", ["c", "python"])
def test_texts_of_which_a_dtype_makes_no_numbers_stay_as_they_are(tmp_path, engine, values, dtype):
    write(tmp_path / "a.csv", values)
    options = {"parse_dates": ["a"], "dtype": dtype, "engine": engine}
    try:
        expected = pd.read_csv(tmp_path / "a.csv", **options)
    except (ValueError, TypeError):
        pytest.skip("pandas can't either")
    for size in (None, 12):
        lazy = gd.read_csv(tmp_path / "a.csv", blocksize=size, **options)
        if HAS_COPY_ON_WRITE:  # otherwise texts are objects
            assert_same(lazy.compute(scheduler="inline").reset_index(drop=True), expected)


def test_booleans_below_numbers_in_which_dates_are_looked_for_are_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr(csv, "SAMPLE_ROWS", 3)
    write(tmp_path / "a.csv", ["", "1.0", "2.0", *["0"] * 20, *["true"] * 20])
    lazy = gd.read_csv(tmp_path / "a.csv", blocksize=30, parse_dates=["a"], dtype={"a": "float64"})
    if HAS_COPY_ON_WRITE:
        with pytest.raises(MetaError, match="column 'a' has booleans, and numbers in the first rows"):
            lazy.partitions[-1].compute(scheduler="inline")

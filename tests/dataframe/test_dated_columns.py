"""Labels of text files, and columns of times, whose `dtype` is given: the results are pandas'."""

import glassloom.dataframe as gd
import pandas as pd
import pytest
from frame_helpers import assert_same

pytestmark = pytest.mark.filterwarnings("ignore:Could not infer format")

VALUES = {
    "numbers": ["1", "3", "5", "7"],
    "floats": ["1.5", "", "3", "4"],
    "booleans": ["True", "False", "True", "True"],
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
        options = {"index_col": 0, "parse_dates": dates, "dtype": {"a": dtype}}
        lazy, wanted = gd.read_csv(tmp_path / "a.csv", **options), pd.read_csv(tmp_path / "a.csv", **options)
        assert_same(lazy.compute(scheduler="inline"), wanted)


def test_labels_of_several_blocks_are_inferred(tmp_path):
    write(tmp_path / "a.csv", map(str, range(40)))
    lazy = gd.read_csv(tmp_path / "a.csv", index_col=0, parse_dates=[0], dtype=object, blocksize=60)
    assert lazy.npartitions > 3
    assert_same(lazy.compute(), pd.read_csv(tmp_path / "a.csv", index_col=0, parse_dates=[0], dtype=object))


@pytest.mark.parametrize(
    "options",
    [
        {"dtype": object},
        {"dtype": {"a": object}},
        {"dtype": {"a": str}, "index_col": 0},
        {"dtype": {"a": "category"}, "index_col": "a"},
    ],
)
def test_times_of_which_a_dtype_makes_something_else_are_refused(tmp_path, options):
    write(tmp_path / "a.csv", VALUES["times"])
    with pytest.raises(
        NotImplementedError, match=r"parse_dates=\['a'\] makes times of column 'a', and dtype=.* astype\(\)"
    ):
        gd.read_csv(tmp_path / "a.csv", parse_dates=["a"], **options)


@pytest.mark.parametrize("dtype", [object, {"a": object}])
def test_texts_that_are_no_times_stay_texts_of_their_dtype(tmp_path, dtype):
    write(tmp_path / "a.csv", VALUES["some times"])
    lazy, wanted = (module.read_csv(tmp_path / "a.csv", parse_dates=["a"], dtype=dtype) for module in (gd, pd))
    assert_same(lazy.compute(), wanted)


@pytest.mark.parametrize("kind", ["numbers", "floats", "booleans", "years", "texts"])
def test_labels_that_pyarrow_reads_are_inferred(tmp_path, kind):
    write(tmp_path / "a.csv", VALUES[kind])
    options = {"index_col": 0, "dtype": object, "engine": "pyarrow"}
    lazy, wanted = (module.read_csv(tmp_path / "a.csv", **options) for module in (gd, pd))
    assert_same(lazy.compute(), wanted)


@pytest.mark.parametrize(
    "options", [{"dtype": "category"}, {"dtype": str, "index_col": 0}, {"dtype": {"a": "category"}}]
)
def test_times_of_a_dtype_that_pyarrow_would_read_are_refused(tmp_path, options):
    write(tmp_path / "a.csv", VALUES["times"])
    with pytest.raises(
        NotImplementedError, match="engine='pyarrow' can't read times of column 'a'.*leave out the engine"
    ):
        gd.read_csv(tmp_path / "a.csv", parse_dates=["a"], engine="pyarrow", **options)

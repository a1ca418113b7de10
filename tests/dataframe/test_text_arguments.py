"""Arguments of the readers of text that depend on all of a file, read in blocks: the results are pandas'."""

import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pytest
from frame_helpers import assert_same
from glassloom.errors import MetaError, OptionError

LINES = [f"{n},{n * 1.5},name {n % 7},{n % 28 + 1:02d}/01/2020" for n in range(60)]
PLAIN = "\n".join(["a,b,c,d", *LINES]) + "\n"


def read(path, blocksize=50, **options):
    return gd.read_csv(path, blocksize=blocksize, **options).compute(scheduler="inline")


def check(path, blocksize=50, **options):
    got, expected = read(path, blocksize, **options), pd.read_csv(path, **options)
    if options.get("index_col", False) in (False, []) and isinstance(expected.index, pd.RangeIndex):
        got = got.reset_index(drop=True)
    assert_same(got, expected)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-32", "latin-1", "cp037"])
@pytest.mark.parametrize(
    "options", [{}, {"header": None, "dtype": str}, {"comment": "#", "index_col": "a"}, {"quotechar": "'"}]
)
def test_text_of_every_encoding_is_read(tmp_path, encoding, options):
    (tmp_path / "a.csv").write_text(PLAIN.replace("name", "n\xe4me"), encoding=encoding)
    check(tmp_path / "a.csv", encoding=encoding, **options)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_lines_of_json_of_every_encoding_are_read(tmp_path, encoding):
    rows = pd.read_csv(pd.io.common.StringIO(PLAIN))
    (tmp_path / "a.json").write_text(rows.to_json(orient="records", lines=True), encoding=encoding)
    found = gd.read_json(tmp_path / "a.json", blocksize=100, encoding=encoding).compute()
    assert_same(found.reset_index(drop=True), pd.read_json(tmp_path / "a.json", lines=True, encoding=encoding))


@pytest.mark.parametrize("text", [PLAIN.replace("\n", "\n\n"), "\n\n" + PLAIN.replace("\n", "\n   \n")])
@pytest.mark.parametrize(
    "options", [{}, {"dtype": {"c": "category"}}, {"parse_dates": ["d"], "date_format": "%d/%m/%Y"}]
)
def test_blocks_without_rows_have_the_dtypes_of_others(tmp_path, text, options):
    (tmp_path / "a.csv").write_text(text)
    check(tmp_path / "a.csv", **options)


@pytest.mark.skipif(pd.Series(["a"]).dtype == object, reason="before pandas 3 text has the same dtype")
def test_booleans_of_which_some_are_missing_elsewhere(tmp_path):
    (tmp_path / "a.csv").write_text("a,b\n" + "".join(f"{'' if n == 7 else n % 2 == 0},{n}\n" for n in range(60)))
    check(tmp_path / "a.csv")


@pytest.mark.parametrize("backend", ["numpy_nullable", "pyarrow"])
def test_text_that_is_numbers_in_a_block_stays_text_of_every_backend(tmp_path, backend):
    (tmp_path / "a.csv").write_text("a,b\n" + "".join(f"{'x' if n == 7 else f'0{n}'},{n}\n" for n in range(60)))
    check(tmp_path / "a.csv", dtype_backend=backend)


@pytest.mark.parametrize("blocksize", [None, 50])
@pytest.mark.parametrize(
    "options", [{"skipfooter": 2, "engine": "python"}, {"skipfooter": 1, "engine": "python", "usecols": ["a", "c"]}]
)
def test_footers_are_skipped_in_each_file(tmp_path, blocksize, options):
    for name in "ab":
        (tmp_path / f"{name}.csv").write_text(PLAIN + "total,,,\nend,,,\n")
    check(tmp_path / "a.csv", blocksize, **options)
    both = read([tmp_path / "a.csv", tmp_path / "b.csv"], blocksize, **options)
    one = pd.read_csv(tmp_path / "a.csv", **options)
    assert_same(both, pd.concat([one, one]))


def test_names_of_several_levels_with_labels(tmp_path):
    (tmp_path / "a.csv").write_text("g,x,x\nh,1,2\n" + "".join(f"k{n},{n},{n * 2}\n" for n in range(20)))
    for options in ({"header": [0, 1], "index_col": 0}, {"header": [0, 1]}, {"header": [0]}, {"index_col": []}):
        check(tmp_path / "a.csv", None, **options)


def test_labels_that_lines_have_without_a_name_are_of_one_dtype(tmp_path):
    text = "a,b\n" + "".join(f"{n},{n},{n + 1}\n" for n in range(30))
    (tmp_path / "a.csv").write_text(text)
    check(tmp_path / "a.csv")
    (tmp_path / "a.csv").write_text(text + "x,1,2\n")
    check(tmp_path / "a.csv", None)
    with pytest.raises(
        MetaError,
        match="another number of fields than the first 1000 rows|'index level 0' holds int64, the sample (object|str)",
    ):
        read(tmp_path / "a.csv")


def test_several_labels_that_lines_have_without_a_name(tmp_path):
    (tmp_path / "a.csv").write_text("a,b\n" + "".join(f"{n},k{n},{n},{n + 1}\n" for n in range(30)))
    for options in ({}, {"index_col": [0, 1]}, {"names": ["x"], "header": 0}, {"usecols": ["b"]}):
        check(tmp_path / "a.csv", **options)
    with pytest.raises(
        ValueError, match=r"index_col=\[1\] .* rows have 2 values more than .* the first ones are the label"
    ):
        read(tmp_path / "a.csv", index_col=[1])
    (tmp_path / "b.csv").write_text("a,b\n1,2,3\n" + "".join(f"{n},{n}\n" for n in range(30)))
    check(tmp_path / "b.csv")
    check(tmp_path / "b.csv", names=["x", "y", "z"], header=None, skiprows=1)
    check(tmp_path / "b.csv", None)


def test_lines_to_skip_may_be_an_array(tmp_path):
    (tmp_path / "a.csv").write_text(PLAIN)
    check(tmp_path / "a.csv", None, skiprows=np.array([1, 3]))
    with pytest.raises(OptionError, match=r"with skiprows=array\(\[1, 3\]\) .* files can't be cut; set blocksize=None"):
        read(tmp_path / "a.csv", skiprows=np.array([1, 3]))
    with pytest.raises(ValueError, match="'nrows' must be an integer >=0"):
        read(tmp_path / "a.csv", nrows="many")


@pytest.mark.parametrize("blocksize", [None, 50])
def test_times_of_which_all_are_missing_have_pandas_dtype_in_every_partition(tmp_path, blocksize):
    (tmp_path / "a.csv").write_text("a,b\n" + "".join(f"{n},\n" for n in range(60)))
    check(tmp_path / "a.csv", blocksize, parse_dates=["b"])
    (tmp_path / "b.csv").write_text("a,b\n" + "".join(f"{n},\n" for n in range(1100)) + "1,2020-01-01\n")
    lazy = gd.read_csv(tmp_path / "b.csv", blocksize=500, parse_dates=["b"])
    assert {str(block.b.dtype) for block in map(lambda one: one.compute(), lazy.to_delayed()[-3:])} == {
        str(lazy.b.dtype)
    }
    assert_same(lazy.compute().reset_index(drop=True), pd.read_csv(tmp_path / "b.csv", parse_dates=["b"]))


def test_comments_tell_no_fields_of_fixed_width(tmp_path):
    rows = pd.DataFrame({"x": range(10, 30), "y": [f"n{n:02d}" for n in range(20)]})
    (tmp_path / "a.txt").write_text("# title of all\n" + rows.to_string(index=False) + "\n")
    found = gd.read_fwf(tmp_path / "a.txt", comment="#", blocksize=60).compute()
    assert_same(found.reset_index(drop=True), pd.read_fwf(tmp_path / "a.txt", comment="#"))


@pytest.mark.parametrize("blocksize", [None, 100])
def test_keys_that_turn_up_later_are_an_error_unless_columns_are_chosen(tmp_path, blocksize):
    (tmp_path / "a.json").write_text('{"a": 1}\n' * 1500 + '{"a": 1, "new": 2}\n')
    lazy = gd.read_json(tmp_path / "a.json", blocksize=blocksize)
    with pytest.raises(
        MetaError, match=r"there are the keys \['new'\], which the first 1000 rows lack: give meta= with"
    ):
        lazy.compute()
    assert (lazy.a.sum().compute(), len(lazy)) == (1501, 1501)
    chosen = gd.read_json(tmp_path / "a.json", blocksize=blocksize, meta={"a": "int64"})
    assert chosen.a.sum().compute() == 1501
    both = gd.read_json(tmp_path / "a.json", blocksize=blocksize, meta={"a": "int64", "new": "float64"}).compute()
    assert_same(both.reset_index(drop=True), pd.read_json(tmp_path / "a.json", lines=True))


@pytest.mark.parametrize("blocksize", [None, 2000])
def test_columns_of_json_are_read_whatever_others_hold_further_down(tmp_path, blocksize):
    lines = [f'{{"a": {number}, "b": 1, "s": "x"}}' for number in range(1500)]
    more = [f'{{"a": {number}, "b": "text", "s": "y", "new": 2}}' for number in range(500)]
    (tmp_path / "a.json").write_text("\n".join([*lines, *more]) + "\n")
    lazy, plain = gd.read_json(tmp_path / "a.json", blocksize=blocksize), pd.read_json(tmp_path / "a.json", lines=True)
    assert_same(lazy.groupby("s").a.sum().compute(), plain.groupby("s").a.sum())
    assert_same(lazy[["s", "a"]].compute().reset_index(drop=True), plain[["s", "a"]])
    assert_same(lazy[lazy.a > 1490].s.count().compute(), plain[plain.a > 1490].s.count())
    line = "1501" if blocksize is None else r"\d+"  # of several partitions that fail any may be the first
    with pytest.raises(MetaError, match=rf"'b' holds (str|object), the sample int64 \(first 'text', in line {line}\)"):
        lazy[["b"]].compute()
    with pytest.raises(MetaError, match=r"or choose others before computing, as in frame\[\['a', 'b'\]\]"):
        lazy.compute()


@pytest.mark.parametrize(
    "options", [{"nrows": 5}, {"nrows": 5000}, {"engine": "pyarrow"}, {"engine": "pyarrow", "dtype_backend": "pyarrow"}]
)
def test_json_takes_counts_of_rows_and_engines(tmp_path, options):
    rows = pd.DataFrame(
        {"n": [str(n) for n in range(1200)], "x": range(1200), "t": pd.date_range("2020", periods=1200)}
    )
    rows.to_json(tmp_path / "a.json", orient="records", lines=True, date_format="iso")
    for blocksize in (None, 1000):
        found = gd.read_json(tmp_path / "a.json", blocksize=blocksize, **options).compute().reset_index(drop=True)
        assert_same(found, pd.read_json(tmp_path / "a.json", lines=True, **options))
    with pytest.raises(OptionError, match=r"read_json can't take nrows=5 of 2 files: call head\(\) on the frame"):
        gd.read_json([tmp_path / "a.json"] * 2, nrows=5)


LABELS = {
    "numbers": pd.Index([0, 1, 2]),
    "floats": pd.Index([0.5, 1.5, 2.5], name="n"),
    "times": pd.date_range("2020", periods=3, name="when"),
    "levels": pd.MultiIndex.from_tuples([("a", "x"), ("a", "y"), ("b", "x")], names=["p", "q"]),
    "text": pd.Index(["a", "b", "c"], name="n"),
}


@pytest.mark.parametrize("kind", LABELS)
@pytest.mark.parametrize("index", [None, pd.Index([5, 6, 7, 8], name="ix")])
def test_labels_of_columns_that_are_no_text_come_back_from_parquet(tmp_path, kind, index):
    labels = LABELS[kind]
    plain = pd.DataFrame([[n, n + 1, n + 2] for n in range(4)], columns=labels, index=index)
    plain.to_parquet(tmp_path / "a.parquet")
    lazy = gd.read_parquet(tmp_path / "a.parquet")
    expected = pd.read_parquet(tmp_path / "a.parquet")
    assert_same(lazy.compute(), expected)
    assert lazy.columns.equals(expected.columns)
    assert_same(lazy[[labels[1]]].compute(), expected[[labels[1]]])
    assert_same(lazy[labels[2]].sum().compute(), expected[labels[2]].sum())
    gd.from_pandas(plain, npartitions=2).to_parquet(tmp_path / "o")
    assert_same(gd.read_parquet(tmp_path / "o").compute(), expected)


def test_numbers_with_zeros_before_them_in_names_of_folders_are_numbers_as_for_pandas(tmp_path):
    for kind, values in {
        "zeros": ("01", "10"),
        "signs": ("-2", "-3"),
        "text": ("+1", "+2"),
        "spaces": (" 1", " 2"),
    }.items():
        for value in values:
            (tmp_path / kind / f"k={value}").mkdir(parents=True)
            pd.DataFrame({"v": [1, 2]}).to_parquet(tmp_path / kind / f"k={value}" / "a.parquet")
        expected = pd.read_parquet(tmp_path / kind)
        found = gd.read_parquet(tmp_path / kind)
        assert_same(
            found.astype({"k": expected.k.cat.categories.dtype}).compute(),
            expected.astype({"k": expected.k.cat.categories.dtype}),
        )
        assert found.k.cat.categories.dtype == expected.k.cat.categories.dtype


def test_names_of_folders_that_are_the_same_number_stay_texts(tmp_path):
    plain = pd.DataFrame({"v": range(4), "k": ["01", "1", "02", "2"]})
    gd.from_pandas(plain, npartitions=1).to_parquet(tmp_path / "a", partition_on="k")
    assert sorted(gd.read_parquet(tmp_path / "a").k.compute()) == ["01", "02", "1", "2"]


def test_names_of_columns_are_set_with_all_that_an_index_says():
    labels = LABELS["levels"][:2]
    plain = pd.DataFrame({"a": [1, 2], "b": [3, 4]})
    lazy = gd.from_pandas(plain, npartitions=2)
    assert_same(lazy.set_axis(labels, axis=1).compute(), plain.set_axis(labels, axis=1))

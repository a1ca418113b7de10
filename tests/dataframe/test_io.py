"""Reading and writing: the same rows come back, and what is wrong with a file is said with its name."""

from __future__ import annotations

import gzip

import glassloom as gl
import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pytest
from frame_helpers import assert_same, frames
from glassloom.errors import DivisionError, MetaError, OptionError, ReadError, UnknownColumn
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from long_tests import examples
from property_settings import BY_LUCK


@settings(max_examples=examples(23), suppress_health_check=[*BY_LUCK, HealthCheck.function_scoped_fixture])
@given(frame=frames(min_rows=1), groups=st.integers(1, 9), by_file=st.booleans())
def test_parquet_files_are_read_as_pandas_reads_them(tmp_path, frame, groups, by_file):
    file = tmp_path / "a.parquet"
    frame.to_parquet(file, row_group_size=groups)
    lazy = gd.read_parquet(file, partition_by="file" if by_file else "row_group")
    expected = pd.read_parquet(file)
    assert_same(lazy.compute(scheduler="inline"), expected)
    assert len(lazy) == len(frame)
    assert_same(lazy.dtypes.astype(str), expected.dtypes.astype(str))
    assert lazy.npartitions == (1 if by_file else -(-len(frame) // groups))
    conditions = (
        (lazy.i > 0, expected.i > 0),
        (lazy.f <= 2.25, expected.f <= 2.25),
        (lazy.s == "bee", expected.s == "bee"),
    )
    for condition, plain in conditions:
        assert_same(lazy[condition][["d", "f"]].compute(scheduler="inline"), expected[plain][["d", "f"]])


@settings(max_examples=examples(15), suppress_health_check=[*BY_LUCK, HealthCheck.function_scoped_fixture])
@given(frame=frames(min_rows=1), npartitions=st.integers(1, 5))
def test_what_is_written_comes_back(tmp_path, frame, npartitions):
    lazy = gd.from_pandas(frame, npartitions=npartitions)
    gd.to_parquet(lazy, tmp_path / "frame", overwrite=True)
    again = gd.read_parquet(tmp_path / "frame")
    assert_same(again.compute(), lazy.compute())
    assert again.npartitions == lazy.npartitions
    assert sorted(file.suffix for file in (tmp_path / "frame").iterdir()) == [".parquet"] * lazy.npartitions


def test_rows_of_several_files_are_numbered_through(tmp_path):
    frame = pd.DataFrame({"x": range(10)})
    for number, start in enumerate((0, 3, 6)):
        frame[start : start + 3].reset_index(drop=True).to_parquet(tmp_path / f"part-{number + 9}.parquet")
    lazy = gd.read_parquet(tmp_path)
    assert_same(lazy.compute(), frame[:9])
    assert lazy.divisions == (0, 3, 6, 8)
    assert_same(lazy[lazy.x > 4].compute(), frame[5:9])
    assert lazy[lazy.x % 2 == 1].compute().index.tolist() == [1, 3, 5, 7]
    assert len(gd.read_parquet(str(tmp_path / "part-1?.parquet"))) == 6
    assert len(gd.read_parquet([tmp_path / "part-9.parquet"] * 2)) == 6


def test_divisions_come_from_the_footers_statistics(tmp_path):
    frame = pd.DataFrame({"x": range(6)}, index=pd.date_range("2020-01-01", periods=6, name="day"))
    frame.to_parquet(tmp_path / "a.parquet", row_group_size=2)
    lazy = gd.read_parquet(tmp_path / "a.parquet")
    assert lazy.divisions == tuple(pd.to_datetime(["2020-01-01", "2020-01-03", "2020-01-05", "2020-01-06"]))
    assert_same(lazy.loc["2020-01-02":"2020-01-03"].compute(), frame.loc["2020-01-02":"2020-01-03"])
    frame.sort_values("x", ascending=False).to_parquet(tmp_path / "b.parquet", row_group_size=2)
    assert not gd.read_parquet(tmp_path / "b.parquet").known_divisions


def test_columns_index_and_filters_are_chosen_when_reading(tmp_path):
    frame = pd.DataFrame({"x": [1, 2, 3, 4], "k": [10, 20, 30, 40], "s": ["a", "b", "a", None]})
    frame.to_parquet(tmp_path / "a.parquet", row_group_size=2)
    path = tmp_path / "a.parquet"
    assert_same(gd.read_parquet(path, columns=["s", "x"]).compute(), frame[["s", "x"]])
    assert_same(gd.read_parquet(path, index="k").compute(), frame.set_index("k"))
    assert gd.read_parquet(path, index="k").divisions == (10, 30, 40)
    got = gd.read_parquet(path, filters=[("x", ">", 1), ("s", "in", ["a"])], columns=["x"])
    assert_same(got.compute(), frame[2:3][["x"]])
    assert len(got) == 1
    named = frame.rename_axis("label")
    named.index = [5, 7, 6, 8]
    named.index.name = "label"
    named.to_parquet(path)
    assert_same(
        gd.read_parquet(path, index=False).compute(), pd.read_parquet(path).reset_index()[["x", "k", "s", "label"]]
    )


def test_whole_numbers_with_missing_values_in_one_file_are_floats_everywhere(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.table({"x": pa.array([1, 2, None, 4]), "b": pa.array([True, False, None, True])})
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=2)
    lazy = gd.read_parquet(tmp_path / "a.parquet")
    assert lazy.dtypes.astype(str).tolist() == ["float64", "object"]
    assert_same(lazy.partitions[0].x.compute(), pd.Series([1.0, 2.0], name="x"))
    assert_same(lazy.compute(), pd.read_parquet(tmp_path / "a.parquet"))


def test_bad_parquet_files_are_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"file '.*nothing.parquet' doesn't exist"):
        gd.read_parquet(tmp_path / "nothing.parquet")
    with pytest.raises(FileNotFoundError, match=r"folder '.*' holds no \.parquet"):
        gd.read_parquet(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"no file matches '.*\*\.pq'"):
        gd.read_parquet(str(tmp_path / "*.pq"))
    (tmp_path / "text.parquet").write_text("this is not Parquet, but long enough")
    with pytest.raises(ReadError, match=r"'.*text\.parquet' can't be read as Parquet: "):
        gd.read_parquet(tmp_path / "text.parquet")
    good = tmp_path / "good.parquet"
    pd.DataFrame({"x": range(100), "y": 1.0}).to_parquet(good)
    (tmp_path / "half.parquet").write_bytes(good.read_bytes()[:600])
    with pytest.raises(ReadError, match=r"'.*half\.parquet' can't be read as Parquet"):
        gd.read_parquet([good, tmp_path / "half.parquet"])
    damaged = bytearray(good.read_bytes())
    damaged[4:300] = bytes(296)
    (tmp_path / "damaged.parquet").write_bytes(damaged)
    with pytest.raises(ReadError, match=r"'.*damaged\.parquet' can't be read"):
        gd.read_parquet(tmp_path / "damaged.parquet").compute()
    pd.DataFrame({"x": ["a"]}).to_parquet(tmp_path / "other.parquet")
    with pytest.raises(ReadError, match=r"column 'x' is (large_)?string in '.*other\.parquet', but int64 in '.*good"):
        gd.read_parquet([good, tmp_path / "other.parquet"])
    with pytest.raises(UnknownColumn, match="no columns 'X', 'q'.* The columns are 'x', 'y'"):
        gd.read_parquet(good, columns=["X", "q"])
    with pytest.raises(UnknownColumn, match="no column 'when'"):
        gd.read_parquet(good, index="when")
    with pytest.raises(OptionError, match="partition_by='rows' should be 'row_group' or 'file'"):
        gd.read_parquet(good, partition_by="rows")
    with pytest.raises(FileExistsError, match=r"holds 5 parquet files already; give overwrite=True"):
        gd.to_parquet(gd.from_pandas(pd.DataFrame({"x": [1]})), tmp_path)


@settings(max_examples=examples(30), suppress_health_check=[*BY_LUCK, HealthCheck.function_scoped_fixture])
@given(
    texts=st.lists(st.sampled_from(["plain", "two\nlines", 'a "quoted" word', "comma, here", '"\n"', "x"]), min_size=1),
    blocksize=st.integers(1, 200),
    quoting=st.sampled_from([0, 1]),
)
def test_csv_files_are_cut_at_line_ends_that_are_no_part_of_a_value(tmp_path, texts, blocksize, quoting):
    frame = pd.DataFrame({"n": range(len(texts)), "text": texts})
    frame.to_csv(tmp_path / "a.csv", index=False, quoting=quoting)
    lazy = gd.read_csv(tmp_path / "a.csv", blocksize=blocksize)
    assert_same(lazy.compute(scheduler="inline").reset_index(drop=True), frame)


def test_csv_options_are_those_of_pandas(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("# made by hand\nid;when;x\n1;2020-01-01;1,5\n2;2020-01-02;?\n3;2020-01-03;3,5\n")
    options = {
        "sep": ";",
        "skiprows": 1,
        "decimal": ",",
        "na_values": "?",
        "parse_dates": ["when"],
        "dtype": {"id": "int32"},
    }
    lazy = gd.read_csv(path, blocksize=20, **options)
    assert lazy.npartitions > 1
    assert_same(lazy.compute().reset_index(drop=True), pd.read_csv(path, **options))
    assert_same(lazy[["x"]].compute().reset_index(drop=True), pd.read_csv(path, **options)[["x"]])
    some = gd.read_csv(path, blocksize=None, usecols=["id", "x"], **{**options, "parse_dates": False})
    assert list(some.columns) == ["id", "x"]


def test_many_and_compressed_csv_files_are_read(tmp_path):
    for number in range(3):
        with gzip.open(tmp_path / f"{number}.csv.gz", "wt") as file:
            file.write(f"x,y\n{number},a\n{number},b\n")
    lazy = gd.read_csv(tmp_path / "*.csv.gz", blocksize=4)
    assert lazy.npartitions == 3
    assert lazy.x.compute().tolist() == [0, 0, 1, 1, 2, 2]
    gd.to_csv(lazy, tmp_path / "out", index=False)
    assert gd.read_csv(tmp_path / "out").y.compute().tolist() == ["a", "b"] * 3


def test_categories_of_csv_blocks_are_joined(tmp_path):
    (tmp_path / "a.csv").write_text("k\n" + "\n".join("aabbcc") + "\n")
    lazy = gd.read_csv(tmp_path / "a.csv", blocksize=4, dtype={"k": "category"})
    assert lazy.npartitions > 1
    assert lazy.compute().k.cat.categories.tolist() == ["a", "b", "c"]


def test_values_that_dont_fit_the_sample_are_named_with_the_way_out(tmp_path):
    (tmp_path / "a.csv").write_text("k,x\n" + "1,1\n" * 1500 + "2,2.5\n")
    lazy = gd.read_csv(tmp_path / "a.csv", blocksize="2kB")
    assert lazy.x.partitions[0].sum().compute() > 0
    with pytest.raises(
        MetaError,
        match=r"a\.csv', bytes \d+ to \d+: dtypes differ .* 'x' holds float64, the sample int64 \(first 2\.5, in line 1502\)\. Give dtype=\{'x': 'float64'\}",
    ):
        lazy.x.sum().compute()
    assert gd.read_csv(tmp_path / "a.csv", blocksize="2kB", dtype={"x": float}).x.sum().compute() == 1502.5


def test_csv_mistakes_are_named(tmp_path):
    (tmp_path / "empty.csv").write_text("")
    with pytest.raises(ReadError, match=r"'.*empty\.csv' can't be read as CSV: No columns"):
        gd.read_csv(tmp_path / "empty.csv")
    (tmp_path / "a.csv").write_text("x\n1\n")
    (tmp_path / "b.csv").write_text("y\n1\n")
    with pytest.raises(MetaError, match=r"'.*b\.csv' lacks the columns \['x'\], which the first file has"):
        gd.read_csv([tmp_path / "a.csv", tmp_path / "b.csv"]).compute()
    with pytest.raises(OptionError, match=r"read_csv can't take chunksize=5: set blocksize"):
        gd.read_csv(tmp_path / "a.csv", chunksize=5)
    (tmp_path / "c.csv").write_text("x,y,z\n1,2,3\n")
    lazy = gd.read_csv([tmp_path / "a.csv", tmp_path / "c.csv"])
    with pytest.raises(
        MetaError, match=r"c\.csv' has the columns \['y', 'z'\], which the first file lacks: give usecols=\['x'\]"
    ):
        lazy.compute()
    assert lazy.x.sum().compute() == 2
    with pytest.raises(OptionError, match="'much' is not a size in bytes"):
        gd.read_csv(tmp_path / "a.csv", blocksize="much")


def test_partitions_may_be_made_by_functions_and_delayed_calls():
    def make(n, offset):
        return pd.DataFrame({"n": np.arange(n) + offset})

    mapped = gd.from_map(make, [1, 2, 3], offset=10, divisions=(0, 1, 3, 5))
    assert mapped.n.compute().tolist() == [10, 10, 11, 10, 11, 12]
    assert mapped.known_divisions
    calls = [gl.delayed(make)(n, 0) for n in (2, 3)]
    lazy = gd.from_delayed(calls, meta={"n": "int64"})
    assert lazy.n.sum().compute() == 4
    assert [len(part) for part in gl.compute(*lazy.to_delayed())] == [2, 3]
    assert gl.delayed(len)(lazy).compute() == 5
    wrong = gd.from_delayed(calls, meta={"m": "int64"})
    with pytest.raises(MetaError, match=r"from_delayed returned the columns \['n'\], but meta says \['m'\]"):
        wrong.compute()
    with pytest.raises(DivisionError, match="2 divisions were given for 3 partitions; there should be 4"):
        gd.from_map(make, [1, 2, 3], offset=0, divisions=(0, 1))
    with pytest.raises(ValueError, match=r"iterables have different lengths: \[2, 1\]"):
        gd.from_map(make, [1, 2], [1])
    with pytest.raises(TypeError, match="from_delayed takes delayed calls and futures, got int"):
        gd.from_delayed([1])


def test_partitions_are_futures():
    make = lambda n: pd.DataFrame({"n": range(n)})  # noqa: E731
    with gl.Client(n_workers=1, threads_per_worker=1) as client:
        lazy = gd.from_delayed(client.map(make, [2, 3]))
        assert lazy.npartitions == 2
        assert lazy.n.sum().compute() == 4
        assert gd.from_delayed(client.submit(make, 4)).n.max().compute() == 3


def test_timeseries_is_the_same_for_the_same_seed_and_as_large_as_it_says():
    one = gd.datasets.timeseries(end="2000-01-04", freq="1min", seed=3)
    assert_same(
        one.compute(), gd.datasets.timeseries(end="2000-01-04", freq="1min", seed=3).compute(scheduler="inline")
    )
    other = gd.datasets.timeseries(end="2000-01-04", freq="1min")
    assert one.expr.name != other.expr.name != gd.datasets.timeseries(end="2000-01-04", freq="1min").expr.name
    frame = one.compute()
    assert frame.index.name == "timestamp"
    assert frame.index.equals(pd.date_range("2000-01-01", "2000-01-04", freq="1min", inclusive="left"))
    assert [str(dtype) for dtype in frame.dtypes[["id", "x", "y"]]] == ["int64", "float64", "float64"]
    assert 995 < frame.id.mean() < 1005
    assert frame.name.nunique() == 26
    assert -1 <= frame.x.min() < -0.99 < 0.99 < frame.x.max() < 1
    with pytest.raises(OptionError, match="end='1999-01-01' should be at least 1D after start"):
        gd.datasets.timeseries(end="1999-01-01")


def test_what_is_written_to_a_frame_later_changes_no_result():
    mine = pd.DataFrame({"x": [1.0, 2, 3]})
    lazy, held = gd.from_pandas(mine, npartitions=2), gd.from_pandas(mine, npartitions=2).persist()
    mine.loc[0, "x"] = 9
    mine["x"] *= 2
    assert lazy.x.compute().tolist() == held.x.compute().tolist() == [1, 2, 3]

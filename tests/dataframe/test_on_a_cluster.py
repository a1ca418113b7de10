"""Frames on worker processes: the same results, held where they were made."""

from __future__ import annotations

import glassloom as gl
import glassloom.dataframe as gd
import pandas as pd
import pytest
from frame_helpers import assert_same, shop, target_encoded
from glassloom.cluster import options


@pytest.fixture(scope="module")
def client():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(options, "_PRELOADED", ("numpy", "pandas", "pyarrow", "glassloom.array", "glassloom.dataframe"))
        with gl.Client(n_workers=2, threads_per_worker=1) as client:
            yield client


def test_results_are_those_of_threads(client, tmp_path):
    frame = gd.datasets.timeseries(end="2000-01-09", freq="10s", seed=8)
    work = frame[frame.x > 0].assign(z=frame.x * frame.y).groupby("name").agg({"z": ["sum", "std"], "id": "nunique"})
    assert_same(work.compute(), work.compute(scheduler="inline"))
    gd.to_parquet(frame, tmp_path / "frame")
    again = gd.read_parquet(tmp_path / "frame")
    assert_same(again[again.y > 0.5].id.value_counts().compute(), frame[frame.y > 0.5].id.value_counts().compute())


def test_values_of_groups_and_of_joined_rows_are_counted_by_processes(client):
    plain = pd.DataFrame({"k": [i % 40 for i in range(4_000)], "v": [i % 7 for i in range(4_000)]})
    rows = gd.from_pandas(plain, npartitions=8)
    assert_same(rows.groupby("k").v.value_counts().compute(), plain.groupby("k").v.value_counts())
    keys = pd.DataFrame({"k": range(50)})
    counted = gd.from_pandas(keys, npartitions=1).merge(rows, on="k", how="left").groupby("k").v.count()
    assert_same(counted.compute(), keys.merge(plain, on="k", how="left").groupby("k").v.count())
    assert_same(rows.agg(lambda column: column.max() - column.min()).compute(), plain.max() - plain.min())


def test_target_encoding_keeps_missing_keys_between_processes(client):
    train, valid = shop(9_000, 4), shop(3_000, 5)
    expected = target_encoded(train.copy(), valid.copy())
    got = gl.compute(*target_encoded(gd.from_pandas(train, npartitions=4), gd.from_pandas(valid, npartitions=2)))
    for ours, theirs in zip(got, expected, strict=True):
        assert_same(ours.reset_index(drop=True), theirs)
    assert got[1].cat_2_brand.isna().sum() > 100


def test_ranks_and_duplicates_are_found_between_processes(client):
    frame = pd.DataFrame({"k": [3, 1, None, 3, 2, 1, None, 9], "x": range(8)})
    lazy = gd.from_pandas(frame, npartitions=4)
    assert_same(lazy.k.rank().compute(), frame.k.rank())
    assert_same(lazy.duplicated("k").compute(), frame.duplicated("k"))
    assert_same(lazy.groupby("k").x.cumsum().compute(), frame.groupby("k").x.cumsum())
    assert_same(lazy.k.interpolate().ewm(span=2).mean().compute(), frame.k.interpolate().ewm(span=2).mean())


def test_persisted_frames_stay_on_the_workers(client):
    frame = gd.datasets.timeseries(end="2000-01-05", freq="10s", seed=9)
    held = frame[frame.x > 0].persist()
    gl.wait(held)
    assert len(held) == len(frame[frame.x > 0])
    assert_same((held.x + frame[frame.x > 0].y).head(), (frame.x + frame.y)[frame.x > 0].head())
    assert held.persist().expr.name == held.expr.name
    assert sum(client.nbytes().values()) > 4 * 4000 * 8


def test_small_tables_are_joined_on_every_worker(client):
    frame = gd.datasets.timeseries(end="2000-01-04", freq="1min", seed=2)
    table = pd.DataFrame({"name": list(gd.datasets.NAMES), "number": range(26)})
    got = frame.merge(table, on="name").number.mean().compute()
    assert got == frame.compute().merge(table, on="name").number.mean()


def test_an_error_is_the_tasks_own_and_the_cluster_goes_on(client):
    frame = gd.datasets.timeseries(end="2000-01-04", freq="1min", seed=2)

    def fail(block):
        raise ValueError(f"{len(block)} rows are too many")

    with pytest.raises(ValueError, match="1440 rows are too many"):
        frame.map_partitions(fail, meta=frame).compute()
    assert frame.x.count().compute() == 3 * 1440


def test_whole_groups_move_between_workers(client):
    frame = gd.datasets.timeseries(end="2000-01-04", freq="1min", seed=2)
    plain = frame.compute().groupby("name")
    grouped = frame.groupby("name")
    assert_same(
        grouped.x.agg(lambda values: values.max() - values.min()).compute(), plain.x.agg(lambda v: v.max() - v.min())
    )
    assert_same(grouped.x.transform("mean").compute(), plain.x.transform("mean"))
    assert_same(grouped[["x", "y"]].shift().compute(), plain[["x", "y"]].shift())
    assert_same(grouped.x.nlargest(2).compute(), plain.x.nlargest(2))
    assert_same(grouped.x.sum(split_out=2).compute().sort_index(), plain.x.sum())


def test_rows_move_between_processes_as_between_threads(client):
    keys = ["ant", 2, None, ("a", 1), "bee", 2.5] * 50
    frame = gd.from_pandas(pd.DataFrame({"k": pd.Series(keys, dtype="object"), "x": range(300)}), npartitions=5)
    table = gd.from_pandas(pd.DataFrame({"k": pd.Series(keys[:5], dtype="object"), "y": range(5)}), npartitions=2)
    numbers = gd.from_pandas(pd.DataFrame({"x": range(90), "z": list("abc") * 30}), npartitions=2)
    for work in (
        frame.shuffle("k", npartitions=3),
        frame.merge(table, on="k", how="outer", broadcast=False),
        frame.merge(numbers, on="x", how="left"),
        frame.sort_values("x", ascending=False),
        frame.drop_duplicates("k", split_out=2),
    ):
        assert_same(work.compute(), work.compute(scheduler="inline"))


def every_other(block):
    return block if block.x.min() % 60 == 0 else block[:0]


def test_many_partitions_of_unknown_sizes_move_between_processes(client):
    """In batches, as they are likely to be small; some are empty."""
    frame = pd.DataFrame({"k": [n * 7 % 300 for n in range(3_000)], "x": range(3_000), "t": list("abc") * 1_000})
    frame["t"] = frame["t"].where(frame.x % 11 > 0).astype("category")
    frame["i"] = frame["x"].astype("Int64").where(frame.x % 5 > 0)
    lazy = gd.from_pandas(frame, npartitions=100).map_partitions(every_other, meta=frame[:0])
    other = lazy[["k", "x"]].rename(columns={"x": "y"})
    assert len(lazy) == 1_500
    for work in (
        lazy.shuffle("k"),
        lazy.merge(other, on="k", how="left", broadcast=False),
        lazy.sort_values(["k", "x"], ascending=False),
    ):
        assert_same(work.compute(), work.compute(scheduler="inline"))


def test_what_is_computed_can_be_written_to(client):
    columns = {"x": [float(n) for n in range(200_000)], "i": pd.array(range(200_000), dtype="Int64"), "c": pd.Categorical(["a", "b"] * 100_000)}  # fmt: skip
    held = gd.from_pandas(pd.DataFrame(columns), npartitions=1).persist()  # in shared memory
    mine = held.compute()
    mine.loc[0, ["x", "i", "c"]] = [7.0, 7, "b"]
    assert mine.loc[0].tolist() == [7.0, 7, "b"]
    series = held.x.compute()
    series.loc[0] = 8.0
    assert series[0] == 8.0
    assert held.compute().loc[0].tolist() == [0.0, 0, "a"]


@pytest.mark.filterwarnings("ignore:The 'future.infer_string' option is deprecated")
@pytest.mark.parametrize(
    "options",
    [("mode.string_storage", "python"), ("future.infer_string", False), ("future.distinguish_nan_and_na", True)],
)
def test_pandas_options_of_the_caller_decide_in_other_processes(client, tmp_path, options):
    plain = pd.DataFrame({"n": [0, 1, 2, 3], "s": ["a", "b", None, "a"]})
    plain.to_csv(tmp_path / "a.csv", index=False)
    try:
        with pd.option_context(*options):
            lazy, frame = gd.read_csv(tmp_path / "a.csv", blocksize=10), pd.read_csv(tmp_path / "a.csv")
            for work in (
                lambda frame: frame.s,
                lambda frame: frame.n.map("v{}".format),
                lambda frame: frame.n.astype("Float64") / frame.n.astype("Int64"),
            ):
                found, wanted = work(lazy).compute(), work(frame).reset_index(drop=True)
                assert_same(found.reset_index(drop=True), wanted)
                assert_same(work(lazy).persist().compute().reset_index(drop=True), wanted)
    except pd.errors.OptionError:
        pytest.skip(f"this pandas has no {options[0]}")
    assert client.submit(lambda: pd.get_option("mode.string_storage")).result() == pd.get_option("mode.string_storage")

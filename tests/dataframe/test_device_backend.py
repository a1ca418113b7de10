"""Frames of a device's library: what calls methods runs on it, and what needs pandas' functions gets its partitions on the host.

`strict_frames` stands in for cuDF. What only cuDF can show is in `tests/gpu`.
"""

import sys

import glassloom as gl
import glassloom.dataframe as gd
import pandas as pd
import pytest
import strict_frames
from glassloom import config
from glassloom.backends.frames import DEVICE_BACKENDS
from glassloom.errors import OptionError

HOST = pd.DataFrame(
    {"k": ["a", None, "b", "a", "c", "b"], "x": [1.0, 2.0, None, 4.0, 5.0, 6.0], "n": [3, 1, 2, 2, 1, 3]},
    index=range(6),
)


@pytest.fixture(autouse=True)
def strict(monkeypatch):
    monkeypatch.setitem(DEVICE_BACKENDS, "strict_frames", strict_frames)
    strict_frames.MOVES.update({"to": 0, "from": 0})


@pytest.fixture
def frame():
    return gd.from_pandas(HOST, npartitions=2).to_backend("strict_frames")


def on_device(lazy):
    """Return the result, asserting that it was computed on the device."""
    assert lazy.expr.backend == "strict_frames"
    result = lazy.compute(scheduler="inline")
    assert isinstance(result, strict_frames.Strict) and strict_frames.MOVES["from"] == 0
    return result._data


@pytest.mark.parametrize(
    "operation",
    [
        lambda f: f, lambda f: f["x"], lambda f: f[["n", "x"]], lambda f: f.x + 1, lambda f: f.x * f.n, lambda f: f[f.n > 1],
        lambda f: f.assign(y=f.x / 2), lambda f: f.fillna({"x": 0.0}), lambda f: f.x.isna(), lambda f: f.rename(columns={"x": "z"}),
        lambda f: f.k.str.upper(), lambda f: f.x.clip(2, 5), lambda f: f.astype({"n": "float64"}), lambda f: -f.n, lambda f: f.n.isin([1, 2]),
        lambda f: f.map_partitions(lambda part: part.sort_values("n")) if hasattr(f, "map_partitions") else pd.concat([HOST[:3].sort_values("n"), HOST[3:].sort_values("n")]),
    ],
)  # fmt: skip
def test_methods_of_rows_run_on_the_device(frame, operation):
    found, expected = on_device(operation(frame)), operation(HOST)
    assert type(found) is type(expected) and found.equals(expected)


@pytest.mark.parametrize(
    "operation",
    [
        lambda f: f.x.sum(), lambda f: f.x.mean(), lambda f: f.groupby("k").x.sum(), lambda f: f.groupby("k").agg({"x": ["count", "mean"]}),
        lambda f: f.sort_values("n"), lambda f: f.merge(f[["k", "n"]], on="k", how="left"), lambda f: f.drop_duplicates("k"),
        lambda f: f.n.value_counts(), lambda f: f.x.cumsum(), lambda f: f.x.rolling(2).mean(), lambda f: f.describe(),
        lambda f: (f.x + 1).max(), lambda f: f.n.nunique(), lambda f: f.set_index("n"),
    ],
)  # fmt: skip
def test_what_needs_pandas_gets_its_partitions_on_the_host_and_gives_its_results(frame, operation):
    plain = gd.from_pandas(HOST, npartitions=2)
    lazy = operation(frame)
    assert lazy.expr.backend == "pandas"
    found, expected = lazy.compute(scheduler="inline"), operation(plain).compute(scheduler="inline")
    assert strict_frames.MOVES["from"] >= 2
    assert found.equals(expected) if hasattr(found, "equals") else found == expected


def test_missing_keys_are_handled_alike_wherever_partitions_are(frame):
    """The trap of target encoding: rows whose key is missing get the value that says so, on each backend."""

    def encoded(frame):
        means = frame.groupby("k")["n"].mean().reset_index().rename(columns={"n": "mean"})
        return frame.merge(means, on="k", how="left")["mean"].fillna(-1.0)

    expected = encoded(gd.from_pandas(HOST, npartitions=2)).compute(scheduler="inline")
    found = encoded(frame).compute(scheduler="inline")
    assert sorted(found) == sorted(expected) and (found == -1.0).sum() == 1


def test_what_is_held_is_on_the_device(frame):
    held = gl.persist(frame.assign(y=1), scheduler="inline")[0]
    assert held.expr.backend == "strict_frames"
    assert on_device(held.y + 1).tolist() == [2] * 6


def test_frames_are_read_to_the_device(tmp_path):
    HOST.to_parquet(tmp_path / "a.parquet")
    HOST.to_csv(tmp_path / "a.csv", index=False)
    assert on_device(gd.read_parquet(tmp_path / "a.parquet", backend="strict_frames")).equals(HOST)
    assert on_device(gd.read_csv(tmp_path / "a.csv", backend="strict_frames").n).tolist() == HOST.n.tolist()
    assert gd.read_csv(tmp_path / "a.csv").expr.backend == "pandas"
    with config.set({"dataframe.backend": "cudf"}):
        assert gd.read_parquet(tmp_path / "a.parquet").expr.backend == "cudf"
    assert "cudf" not in sys.modules


def test_a_frame_of_the_device_is_cut_into_partitions_there():
    lazy = gd.from_pandas(strict_frames.Strict(HOST), npartitions=3)
    assert lazy.npartitions == 3 and lazy.known_divisions
    strict_frames.MOVES["from"] = 0
    assert on_device(lazy).equals(HOST)


def test_columns_that_are_not_needed_do_not_go_to_the_device(tmp_path):
    HOST.to_parquet(tmp_path / "a.parquet")
    (optimized,) = gl.optimize(gd.read_parquet(tmp_path / "a.parquet", backend="strict_frames")["x"])
    assert list(optimized.expr.dependencies[0].meta.to_frame().columns) == ["x"]


def test_a_library_that_is_none_is_refused(frame):
    with pytest.raises(OptionError, match="backend='polars' is none of 'pandas', 'cudf', 'strict_frames'"):
        frame.to_backend("polars")
    assert frame.to_backend("strict_frames").expr.name == frame.expr.name
    assert frame.to_backend("pandas").compute(scheduler="inline").equals(HOST)

"""Frames of a device's library: what calls methods runs on it, and what needs pandas' functions gets its partitions on the host.

`strict_frames` stands in for cuDF. What only cuDF can show is in `tests/gpu`.
"""

import sys

import glassloom as gl
import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pytest
import strict_frames
from glassloom import config
from glassloom.backends.frames import DEVICE_BACKENDS
from glassloom.dataframe.moving.joining import Joining
from glassloom.errors import OptionError

HOST = pd.DataFrame(
    {"k": ["a", None, "b", "a", "c", "b"], "x": [1.0, 2.0, None, 4.0, 5.0, 6.0], "n": [3, 1, 2, 2, 1, 3]},
    index=range(6),
)


@pytest.fixture(autouse=True)
def strict(monkeypatch):
    monkeypatch.setitem(DEVICE_BACKENDS, "strict_frames", strict_frames)
    strict_frames.MOVES.update({"to": 0, "from": 0, "rows": 0, "columns": set()})


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
        lambda f: f.assign(y=f.x / 2), lambda f: f.fillna({"x": 0.0}), lambda f: f.x.isna(), lambda f: f.rename(columns={"x": "z"}), lambda f: f.n.map({1: 2.0, 2: 3.0, 3: 4.0}), lambda f: f.n.map(abs), lambda f: f.n.apply(abs), lambda f: f.dropna(), lambda f: f.dropna(subset=["k"]), lambda f: f.dropna(thresh=3),
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
        lambda f: f.rename_axis("label"), lambda f: f.n.rename_axis("label"), lambda f: f.set_axis(["a", "b", "c"], axis=1), lambda f: f[["x", "n"]].idxmax(axis=1),
        lambda f: f.n % (f.n - 1), lambda f: f.n // (f.n - 1), lambda f: f.n.mod(0), lambda f: 5 // (f.n - 1), lambda f: (f.n - 1).rfloordiv(5), lambda f: f.n % 2, lambda f: f.x // 2, lambda f: f.n ** (f.n > 1),
        lambda f: f.k.str.casefold(), lambda f: f.index.map(abs), lambda f: f.k.fillna("z").str.fullmatch("a"),
    ],
)  # fmt: skip
def test_what_the_library_lacks_or_refuses_is_computed_on_the_host_and_moved_back(frame, operation):
    lazy = operation(frame)
    assert lazy.expr.backend == "strict_frames"
    result = lazy.compute(scheduler="inline")
    assert isinstance(result, strict_frames.Strict)
    expected = operation(HOST)
    assert type(result._data) is type(expected) and result._data.equals(expected)
    assert getattr(result._data, "name", None) == getattr(expected, "name", None)


def test_pairs_of_quotients_and_remainders_are_computed_on_the_host_where_the_library_has_none(frame):
    quotients, remainders = gl.compute(*(frame.n + 1).divmod(frame.n - 1), scheduler="inline")
    expected = (HOST.n + 1).divmod(HOST.n - 1)
    assert quotients._data.equals(expected[0]) and remainders._data.equals(expected[1])


def test_an_error_of_pandas_is_the_one_that_is_raised(frame):
    with pytest.raises(ValueError, match="Cannot mask with non-boolean|could not convert|invalid literal"):
        frame.k.fillna("z").astype("int64").compute(scheduler="inline")


def test_a_users_function_gets_partitions_as_they_are_and_is_called_once(frame):
    called = []

    def fail(part):
        called.append(type(part))
        raise ValueError("of the user's own")

    with pytest.raises(ValueError, match="of the user's own"):
        frame.map_partitions(fail, meta=HOST[:0]).compute(scheduler="inline")
    assert called == [strict_frames.Strict]


def test_results_that_the_library_has_no_values_for_are_an_error_that_says_so(frame):
    with pytest.raises(
        NotImplementedError, match=r"map: strict_frames has no values .*complex128.*to_backend\('pandas'\)"
    ):
        frame.index.map(lambda label: label * 1j).compute(scheduler="inline")


def test_rows_are_iterated_over_and_taken_as_arrays_on_the_host(frame):
    assert [row.n for row in frame.itertuples()] == [*HOST.n]
    assert [label for label, _ in frame.iterrows()] == [*range(6)] and list(frame.n.items()) == list(HOST.n.items())
    assert list(frame.n) == [*HOST.n] and (frame.n.to_numpy() == HOST.n.to_numpy()).all()
    assert (np.asarray(frame.n) == HOST.n.to_numpy()).all() and frame.n.to_dict() == HOST.n.to_dict()


ROWS = pd.DataFrame(
    {
        "k": [*("a", None, "b", "a", "c", "none") * 10], "m": [1, 2, 1, 2, 1, 3] * 10, "n": range(60),
        "x": [*(1.0, 2.0, None, 4.5, 5.0, None) * 10], "u": np.arange(60, dtype="uint32") % 7,
        "f": np.linspace(0, 1, 60, dtype="float32"), "b": [True, False, True] * 20,
        "at": pd.date_range("2026-01-01", periods=60, freq="h"),
    }
)  # fmt: skip
"""A group has no values, and a key is missing."""


@pytest.fixture(scope="module")
def plain():
    return gd.from_pandas(ROWS, npartitions=3)


@pytest.fixture
def large(plain):
    return plain.to_backend("strict_frames")


def assert_same(found, expected):
    if isinstance(expected, pd.DataFrame):
        pd.testing.assert_frame_equal(found, expected)
    elif isinstance(expected, pd.Series):
        pd.testing.assert_series_equal(found, expected)
    else:
        assert found == pytest.approx(expected, nan_ok=True) and type(found) is type(expected)


@pytest.mark.parametrize(
    "operation",
    [
        lambda f: f.x.sum(), lambda f: f[["x", "n", "u"]].sum(), lambda f: f[["x", "n", "u", "f"]].mean(), lambda f: f.n.max(),
        lambda f: (f.x + 1).min(), lambda f: f.x.var(), lambda f: f[["x", "n"]].std(ddof=0), lambda f: f.count(), lambda f: f.k.nunique(),
        lambda f: f.n.prod(), lambda f: f[f.k == "none"].x.sum(), lambda f: f[f.k == "none"].x.mean(), lambda f: f[f.k == "none"].x.min(),
        lambda f: f.groupby("k").x.sum(), lambda f: f.groupby("k", dropna=False).x.sum(), lambda f: f.groupby(["k", "m"]).x.mean(),
        lambda f: f.groupby(["m", "k"], dropna=False)[["n", "x"]].max(), lambda f: f.groupby("k").size(),
        lambda f: f.groupby("k").agg({"x": ["count", "mean", "min"], "n": "sum", "u": ["sum", "max"]}), lambda f: f.groupby("m").x.std(),
        lambda f: f.groupby("k").f.var(ddof=0), lambda f: f.groupby("m").k.nunique(), lambda f: f.groupby("k")["at"].count(),
        lambda f: f.groupby("b").x.sum(min_count=3), 
    ],
)  # fmt: skip
def test_first_steps_of_reductions_and_groups_run_on_the_device_and_give_what_pandas_gives(plain, large, operation):
    lazy = operation(large)
    assert lazy.expr.backend == "pandas"
    found = lazy.compute(scheduler="inline")
    assert strict_frames.MOVES["rows"] <= 30, "groups of each partition"
    assert_same(found, operation(plain).compute(scheduler="inline"))


@pytest.mark.parametrize(
    "operation",
    [
        lambda f: f.n.sort_values(), lambda f: f.sort_index(), lambda f: f.sort_values("n", key=lambda n: -n), lambda f: f.drop_duplicates("k"), lambda f: f.m.value_counts(), lambda f: f.x.cumsum(),
        lambda f: f.x.rolling(2).mean(), lambda f: f[["x", "n"]].describe(), lambda f: f.set_index("n"), lambda f: f.x.sum(skipna=False),
        lambda f: f.groupby("k", sort=False).x.sum(), lambda f: f.groupby(f.k.str.upper()).x.sum(), lambda f: f.groupby("k").x.first(),
        lambda f: f.groupby("k").b.any(), lambda f: f.groupby("k").x.median(), lambda f: f.b.sum(), lambda f: f.k.dropna().max(),
    ],
)  # fmt: skip
def test_what_needs_pandas_gets_its_partitions_on_the_host_and_gives_its_results(plain, large, operation):
    lazy = operation(large)
    assert lazy.expr.backend == "pandas"
    found = lazy.compute(scheduler="inline")
    assert strict_frames.MOVES["rows"] >= 30
    assert_same(found, operation(plain).compute(scheduler="inline"))


TABLE = pd.DataFrame({"k": ["b", None, "a", "a"], "n": [1, 2, 3, 4], "z": [1.0, 2.0, 3.0, 4.0]})


@pytest.mark.parametrize(
    "operation",
    [
        lambda f, t: f.merge(t, on="k"), lambda f, t: f.merge(t, on="k", how="left"), lambda f, t: f.merge(t, on=["k", "n"], how="left"),
        lambda f, t: f.merge(t[["n", "z"]], left_on="m", right_on="n", how="left"), lambda f, t: f.merge(t, on="z", how="inner"),
        lambda f, t: f.merge(t, on="n", suffixes=("", "_2")),
    ],
)  # fmt: skip
@pytest.mark.parametrize("is_lazy", [True, False])
def test_joins_with_a_small_side_run_on_the_device_in_pandas_order(plain, large, operation, is_lazy):
    table = gd.from_pandas(TABLE, npartitions=2).to_backend("strict_frames") if is_lazy else TABLE
    own = (lambda f: f.assign(z=f.x)) if "z" in str(operation.__code__.co_consts) else (lambda f: f)
    found = operation(own(large), table)
    assert found.expr.backend == "strict_frames"
    parts = [found.partitions[n].compute(scheduler="inline") for n in range(3)]
    other = gd.from_pandas(TABLE, npartitions=1)
    for n, part in enumerate(parts):
        assert_same(part._data, operation(own(plain), other).partitions[n].compute(scheduler="inline"))
    assert strict_frames.MOVES["rows"] <= 3 * len(TABLE), "at most the small side"


@pytest.mark.parametrize(
    ("options", "npartitions"),
    [
        ({"by": "n"}, 3), ({"by": "n", "ascending": False}, 3), ({"by": "k"}, 3), ({"by": ["k", "m"], "ascending": [False, True]}, 3),
        ({"by": "x", "na_position": "first"}, 3), ({"by": "at", "ascending": False}, 3), ({"by": ["b", "u"]}, 3), ({"by": "f"}, 1), ({"by": "x"}, 40),
    ],
)  # fmt: skip
def test_frames_are_sorted_on_the_device_by_keys_that_the_host_reads(options, npartitions):
    lazy = gd.from_pandas(ROWS, npartitions=npartitions)
    found = lazy.to_backend("strict_frames").sort_values(**options)
    assert found.expr.backend == "strict_frames"
    result = found.compute(scheduler="inline")
    by = options["by"] if isinstance(options["by"], list) else [options["by"]]
    assert strict_frames.MOVES["columns"] == set(by), "nothing but the keys"
    assert_same(result._data, ROWS.sort_values(**options, kind="stable"))


OTHER = pd.DataFrame({"k": [*("b", None, "a", "d") * 15], "m": [1, 2, 3] * 20, "z": range(100, 160)})


@pytest.mark.parametrize(
    "join",
    [
        lambda f, o: f.merge(o, on=["k", "m"], broadcast=False), lambda f, o: f.merge(o, on=["k", "m"], how="left", broadcast=False),
        lambda f, o: f.merge(o, left_on="u", right_on="m", how="left", broadcast=False),
        lambda f, o: f.merge(o, on="m", broadcast=False),
    ],
)  # fmt: skip
@pytest.mark.parametrize("npartitions", [3, 40])
def test_large_joins_run_on_the_device_after_an_exchange_by_keys_that_the_host_reads(plain, join, npartitions):
    other = gd.from_pandas(OTHER, npartitions=npartitions)
    expected = join(plain, other)
    found = join(plain.to_backend("strict_frames"), other.to_backend("strict_frames"))
    assert found.expr.backend == "strict_frames" and found.npartitions == expected.npartitions == npartitions
    parts = [found.partitions[n].compute(scheduler="inline") for n in range(3)]
    assert strict_frames.MOVES["columns"] <= {"k", "m", "u"}, "nothing but the keys"
    for n, part in enumerate(parts):
        assert_same(part._data, expected.partitions[n].compute(scheduler="inline"))


def test_a_large_join_of_a_frame_on_the_device_and_one_on_the_host_runs_on_the_device(plain, large):
    other = gd.from_pandas(OTHER, npartitions=3)
    for left, right in ((large, other), (other, large)):
        found = left.merge(right, on=["k", "m"], broadcast=False)
        assert found.expr.backend == "strict_frames"
        own = left.to_backend("pandas").merge(right.to_backend("pandas"), on=["k", "m"], broadcast=False)
        assert_same(found.compute(scheduler="inline")._data, own.compute(scheduler="inline"))


def test_joins_by_columns_of_which_some_have_one_name_are_the_host_s(plain, large):
    other = gd.from_pandas(OTHER, npartitions=3)
    found = large.merge(other, left_on=["k", "n"], right_on=["k", "z"], how="left")
    assert found.expr.backend == "pandas"
    expected = plain.merge(other, left_on=["k", "n"], right_on=["k", "z"], how="left")
    assert_same(found.compute(scheduler="inline"), expected.compute(scheduler="inline"))


@pytest.mark.parametrize("npartitions", [1, 2])
@pytest.mark.parametrize("broadcast", [None, False])
def test_left_joins_keep_nullable_whole_numbers(npartitions, broadcast):
    numbers = pd.array([2**53 + 1, None, 2**53 + 3, 5], dtype="Int64")
    left = gd.from_pandas(pd.DataFrame({"k": [1, 2, 3, 4], "id": numbers}), npartitions=npartitions)
    table = pd.DataFrame({"k": [1, 2, 9], "w": pd.array([2**60 + 1, 7, 8], dtype="Int64"), "n": [1, 2, 3]})
    right = gd.from_pandas(table, npartitions=1)
    expected = left.merge(right, on="k", how="left", broadcast=broadcast).compute(scheduler="inline")
    found = left.to_backend("strict_frames").merge(right, on="k", how="left", broadcast=broadcast)
    result = found.compute(scheduler="inline")._data
    assert_same(result.reset_index(drop=True), expected.reset_index(drop=True))
    assert result.dtypes.tolist() == ["int64", "Int64", "Int64", "float64"]


def test_whole_numbers_of_the_right_side_that_a_device_leaves_null_become_floats_as_in_pandas():
    blocks = [
        pd.DataFrame({"k": [1, 2], "n": pd.array([2**53 + 1, None], dtype="Int64")}),
        pd.DataFrame({"k": [1], "n": pd.array([7], dtype="Int64"), "w": pd.array([8], dtype="Int64")}),
    ]  # the device's blocks don't tell which were nullable in pandas
    metas = [blocks[0].iloc[:0], blocks[1].iloc[:0].astype({"n": "int64"})]
    joining = Joining("left", ("k",), ("k",), False, False, True, ("_x", "_y"), False, None).with_right(metas[1])
    found = joining(*(strict_frames.Strict(block) for block in blocks))._data
    assert found.dtypes.tolist() == ["int64", "Int64", "float64", "Int64"]
    assert found["n_x"].tolist() == [2**53 + 1, pd.NA]


@pytest.mark.parametrize("how", ["outer", "right"])
def test_other_joins_are_the_host_s(plain, large, how):
    assert_same(
        large.merge(TABLE, on="k", how=how).compute(scheduler="inline").sort_values(["n_x", "n_y"], ignore_index=True),
        plain.merge(TABLE, on="k", how=how).compute(scheduler="inline").sort_values(["n_x", "n_y"], ignore_index=True),
    )


def test_missing_keys_are_handled_alike_wherever_partitions_are(plain, large):
    """The trap of target encoding: rows whose key is missing get the value that says so, on each backend."""

    def encoded(frame):
        means = frame.groupby("k")["n"].mean().reset_index().rename(columns={"n": "mean"})
        return frame.merge(means, on="k", how="left")["mean"].fillna(-1.0)

    expected = encoded(plain).compute(scheduler="inline")
    found = encoded(large)
    assert found.expr.backend == "strict_frames"
    found = found.compute(scheduler="inline")._data
    assert found.tolist() == expected.tolist() and (found == -1.0).sum() == 10
    assert strict_frames.MOVES["rows"] <= 3 * 4, "groups of each partition"


def test_lists_are_made_on_the_host(frame):
    assert frame.index.tolist() == HOST.index.tolist() and frame.n.tolist() == HOST.n.tolist()


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

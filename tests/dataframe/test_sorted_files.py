"""`set_index` by a column of files that say between what its values lie: divisions are known without reading, and rows stay where they are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pytest
from frame_helpers import assert_same
from glassloom.backends.pandas_version import HAS_COPY_ON_WRITE
from glassloom.dataframe.moving import set_index
from glassloom.dataframe.moving.boundaries import Order
from glassloom.dataframe.moving.exchange import Exchange
from glassloom.dataframe.moving.sort import NearlySorted, SortedBlocks, Sorting
from glassloom.expr import lower, optimize, walk
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

INLINE = {"scheduler": "inline"}


@pytest.fixture
def no_key_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(set_index, "_look_at", lambda keys, count: pytest.fail("the keys were read"))


def _frame(keys: Any) -> pd.DataFrame:
    times = pd.Timestamp("2024-03-30") + pd.to_timedelta(np.asarray(keys), unit="h")
    return pd.DataFrame({"when": times, "zoned": times.tz_localize("UTC").tz_convert("Europe/Berlin"), "k": keys, "x": range(len(keys))})  # fmt: skip


def _read(frame: pd.DataFrame, folder: Path, rows: int = 3) -> Any:
    frame.to_parquet(folder / "some.parquet", row_group_size=rows)
    return gd.read_parquet(folder / "some.parquet", split_row_groups=True)


def _swapped(keys: list[int], place: int) -> list[int]:
    """Return keys with two neighbours swapped, if there are such."""
    return [*keys[:place], *reversed(keys[place : place + 2]), *keys[place + 2 :]]


def of_nearly_sorted_files(test: Any) -> Any:
    """Call a test with keys of which all but two are in order, with the rows of a row group, and with the column to sort by."""
    keys = st.lists(st.integers(0, 12), min_size=1, max_size=14).map(sorted)
    given_files = given(
        keys=st.builds(_swapped, keys, st.integers(0, 12)),
        rows=st.integers(1, 5),
        column=st.sampled_from(["when", "zoned", "k"]),
    )
    return settings(suppress_health_check=[HealthCheck.function_scoped_fixture])(given_files(test))


@of_nearly_sorted_files
def test_rows_come_in_the_order_of_a_stable_sort(tmp_path: Path, keys: list[int], rows: int, column: str) -> None:
    frame = _frame(keys)
    lazy = _read(frame, tmp_path, rows).set_index(column)
    expected = frame.set_index(column).sort_index(kind="stable")
    assert_same(lazy.compute(**INLINE), expected)
    assert lazy.known_divisions
    for number, (low, high) in enumerate(zip(lazy.divisions, lazy.divisions[1:], strict=False)):
        labels = lazy.partitions[number].compute(**INLINE).index
        assert (labels >= low).all() and ((labels < high).all() or (number + 1 == lazy.npartitions and (labels <= high).all()))  # fmt: skip
    if column != "k":
        assert_same(lazy.x.resample("2h").sum().compute(**INLINE), expected.x.resample("2h").sum())


@of_nearly_sorted_files
def test_rows_sorted_by_a_column_are_those_of_a_stable_sort(
    tmp_path: Path, keys: list[int], rows: int, column: str
) -> None:
    frame = _frame(keys)
    lazy = _read(frame, tmp_path, rows)
    for how in (
        lambda f: f.sort_values(column, kind="stable"),
        lambda f: f.sort_values(column, kind="stable").x.cumsum(),
    ):
        assert_same(how(lazy).compute(**INLINE), how(frame))


@pytest.mark.parametrize("missing", [0, 4_500, None])
def test_many_rows_in_order_are_left_as_they_are(missing: int | None) -> None:
    frame = pd.DataFrame({"when": pd.date_range("2024-01-01", periods=5_000, freq="min"), "x": range(5_000)})
    if missing is not None:
        frame.loc[missing, "when"] = None
    sorting = Sorting(("when",), Order((True,)))
    made = sorting.sorted(frame)
    assert_same(made, frame.sort_values("when", kind="stable"))
    assert np.shares_memory(made["x"].to_numpy(), frame["x"].to_numpy()) is (missing is None and HAS_COPY_ON_WRITE)
    made["x"] = 0
    made.iloc[0, 1] = 7
    assert frame["x"].tolist() == list(range(5_000))


def test_sorted_values_of_files_in_order_move_nothing(tmp_path: Path) -> None:
    lazy = _read(_frame([0, 1, 3, 3, 3, 4, 4, 9, 9]), tmp_path)
    assert _kinds(lazy.sort_values("when")) >= {SortedBlocks} and not any(issubclass(kind, Exchange) for kind in _kinds(lazy.sort_values("when")))  # fmt: skip
    assert any(issubclass(kind, Exchange) for kind in _kinds(lazy.sort_values("when", ascending=False)))


def _kinds(lazy: Any) -> set[type]:
    return {type(node) for node in walk([lazy.expr])}


def test_nothing_is_read_or_moved_where_partitions_are_apart(tmp_path: Path, no_key_is_read: None) -> None:
    lazy = _read(_frame([2, 0, 1, 3, 5, 4, 6]), tmp_path).assign(y=1).set_index("k")
    assert lazy.divisions == (0, 3, 6, 6) and SortedBlocks in _kinds(lazy) and NearlySorted not in _kinds(lazy)
    assert lazy.compute(**INLINE).index.tolist() == [0, 1, 2, 3, 4, 5, 6]


def test_rows_of_a_label_in_two_partitions_come_together(tmp_path: Path, no_key_is_read: None) -> None:
    lazy = _read(_frame([0, 1, 3, 3, 3, 4, 4, 9, 9]), tmp_path).set_index("k")
    assert NearlySorted in _kinds(lazy) and lazy.divisions == (0, 3, 4, 9)
    assert lazy.loc[3:3].x.compute(**INLINE).tolist() == [2, 3, 4]


@pytest.mark.parametrize("sends", [False, True])
def test_a_partition_reads_those_beside_it_alone(tmp_path: Path, sends: bool) -> None:
    lazy = _read(_frame([0, 1, 3, 3, 3, 4, 4, 9, 9, 9, 12, 13]), tmp_path).set_index("k")
    graph, _ = lower(optimize([lazy.loc[12:].expr]), shares_memory=not sends)
    assert sum("split-by-range" in str(key) for key in graph.tasks) <= 2


@pytest.mark.parametrize("change", ["unsorted", "missing", "floats", "filtered", "computed"])
def test_keys_are_read_where_files_don_t_say_enough(tmp_path: Path, change: str) -> None:
    frame = _frame([0, 1, 2, 3, 4, 5])
    if change == "unsorted":
        frame["k"] = [3, 4, 5, 0, 1, 2]
    elif change == "missing":
        frame["k"] = pd.array([0, 1, None, 3, 4, 5], dtype="Int64")
    elif change == "floats":
        frame["k"] = frame["k"] * 1.0
    lazy = _read(frame, tmp_path)
    if change == "filtered":
        lazy, frame = lazy[lazy.x != 3], frame[frame.x != 3]
    elif change == "computed":
        lazy, frame = lazy.assign(k=9 - lazy.k), frame.assign(k=9 - frame.k)
    assert_same(lazy.set_index("k").compute(**INLINE), frame.set_index("k").sort_index(kind="stable"))


def test_as_many_rows_are_known_after_the_sort_as_before(tmp_path: Path) -> None:
    lazy = _read(_frame([2, 0, 1, 3, 5, 4, 6]), tmp_path)
    assert lazy.set_index("k").expr.lengths == lazy.sort_values("k").expr.lengths == (3, 3, 1)

"""Labels of what several tasks share are found by all of them, also while the first makes the table of them."""

from __future__ import annotations

import glassloom
import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pytest
from frame_helpers import assert_same
from glassloom.backends.label_tables import OF_RESULT, ready_to_look_up, with_own_labels
from glassloom.backends.pandas_version import LOOKS_UP_SAFELY
from glassloom.backends.sharing import read_only_view
from glassloom.dataframe.grouping.carried import Totals
from glassloom.dataframe.moving.exchange import split
from glassloom.dataframe.moving.lookup import Lookup
from glassloom.dataframe.resample import Binned
from glassloom.graph import tokenize

ROWS = 100_000


def shuffled(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).permutation(ROWS)


def looked_up(block: pd.Series, table: pd.Series) -> pd.Series:
    return pd.Series(table.loc[block.to_numpy()].to_numpy(), index=block.index, name="v")


@pytest.mark.parametrize("how", ["map", "map of pandas", "index.map", "map_partitions", "map_partitions of pandas"])
def test_threads_find_all_labels_of_an_object_that_they_share(how):
    values = pd.Series(np.random.default_rng(0).integers(0, ROWS, ROWS), name="v")
    lazy = gd.from_pandas(values, npartitions=8)
    labels = gd.from_pandas(pd.Series(0, index=values.to_numpy()), npartitions=8, sort=False).index
    for attempt in range(3):
        table = pd.Series(shuffled(attempt), index=shuffled(attempt + 10))
        one = gd.from_pandas(table, npartitions=1, sort=False)
        wanted = pd.Series(table.loc[values.to_numpy()].to_numpy(), name="v")
        table = pd.Series(table.to_numpy(), index=table.index.to_numpy())  # whose labels nobody has looked for
        if how == "map":
            found = lazy.map(one)
        elif how == "map of pandas":
            found = lazy.map(table)
        elif how == "index.map":
            found, wanted = labels.map(one), pd.Index(wanted.to_numpy())
        elif how == "map_partitions":
            found = lazy.map_partitions(looked_up, one, meta=("v", "int64"))
        else:
            found = lazy.map_partitions(looked_up, table, meta=("v", "int64"))
        assert_same(found.compute(scheduler="threads"), wanted)


def in_own(block: pd.DataFrame, table: int) -> pd.DataFrame:
    return block.loc[shuffled(table)]


@pytest.mark.parametrize("holder", ["persisted", "one task", "index"])
def test_tasks_that_look_labels_up_in_their_own_partition_find_all_of_one_that_they_share(holder):
    for attempt in range(3):
        plain = pd.DataFrame({"v": shuffled(attempt)}, index=pd.Index(shuffled(attempt + 10), name="k"))
        lazy = gd.from_pandas(plain, npartitions=1, sort=False)
        if holder == "persisted":
            lazy = lazy.persist(scheduler="threads")
        elif holder == "one task":
            lazy = lazy.map_partitions(lambda block: block[block.v >= 0], meta=plain.iloc[:0]).sort_values("v")
        if holder == "index":
            shared = lazy.index.persist(scheduler="threads")
            parts = [
                shared.map_partitions(lambda labels, seed=seed: labels.get_indexer(shuffled(seed)), meta=np.array([0]))
                for seed in range(8)
            ]
            wanted = [plain.index.get_indexer(shuffled(seed)) for seed in range(8)]
            for got, expected in zip(on_threads(parts), wanted, strict=True):
                assert np.array_equal(got, expected)
            continue
        parts = [lazy.map_partitions(in_own, seed, meta=plain.iloc[:0]) for seed in range(8)]
        expected = plain.sort_values("v") if holder == "one task" else plain
        for seed, got in enumerate(on_threads(parts)):
            assert_same(got, expected.loc[shuffled(seed)])


def on_threads(parts):
    return glassloom.compute(*parts, scheduler="threads")


LABELS = {
    "integers": pd.Index([3, 1, 2], name="k"),
    "texts": pd.Index(["b", "a", None]),
    "times": pd.date_range("2020", periods=3, freq="D", tz="Europe/Berlin"),
    "periods": pd.period_range("2020", periods=3, freq="M"),
    "categories": pd.CategoricalIndex(["b", "a", "b"], name="c"),
    "intervals": pd.interval_range(0, 3),
    "levels": pd.MultiIndex.from_arrays([[1, 1, 2], ["a", "b", None]], names=["i", "j"]),
    "objects": pd.Index([(1,), [2], "x"], dtype=object),
}


@pytest.mark.parametrize("name", LABELS)
def test_a_task_has_labels_of_its_own(name):
    labels = LABELS[name]
    frame = pd.DataFrame({"v": [1, 2, 3], "c": pd.Categorical(["x", "y", "x"])}, index=labels)
    for value in (frame, frame.v, labels):
        own = with_own_labels(value)
        assert_same(own, value)
        assert tokenize(own) == tokenize(value)
        kept = own if isinstance(own, pd.Index) else own.index
        assert getattr(kept, "freq", None) == getattr(labels, "freq", None)
        assert getattr(kept, OF_RESULT).is_(labels)
        assert kept._engine is not labels._engine
    assert not hasattr(labels, OF_RESULT) and not hasattr(frame.index, OF_RESULT)


@pytest.mark.skipif(LOOKS_UP_SAFELY, reason="since pandas 3.1 tasks may share tables of labels")
@pytest.mark.parametrize("kind", ["pieces", "look-up", "totals", "bins"])
def test_a_task_has_labels_of_its_own_of_frames_that_objects_of_ours_hold(kind):
    frame = pd.DataFrame({0: [1, 2], 1: [3, 4], 5: [5, 6]}, index=pd.Index([5, 6]))
    value, name = {
        "pieces": (split(frame, np.array([1, 0]), 2), "frame"),
        "look-up": (Lookup.of((0,), [frame]), "frame"),
        "totals": (Totals([frame[0]], frame), "values"),
        "bins": (Binned(frame, 0, 0, None, None, None, None), "result"),
    }[kind]
    own = read_only_view(value)
    assert type(own) is type(value)
    mine, shared = getattr(own, name), getattr(value, name)
    assert_same(mine, shared)
    assert mine.columns._engine is not shared.columns._engine
    assert mine.index._engine is not shared.index._engine
    assert getattr(value, name) is shared
    assert read_only_view([value])[0] is not value


def test_labels_that_many_tasks_look_up_in_have_one_table():
    frame = pd.DataFrame({"v": [1, 2, 3]}, index=pd.Index([5, 6, 7]))
    several = [with_own_labels(frame) for _ in range(3)]
    for own in several:
        ready_to_look_up([pd.Series([1]), {"x": own}])
        assert own.index._engine is frame.index._engine
    assert frame.index._engine.is_mapping_populated
    partition = with_own_labels(frame)
    ready_to_look_up([partition, 1])
    assert partition.index._engine is not frame.index._engine

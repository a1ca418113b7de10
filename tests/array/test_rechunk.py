"""Other blocks: the same elements, by way of blocks in between where a task would need too much."""

import math
from itertools import pairwise

import glassloom.array as ga
import numpy as np
import pytest
from array_strategies import arrays, chunks_of, shapes
from glassloom.array.chunks import starts
from glassloom.array.ops.rechunk import Merge, Split
from glassloom.array.ops.rechunk_plan import default_limit, need, plan
from glassloom.errors import ChunkError, OptionError
from glassloom.expr import lower, optimize, walk
from hypothesis import assume, given
from hypothesis import strategies as st

ROWS, COLUMNS = ((1,) * 400, (400,)), ((400,), (1,) * 400)


def needed(old, new, itemsize):
    """What the task of each new block needs, counted block by block."""
    largest = n_reads = 0
    for index in np.ndindex(*map(len, new)):
        read, count = 1, 1
        for axis, number in enumerate(index):
            begin = starts(new[axis])[number]
            end = begin + new[axis][number]
            olds = list(zip(starts(old[axis]), old[axis], strict=True))
            touched = [length for start, length in olds if start < end and start + length > begin]
            read, count = read * sum(touched), count * len(touched)
        made = math.prod(axis[number] for axis, number in zip(new, index, strict=True))
        largest, n_reads = max(largest, read + made), n_reads + count
    return largest * itemsize, n_reads


full_blocks = st.lists(st.integers(1, 9), min_size=1, max_size=8).map(tuple)


@st.composite
def two_chunkings(draw):
    old = tuple(draw(st.lists(full_blocks, min_size=1, max_size=3)))
    new = []
    for blocks in old:
        ends = draw(st.sets(st.integers(1, max(1, sum(blocks) - 1)), max_size=8))
        edges = sorted({0, sum(blocks), *(end for end in ends if end < sum(blocks))})
        new.append(tuple(stop - start for start, stop in pairwise(edges)))
    return old, tuple(new)


@given(two_chunkings())
def test_what_a_stage_is_said_to_need_is_at_least_what_its_tasks_need(case):
    old, new = case
    largest, n_reads = needed(old, new, 8)
    said = need(old, new, 8)
    assert said.n_reads == n_reads
    assert said.n_tasks == math.prod(map(len, new))
    assert said.task_bytes >= largest


@given(two_chunkings(), st.integers(8, 20_000))
def test_plans_keep_to_the_limit_where_any_number_of_stages_does(case, limit_bytes):
    old, new = case
    stages = plan(old, new, 8, limit_bytes)
    assert stages[-1] == new
    for chunks in stages:
        assert [sum(blocks) for blocks in chunks] == [sum(blocks) for blocks in old]
    most = max(need(before, after, 8).task_bytes for before, after in pairwise([old, *stages]))
    assert most <= max(limit_bytes, need(old, new, 8).task_bytes)


def test_from_rows_to_columns_tasks_and_reads_grow_little_faster_than_blocks():
    assert default_limit(ROWS, COLUMNS, 8) == 2**30
    small = 400 * 8 * 30
    stages = plan(ROWS, COLUMNS, 8, small)
    needs = [need(before, after, 8) for before, after in pairwise([ROWS, *stages])]
    assert all(each.task_bytes <= small for each in needs)
    assert sum(each.n_reads for each in needs) < 400 * 400 / 5
    assert sum(each.n_tasks for each in needs) < 4 * 400
    assert need(ROWS, COLUMNS, 8).n_reads == 400 * 400


def test_neighbouring_blocks_are_joined_at_once():
    old, new = ((10,) * 20, (10,) * 20), ((30,) * 6 + (20,), (30,) * 6 + (20,))
    assert plan(old, new, 8, 2**30) == [new]


def test_a_rechunk_runs_in_stages():
    x = ga.random.default_rng(1).random((400, 400), chunks=ROWS)
    lazy = x.rechunk(COLUMNS, limit="100 kB")
    layers = [node for node in walk(optimize([lazy.expr])) if node.label in ("rechunk", "split")]
    assert len(layers) >= 2
    graph, _ = lower(optimize([lazy.expr]))
    assert max(len(task.deps) for task in graph.tasks.values()) < 40
    np.testing.assert_array_equal(lazy.compute(scheduler="inline"), x.compute(scheduler="inline"))


def test_a_limit_that_cant_be_kept_is_an_error():
    x = ga.ones((400, 400), chunks=ROWS)
    with pytest.raises(ChunkError, match=r"limit=\S+ KiB is too little to go from .*: a task needs \S+ KiB"):
        x.rechunk(COLUMNS, limit=4000)
    with pytest.raises(OptionError, match="'much' is not a size in bytes"):
        x.rechunk(COLUMNS, limit="much")


@given(st.data(), shapes)
def test_rechunked_arrays_have_the_same_elements_in_the_blocks_asked_for(data, shape):
    values, x = data.draw(arrays(st.just(shape)))
    first, last = data.draw(chunks_of(shape)), data.draw(chunks_of(shape))
    lazy = (x + 0).rechunk(first).rechunk(last)
    assert lazy.chunks == last
    np.testing.assert_array_equal(lazy.compute(scheduler="inline"), values + 0)


@given(two_chunkings(), st.integers(0, 2000))
def test_stages_have_the_same_elements(case, slack):
    old, new = case
    assume(old != new)
    values = np.arange(math.prod(map(sum, old))).reshape([sum(blocks) for blocks in old])
    x = ga.from_array(values, chunks=old).map_blocks(np.copy)
    node = Merge(x.expr, new, slack + 8)
    stages = ga.Array(node)
    np.testing.assert_array_equal(stages.compute(scheduler="inline"), values)


def test_blocks_of_any_kind_are_joined():
    masked = np.ma.masked_array(np.arange(12).reshape(3, 4), mask=np.arange(12).reshape(3, 4) % 5 == 0)
    lazy = ga.from_array(masked, chunks=2).map_blocks(lambda block: block.copy()).rechunk(((1, 2), (3, 1)))
    found = lazy.compute(scheduler="inline")
    assert type(found) is np.ma.MaskedArray
    np.testing.assert_array_equal(found.filled(-1), masked.filled(-1))


def test_bytes_and_auto_say_how_large_blocks_are():
    x = ga.ones((4000, 4000), chunks=1000)
    assert x.rechunk("1 MiB").chunksize == (334, 364)
    assert x.rechunk({0: "auto", 1: 4000}).chunks == ((4000,), (4000,))
    assert isinstance(ga.random.default_rng(1).random((8, 8), chunks=4).rechunk(2).expr, Split)

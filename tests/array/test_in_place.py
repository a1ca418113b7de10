"""Results on threads: blocks are written to one array as they are made, and it is the one that is put together without."""

import gc
import weakref

import glassloom as gl
import glassloom.array as ga
import numpy as np
import pytest
from array_strategies import arrays, chunks_of, full_shapes
from glassloom.array.ops import in_place
from glassloom.array.ops.in_place import InPlace
from glassloom.errors import ChunkError
from glassloom.expr import lower, optimize
from glassloom.local.synchronous import SynchronousRuntime
from hypothesis import given
from hypothesis import strategies as st

BYTE_ORDERS = ("float64", ">f8", "int16", "complex128", "bool")


@pytest.fixture(autouse=True)
def small_blocks_count(monkeypatch):
    monkeypatch.setattr(in_place, "MIN_BLOCK_BYTES", 0)


def written(lazy):
    """Whether the blocks would be written to the result."""
    (root,) = optimize([lazy.expr])
    return isinstance(root.in_place(root), InPlace)


def put_together(lazy):
    """The result without `InPlace`."""
    (root,) = optimize([lazy.expr])
    graph, (keys,) = lower([root])
    return root.assemble(SynchronousRuntime().get(graph, keys))


def same(one, other):
    assert type(one) is type(other)
    assert one.dtype == other.dtype
    np.testing.assert_array_equal(one, other)


@given(arrays(shape=full_shapes, dtypes=BYTE_ORDERS), st.data())
def test_what_is_written_is_what_would_be_put_together(pair, data):
    array, lazy = pair
    chunks = data.draw(chunks_of(array.shape))
    for made in (lazy, lazy.T, lazy[::2], lazy + lazy, lazy.rechunk(chunks), lazy.cumsum(axis=0)):
        for scheduler in ("threads", "inline"):
            same(made.compute(scheduler=scheduler), put_together(made))


def test_large_arrays_of_several_known_blocks_are_written_and_no_others(monkeypatch):
    x = ga.ones((8, 8), chunks=4)
    assert written(x)
    assert written(x.rechunk((8, 2)))
    assert not written(x.rechunk(8))
    assert not written(x[x > 0])
    assert not written(x.astype(object))
    assert not written(ga.ma.masked_equal(x, 1))
    monkeypatch.setattr(in_place, "MIN_BLOCK_BYTES", 129)
    assert not written(x)


@pytest.mark.parametrize("scheduler", ["threads", "inline"])
def test_blocks_of_another_type_than_was_said_decide_the_type_as_they_do_elsewhere(scheduler):
    x = ga.arange(8, chunks=2)
    said_wrongly = x.map_blocks(lambda block: block * (1.5 if block[0] else 1), dtype=x.dtype)
    assert written(said_wrongly)
    same(said_wrongly.compute(scheduler=scheduler), put_together(said_wrongly))


@pytest.mark.parametrize("scheduler", ["threads", "inline"])
def test_blocks_of_another_shape_than_was_said_are_an_error(scheduler):
    x = ga.ones(8, chunks=2).map_blocks(lambda block: block[:1], dtype=float)
    with pytest.raises(ChunkError, match=r"has the shape \(1,\), but its chunks say \(2,\)"):
        x.compute(scheduler=scheduler)


@pytest.mark.parametrize("scheduler", ["threads", "inline"])
def test_equal_arrays_computed_together_and_again_are_arrays_of_their_own(scheduler):
    x = ga.ones((4, 4), chunks=2)
    one, other = gl.compute(x, x, scheduler=scheduler)
    again = x.compute(scheduler=scheduler)
    one[...] = 5
    same(other, np.ones((4, 4)))
    same(again, np.ones((4, 4)))


def test_results_of_persisted_arrays_may_be_changed():
    held = ga.ones((4, 4), chunks=2).persist(scheduler="threads")
    held.compute(scheduler="threads")[...] = 5
    same(held.compute(scheduler="threads"), np.ones((4, 4)))


@pytest.mark.parametrize("scheduler", ["threads", "inline"])
def test_a_result_that_was_dropped_is_freed_at_once(scheduler):
    gc.disable()
    try:
        made = ga.ones((4, 4), chunks=2).compute(scheduler=scheduler)
        alive = weakref.ref(made)
        del made
        assert alive() is None
    finally:
        gc.enable()


def test_blocks_are_let_go_as_they_are_written():
    alive = []

    def make(block):
        made = block + 1
        alive.append(weakref.ref(made))
        most.append(sum(other() is not None for other in alive))
        return made

    most = []
    result = ga.ones(4000, chunks=10).map_blocks(make, dtype=float).compute(scheduler="inline")
    same(result, np.full(4000, 2.0))
    assert len(most) == 400
    assert max(most) < 5


def test_an_error_of_a_block_names_the_block_that_failed():
    def fail(block):
        raise ValueError("no good")

    x = ga.ones(8, chunks=2).map_blocks(fail, dtype=float, meta=np.empty(0))
    with pytest.raises(ValueError, match="no good") as caught:
        x.compute(scheduler="threads")
    assert "fail" in "".join(caught.value.__notes__)

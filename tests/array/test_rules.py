"""Rewriting never changes what comes out: shape, type, chunks and values of any expression are those of NumPy."""

import glassloom.array as ga
import numpy as np
import pytest
from array_strategies import arrays, chunks_of, indices_of
from glassloom.array.ops.products import BlockProducts
from glassloom.array.ops.reductions import Aggregate, ReduceBlocks
from glassloom.array.ops.shapes import Transpose
from glassloom.array.ops.slicing import Slice, Take, TakeWithin
from glassloom.expr import lower, optimize, simplify, walk
from hypothesis import given, settings
from hypothesis import strategies as st
from long_tests import examples

REDUCTIONS = ["sum", "mean", "min", "max", "std", "argmin", "argmax", "any"]


def simple(lazy):
    (node,) = simplify([lazy.expr])
    return node


def labels(lazy):
    return [node.label for node in walk([simple(lazy)])]


@st.composite
def expressions(draw):
    """A NumPy array and the same as a lazy one, made by steps that rules look at."""
    pool = [draw(arrays(st.just((4, 6)), ["float64", "int64"])) for _ in range(2)]
    for _ in range(draw(st.integers(2, 7))):
        (x, lazy_x), (y, lazy_y) = pool[-1], draw(st.sampled_from(pool))
        kind = draw(
            st.sampled_from(
                ["add", "scale", "transpose", "slice", "take", "reduce", "join", "stack", "broadcast", "rechunk", "matmul", "newaxis"]
            )
        )  # fmt: skip
        axis = draw(st.integers(0, max(x.ndim - 1, 0)))
        keepdims = draw(st.booleans())
        made = None
        if kind == "add":
            made = lambda x, y, xp: x + y  # noqa: E731
        elif kind == "scale":
            made = lambda x, y, xp: x * 3 - 1  # noqa: E731
        elif kind == "transpose":
            order = draw(st.permutations(range(x.ndim)))
            made = lambda x, y, xp, order=order: x.transpose(order) if order else x  # noqa: E731
        elif kind == "slice":
            index = draw(indices_of(x.shape))
            made = lambda x, y, xp, index=index: x[index]  # noqa: E731
        elif kind == "take" and x.ndim and x.shape[axis]:
            positions = draw(st.lists(st.integers(0, x.shape[axis] - 1), max_size=5))
            made = lambda x, y, xp, p=positions, axis=axis: xp.take(x, np.array(p, dtype=int), axis=axis)  # noqa: E731
        elif kind == "reduce" and x.size:
            name = draw(st.sampled_from(REDUCTIONS))
            axes = axis if name.startswith("arg") else draw(st.sampled_from([axis, None, tuple(range(x.ndim))]))
            if x.ndim:
                made = lambda x, y, xp, n=name, a=axes, k=keepdims: getattr(xp, n)(x, axis=a, keepdims=k)  # noqa: E731
        elif kind == "join" and x.ndim:
            made = lambda x, y, xp, axis=axis: xp.concatenate([x, y], axis=axis)  # noqa: E731
        elif kind == "stack":
            made = lambda x, y, xp, axis=axis: xp.stack([x, y, x], axis=axis)  # noqa: E731
        elif kind == "broadcast":
            shape = tuple(3 if n == 1 else n for n in x.shape)
            made = lambda x, y, xp, shape=(2, *shape): xp.broadcast_to(x, shape)  # noqa: E731
        elif kind == "rechunk":
            chunks = draw(chunks_of(x.shape))
            made = lambda x, y, xp, c=chunks: x if xp is np else x.rechunk(c)  # noqa: E731
        elif kind == "matmul" and x.ndim and y.ndim:
            made = lambda x, y, xp: xp.matmul(x, y)  # noqa: E731
        elif kind == "newaxis":
            made = lambda x, y, xp, axis=axis: xp.expand_dims(x, axis)  # noqa: E731
        if made is None:
            continue
        try:
            with np.errstate(all="ignore"):
                new = np.asarray(made(x, y, np))
        except ValueError:
            continue
        if new.size < 2000 and new.ndim < 5:
            pool.append((new, made(lazy_x, lazy_y, ga)))
    expected, lazy = pool[-1]
    index = draw(indices_of(expected.shape))
    return np.asarray(expected[index]), lazy[index]


@settings(max_examples=examples(500))
@given(expressions())
def test_simplified_expressions_have_the_shape_type_chunks_and_values_of_the_original(case):
    expected, lazy = case
    node = simple(lazy)
    assert (node.shape, node.dtype, node.chunks) == (lazy.shape, lazy.dtype, lazy.chunks)
    with np.errstate(all="ignore"):
        found = np.asarray(lazy.compute(scheduler="inline"))
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


@pytest.fixture
def x():
    return ga.random.default_rng(1).normal(size=(40, 30), chunks=10)


def n_tasks(lazy):
    return len(lower(optimize([lazy.expr]))[0])


def test_a_slice_of_a_reduction_reduces_only_what_it_needs(x):
    assert labels(x.sum(axis=0)[:10]) == ["normal", "slice", "sum", "sum-aggregate"]
    assert n_tasks(x.sum(axis=0)[:10]) == 4 + 1
    assert simple(x.mean(axis=0)[3]).array.array.array.index == (None, range(3, 4))
    assert simple(x.std(axis=1, keepdims=True)[::2]).array.array.index == (range(0, 40, 2), None)
    assert isinstance(simple(x.argmax(axis=0)[2:4]), Aggregate)


def test_a_slice_of_what_somebody_else_needs_whole_is_not_made_twice(x):
    total = x.sum(axis=0)
    made = simple(total[:10] + total[10:20])
    assert [type(node) for node in made.dependencies] == [Slice, Slice]
    assert n_tasks(total[:10] + total[10:20]) == 8 + 2 + 1  # the third column of blocks is not read
    product = (x @ x.T) + 1
    assert simple(product[:10] - product[10:20]).dependencies[0].array.name == simple(product).name


def test_a_users_reduction_sees_whole_blocks(x):
    total = ga.reduction(x, np.sum, np.sum, axis=0, dtype=float)
    assert isinstance(simple(total[:10]), Slice)


def test_a_slice_of_joined_arrays_leaves_the_others_alone(x):
    joined = ga.concatenate([x, x * 2, x * 3])
    assert simple(joined[45:70, ::-1]).name == simple((x * 2)[5:30, ::-1]).name
    assert labels(joined[35:45]) == ["normal", "slice", "slice", "multiply", "concatenate"]
    assert simple(ga.stack([x, x * 2], axis=1)[:, 1]).name == simple(x * 2).name


def test_a_slice_of_joined_arrays_keeps_its_chunks_where_some_are_empty():
    x, y = ga.ones(3, chunks=((0, 2, 0, 1),)), ga.random.default_rng(1).random(3, chunks=((0, 3),))
    for lazy in (ga.concatenate([x, y])[1:], ga.concatenate([y, x])[::-1], ga.concatenate([y, y])[:6:2]):
        assert simple(lazy).chunks == lazy.chunks
        lazy.compute(scheduler="inline")


def test_a_slice_of_a_product_is_a_product_of_slices(x):
    made = simple((x @ x.T)[:10, 5:15])
    products = made.array.array
    assert (type(made.array), type(products)) == (ReduceBlocks, BlockProducts)
    assert (products.left.shape, products.right.shape) == ((10, 30), (30, 10))
    assert n_tasks((x @ x.T)[:10, :10]) < n_tasks(x @ x.T) / 3


def test_a_slice_goes_below_a_rechunk_that_nobody_else_reads(x):
    assert labels(x.rechunk(8)[:8, :8]) == ["normal", "slice"]
    assert n_tasks(x.rechunk(7)[:9, :9]) == 1 + 4  # one old block, four new ones
    assert labels(x.rechunk(7)[::-1])[-2:] == ["rechunk", "slice"]


def test_a_slice_goes_below_what_is_repeated(x):
    assert labels(ga.broadcast_to(x[:1], (40, 30))[3:9, 4]) == ["normal", "slice", "broadcast"]
    assert simple(ga.broadcast_to(x, (5, 40, 30))[2]).name == x.name


def test_positions_are_taken_before_elements_are_computed(x):
    made = simple((x + 1)[:, [1, 25, 3]])
    assert [type(node) for node in walk([made])][1] in (Take, TakeWithin)
    assert made.label == "add"
    assert simple((x + 1)[:, [1] * 31]).label == "take"  # more than there is


def test_transpositions_come_last_and_go_away(x):
    assert simple((x.T + x.T * 2).T).name == simple(x + x * 2).name
    assert isinstance(simple(ga.sqrt(x.T) + 1), Transpose)
    assert simple((x.T + 1).sum()).name == simple((x + 1).sum()).name
    assert simple(x.T.sum(axis=0)).name == simple(x.sum(axis=1)).name
    assert simple((x + x.T[:30, :30][:1]).T).label == "transpose"
    assert "transpose" in labels(x.T.argmax())  # the first of equal ones

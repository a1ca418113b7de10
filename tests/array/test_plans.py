"""What an expression becomes before it runs: which tasks there are, and what each does."""

import glassloom.array as ga
import numpy as np
import pytest
from array_strategies import equal
from glassloom.array.ops.elementwise import Elementwise
from glassloom.array.ops.rechunk import Merge
from glassloom.expr import Fused, lower, optimize, simplify, walk
from glassloom.graph import layer_name


def steps(*arrays):
    """The optimised plan: for each layer its operations (those of a fused task in order) and its number of tasks."""
    found = []
    for node in walk(optimize([array.expr for array in arrays])):
        operations = [member.label for member, _ in node.members] if isinstance(node, Fused) else [node.label]
        found.append((" ".join(operations), node.n_tasks))
    return found


def simple(array):
    (node,) = simplify([array.expr])
    return node


@pytest.fixture
def draw():
    return ga.random.default_rng(12)


def test_w1_is_one_task_a_chunk_and_the_tree(draw):
    x = draw.normal(10, 1, size=(500_000, 500_000), chunks=(10_000, 10_000))
    assert steps((x + 1)[::2, ::2].sum()) == [
        ("normal slice add sum", 2500),
        ("sum-combine", 169),
        ("sum-combine", 16),
        ("sum-aggregate", 1),
    ]


def test_w6_is_one_task_a_chunk_and_the_tree(draw):
    n = 1000
    xy = draw.uniform(size=(n, 2), chunks=n // 10)
    pi = 4 * ((xy**2).sum(axis=1) < 1).sum() / n
    assert steps(pi) == [
        ("uniform square sum sum-aggregate less sum", 10),
        ("sum-aggregate", 1),
        ("multiply divide", 1),
    ]
    assert pi.compute() == pytest.approx(3.14, abs=0.3)


def test_a_chain_of_elementwise_operations_is_one_task_a_chunk():
    x = ga.ones((4, 4), chunks=2)
    assert steps(ga.sqrt(x * 2 + x) - x.T) == [
        ("ones", 4),
        ("multiply add sqrt transpose subtract", 4),
    ]


def test_a_block_that_two_tasks_need_is_made_once(draw):
    x = draw.random((4, 4), chunks=(2, 4))
    assert steps((x + x.T).sum()) == [
        ("random", 2),
        ("transpose", 2),
        ("split split add sum", 4),
        ("sum-aggregate", 1),
    ]


def test_only_the_chunks_that_a_slice_touches_are_made(draw):
    x = draw.normal(size=(100, 100), chunks=10)
    graph, _ = lower(optimize([(x + 1)[25:45, 99].expr]))
    assert [layer_name(key[0]) for key in graph.tasks] == ["add"] * 3
    assert list(graph.labels.values()) == ["normal-slice-add"]


def test_a_slice_of_a_slice_is_one_slice(draw):
    x = draw.normal(size=(100, 100), chunks=10)
    made = simple(x[10:90:2][5:20, ::-3])
    assert (made.label, made.array.label) == ("slice", "normal")
    assert made.index == (range(20, 50, 2), range(99, -3, -3))


def test_slices_go_below_elementwise_operations_but_never_into_draws(draw):
    x, y = draw.normal(size=(10, 8), chunks=5), ga.ones(8, chunks=5)
    made = simple((x * 2 + y)[3, ::2])
    assert isinstance(made, Elementwise)
    assert [node.label for node in walk([made])] == ["normal", "slice", "multiply", "ones", "add"]
    assert made.shape == (4,)


@pytest.mark.parametrize(
    ("sliced", "whole"),
    [
        (ga.ones((10, 8), chunks=4)[2:9, 3], ga.ones(7, chunks=((2, 4, 1),))),
        (ga.full(9, 2.5, chunks=4)[::-1], ga.full(9, 2.5, chunks=((1, 4, 4),))),
    ],
)
def test_a_slice_of_one_value_is_a_smaller_array_of_it(sliced, whole):
    assert simple(sliced).name == whole.name


def test_a_slice_of_a_range_is_a_range():
    made = simple(ga.arange(5, 100, 3, chunks=10)[4::2])
    assert (made.label, made.first, made.stride) == ("arange", 4, 2)


def test_a_slice_of_an_array_in_memory_is_a_view_of_it():
    array = np.arange(40).reshape(8, 5)
    lazy = ga.from_array(array, chunks=3)[1:7:2, ::-1][1:]
    made = simple(lazy)
    assert made.label == "from-array"
    assert all(np.shares_memory(task.args[0], made.source.array) for task in made.tasks().values())
    equal(lazy, array[1:7:2, ::-1][1:])


def test_slices_go_below_transposes_and_new_axes(draw):
    x = draw.normal(size=(10, 8), chunks=4)
    assert [node.label for node in walk([simple(x.T[2:4, 1])])] == ["normal", "slice"]
    assert [node.label for node in walk([simple(x[:, None].T[2:4])])] == ["normal", "slice", "newaxis", "transpose"]


def test_transposing_twice_is_nothing(draw):
    x = draw.normal(size=(10, 8, 3), chunks=4)
    assert simple(x.T.T).name == x.name
    assert simple(x.transpose(1, 2, 0).transpose(2, 0, 1)).name == x.name
    assert x.transpose(0, 1, 2).name == x.name


def test_only_the_last_rechunk_counts(draw):
    x = draw.normal(size=(12, 12), chunks=4)
    assert x.rechunk(4).name == x.name
    assert simple(x.rechunk(3).rechunk(5)).name == x.rechunk(5).name
    assert simple(x.rechunk(3).rechunk(4)).name == x.name
    assert isinstance(simple(x.rechunk(5)), Merge)


def test_arrays_made_of_nothing_are_made_in_the_right_chunks_at_once():
    assert simple(ga.ones(12, chunks=4).rechunk(5)).name == ga.ones(12, chunks=5).name
    assert simple(ga.arange(12, chunks=4).rechunk(5)).name == ga.arange(12, chunks=5).name
    made = simple(ga.from_array(np.arange(12), chunks=4).rechunk(5))
    assert (made.label, made.chunks) == ("from-array", ((5, 5, 2),))


def test_cutting_chunks_is_part_of_the_consumers_task(draw):
    x = draw.normal(size=(4, 4), chunks=4)
    assert steps(x.rechunk(2) + 1) == [("normal", 1), ("split add", 4)]


def five_neighbours(x, weights=1):
    return x[1:-1, 1:-1] * 4 * weights - x[:-2, 1:-1] - x[2:, 1:-1] - x[1:-1, :-2] - x[1:-1, 2:]


def test_a_stencil_of_two_axes_is_one_task_a_piece_of_what_it_reads(draw):
    x = draw.random((20, 20), chunks=10)
    assert steps(five_neighbours(x).sum()) == [
        ("random", 4),
        *[("slice", 4)] * 5,
        ("split multiply multiply split subtract split subtract split subtract split subtract sum", 16),
        ("sum-aggregate", 1),
    ]


def test_stencils_of_several_arrays_and_of_repeated_ones_have_numpys_values():
    rng = np.random.default_rng(5)
    x, y, row, one = rng.random((17, 13)), rng.random((15, 11)), rng.random(11), rng.random((1, 1))
    cut = [ga.from_array(array, chunks=4) for array in (x, y, row, one)]
    for weights, lazy in zip((y, row, one), cut[1:], strict=True):
        equal(five_neighbours(cut[0], lazy), five_neighbours(x, weights))
    around, lazy_around = (
        sum(xp.roll(v, by, axis) for by in (-1, 1) for axis in (0, 1)) - 4 * v for xp, v in ((np, x), (ga, cut[0]))
    )
    equal(lazy_around, around)


def test_what_two_arrays_become_is_made_before_it_is_cut_if_nobody_else_reads_them(draw):
    """Else both would be held, a block each, where one block is."""
    x, y = draw.random((20, 20), chunks=10), draw.random((20, 20), chunks=10)
    assert steps((x * y + ga.ones((20, 20), chunks=5)).sum()) == [
        ("random random multiply", 4),
        ("split ones add sum", 16),
        ("sum-aggregate", 1),
    ]


@pytest.mark.parametrize(("split_every", "layers"), [(2, 6), (4, 3), (64, 1)])
def test_split_every_says_how_many_blocks_a_task_joins(split_every, layers):
    tree = steps(ga.ones((8, 8), chunks=1).sum(split_every=split_every))[1:]
    assert [count for _, count in tree][-1] == 1
    assert len(tree) <= layers


def test_a_mean_of_whole_rows_stays_one_task_a_chunk():
    x = ga.ones((6, 4), chunks=(2, 4))
    assert steps(x - x.mean(axis=1, keepdims=True)) == [("ones mean mean-aggregate subtract", 3)]


def test_equal_expressions_have_equal_names():
    def make():
        x = ga.random.default_rng(1).normal(size=10, chunks=3)
        return [(x + 1)[::2].sum(), x.reshape(5, 2) @ x.reshape(2, 5), x.map_blocks(np.sort), ga.stack([x, x])]

    assert [array.name for array in make()] == [array.name for array in make()]


def test_the_plan_counts_its_tasks_without_making_them(draw):
    x = draw.normal(size=(40, 40), chunks=4)
    for array in (x.T @ (x + 1), (x + x.T).sum(axis=0), x.rechunk(7) - 1, ga.concatenate([x, x])):
        nodes = optimize([array.expr])
        graph, _ = lower(nodes)
        assert sum(node.n_tasks for node in walk(nodes)) == len(graph)


SYMMETRIC = {
    "x.T @ x": lambda x, xp: x.T @ x,
    "x @ x.T": lambda x, xp: x @ x.T,
    "tensordot": lambda x, xp: xp.tensordot(x, x, axes=((0,), (0,))),
    "transposed first": lambda x, xp: x.T @ x.T.T,
}


@pytest.mark.parametrize("dtype", ["float64", "complex128", "int64", "bool"])
@pytest.mark.parametrize("name", SYMMETRIC)
def test_of_a_matrix_times_its_transpose_only_one_triangle_of_blocks_is_made(name, dtype):
    x = (np.random.default_rng(3).normal(size=(9, 9)) * (3 + 1j)).real.astype(dtype)
    x = x + 1j * x.T if dtype == "complex128" else x
    lazy = SYMMETRIC[name](ga.from_array(x, chunks=((2, 3, 4), (2, 3, 4))), ga)
    graph, _ = lower(optimize([lazy.expr]))
    assert [layer_name(key[0]) for key in graph.tasks].count("dot") == 6 * 3  # blocks of one triangle, of each sum
    equal(lazy, SYMMETRIC[name](x, np), rtol=1e-12, atol=1e-12)
    equal(lazy[1:4, ::-2], SYMMETRIC[name](x, np)[1:4, ::-2], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    "product",
    [
        lambda x, xp: x @ x,
        lambda x, xp: x.T @ (x + 1),
        lambda x, xp: xp.tensordot(x, x.T, axes=((0,), (0,))),
        lambda x, xp: xp.tensordot(x, x, axes=((0,), (1,))),
    ],
)
def test_other_products_are_made_whole(product):
    x = np.random.default_rng(3).normal(size=(6, 6))
    lazy = product(ga.from_array(x, chunks=2), ga)
    graph, _ = lower(optimize([lazy.expr]))
    assert [layer_name(key[0]) for key in graph.tasks].count("dot") == 9 * 3
    equal(lazy, product(x, np), rtol=1e-12, atol=1e-12)

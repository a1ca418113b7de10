"""What functions of the user's get beside their blocks: where the block is, and lazy values."""

import glassloom as gl
import glassloom.array as ga
import numpy as np
import pytest
from array_strategies import equal
from glassloom.errors import ChunkError


def test_block_info_says_where_each_block_is():
    def where(left, number, right, block_info=None):
        told = np.empty((left + right).shape, dtype=object)
        told[...] = block_info
        return told

    left = ga.arange(10, chunks=4).reshape(2, 5).rechunk((1, (2, 3)))
    right = ga.arange(5, chunks=((2, 3),))
    last = ga.map_blocks(where, left, 7, right).compute(scheduler="inline")[1, 4]
    assert last == {
        0: {"shape": (2, 5), "num-chunks": (2, 2), "array-location": [(1, 2), (2, 5)], "chunk-location": (1, 1)},
        2: {"shape": (5,), "num-chunks": (2,), "array-location": [(2, 5)], "chunk-location": (1,)},
        None: {
            "shape": (2, 5), "num-chunks": (2, 2), "array-location": [(1, 2), (2, 5)], "chunk-location": (1, 1),
            "chunk-shape": (1, 3), "dtype": np.dtype(object),
        },
    }  # fmt: skip


def test_the_documented_idiom_of_block_info():
    def first(block, block_info=None):
        return np.zeros_like(block) if block_info is None else block * 0 + block_info[0]["chunk-location"][0]

    equal(ga.ones(4, chunks=2).map_blocks(first), [0.0, 0, 1, 1])
    assert ga.map_blocks(lambda b, block_info: b, ga.ones(2), block_info=3).compute().sum() == 2  # the user's own


def test_blocks_are_made_of_nothing_but_their_place():
    def row(block_info=None, block_id=None):
        begin, end = block_info[None]["array-location"][0]
        assert block_id == block_info[None]["chunk-location"]
        return np.arange(begin, end)

    equal(ga.map_blocks(row, chunks=((4, 3),), dtype=int), np.arange(7))
    with pytest.raises(ChunkError, match="needs chunks"):
        ga.map_blocks(row, dtype=int)


@pytest.mark.parametrize("lazy", ["array", "delayed", "inside a list", "inside a dict"])
def test_lazy_arguments_are_passed_as_values(lazy):
    whole = ga.arange(6, chunks=2)
    value, read = {
        "array": (whole, lambda v: v.sum()),
        "delayed": (gl.delayed(int)(15), lambda v: v),
        "inside a list": ([whole, 3], lambda v: v[0].sum()),
        "inside a dict": ({"a": (whole,)}, lambda v: v["a"][0].sum()),
    }[lazy]
    x, expected = ga.ones((2, 4), chunks=(1, 2)), np.full((2, 4), 16.0)

    def add(block, value):
        assert not isinstance(value, (ga.Array, gl.Delayed))
        return block + read(value)

    told = {"dtype": float} if lazy == "delayed" else {}
    equal(ga.map_blocks(add, x, value=value, **told), expected)
    equal(ga.blockwise(add, "ij", x, "ij", value, None, **told), expected)
    equal(ga.blockwise(add, "ij", x, "ij", value=value, **told), expected)
    equal(ga.map_overlap(add, x, value=value, depth=1, boundary="reflect", **told), expected)
    equal(ga.apply_gufunc(add, "()->()", x, value=value, **({"output_dtypes": float} if told else {})), expected)
    gufunc = ga.apply_gufunc(lambda b, value: add(b, value).sum(-1), "(i)->()", x, value=value, output_dtypes=float)
    equal(gufunc, expected.sum(1))
    if lazy != "array":  # arrays among the arguments of these go block by block
        equal(ga.map_blocks(add, x, value, **told), expected)
        equal(ga.map_overlap(add, x, value, depth=1, boundary="reflect", **told), expected)


def test_a_function_of_what_is_not_known_yet_needs_a_type():
    with pytest.raises(ValueError, match="Say dtype"):
        ga.map_blocks(np.add, ga.ones(2), gl.delayed(int)(1))


def test_lazy_arguments_on_a_chain_and_between_arrays():
    x = ga.arange(6, chunks=2)
    mean = x.mean()
    made = ga.map_blocks(
        lambda a, factor, b, off: a * factor + b - off, x + 1, gl.delayed(int)(2), x, off=mean, dtype=float
    )
    equal(made[1:5] * 2, ((np.arange(6) + 1) * 2 + np.arange(6) - 2.5)[1:5] * 2)


def test_axes_of_several_blocks_are_joined_to_be_dropped():
    x = np.arange(24).reshape(2, 3, 4)
    lazy = ga.from_array(x, chunks=(1, 2, 3))
    equal(ga.map_blocks(lambda b: b.sum(1), lazy, drop_axis=1), x.sum(1))
    equal(ga.map_blocks(lambda b: b.sum((0, 2)), lazy, drop_axis=[0, -1]), x.sum((0, 2)))
    equal(ga.map_blocks(lambda b, c: (b * c).sum(0), lazy, lazy[:, :1], drop_axis=0), (x * x[:, :1]).sum(0))


def test_blocks_of_other_shapes_go_together_by_number():
    x, y = ga.arange(10, chunks=5), ga.arange(4, chunks=2)
    equal(ga.map_blocks(lambda a, b: np.array([a.max(), b.max()]), x, y, chunks=(2,), dtype=int), [4, 1, 9, 3])
    with pytest.raises(ValueError, match="don't broadcast"):
        ga.map_blocks(np.add, x, ga.arange(6, chunks=2))


def test_new_axes_in_front_are_taken_from_chunks():
    equal(ga.map_blocks(lambda b: b[None], ga.arange(4, chunks=2), chunks=(1, 2), dtype=int), [[0, 1, 2, 3]])


def test_names_and_numbers_of_axes():
    x = ga.ones(4, chunks=2)
    assert ga.map_blocks(abs, x, name="mine").name.startswith("mine-")
    assert ga.blockwise(np.negative, "i", x, "i", token="yours").name.startswith("yours-")
    with pytest.raises(ValueError, match="2 axes where 1"):
        ga.map_blocks(lambda b: b[None], x, dtype=float, enforce_ndim=True).compute()

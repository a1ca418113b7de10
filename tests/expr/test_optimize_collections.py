"""`glassloom.optimize`: collections that are equal to those that went in, with a better plan."""

from __future__ import annotations

import glassloom as gl
import glassloom.array as ga
import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pytest


def n_nodes(*collections: object) -> int:
    return len(gl.visualize(*collections, optimize_graph=False).nodes)


def test_a_plan_that_is_optimized_has_fewer_tasks_and_the_same_result() -> None:
    whole = (ga.arange(1000, chunks=10) + 1)[:20]
    (few,) = gl.optimize(whole)
    assert (n_nodes(whole), n_nodes(few)) == (6, 4)
    assert type(few) is ga.Array
    assert (few.shape, few.chunks, few.dtype) == (whole.shape, whole.chunks, whole.dtype)
    np.testing.assert_array_equal(few.compute(), np.arange(1, 21))


def test_what_is_optimized_can_be_built_upon_and_optimized_again() -> None:
    (few,) = gl.optimize((ga.ones((8, 8), chunks=4) * 3)[:4])
    (again,) = gl.optimize(few)
    assert again.name == few.name
    assert (few.T.sum() + 1).compute() == 97


def test_columns_are_read_only_where_they_are_needed() -> None:
    table = pd.DataFrame({"a": range(6), "b": range(6), "c": range(6)})
    chosen = gd.from_pandas(table, npartitions=2)[["a", "b"]][["b"]]
    (few,) = gl.optimize(chosen)
    assert n_nodes(few) < n_nodes(chosen)
    assert type(few) is type(chosen)
    pd.testing.assert_frame_equal(few.compute(), table[["b"]])
    assert few.b.max().compute() == 5


def test_several_collections_are_optimized_together_in_any_container() -> None:
    x = ga.arange(10, chunks=5)
    total = gl.delayed(sum)([1, 2])
    listed, other = gl.optimize([x + 1, {"total": total}], "kept")
    assert other == "kept"
    assert gl.compute(listed[0].sum(), listed[1]["total"]) == (55, 3)


@pytest.mark.parametrize("function", ["cumsum", "sum", "mean"])
def test_every_kind_of_reduction_survives_it(function: str) -> None:
    x = ga.arange(12, chunks=5).astype(float)
    (few,) = gl.optimize(getattr(x[2:], function)())
    np.testing.assert_allclose(few.compute(), getattr(np.arange(2.0, 12), function)())


def test_without_collections_arguments_come_back_as_they_are() -> None:
    assert gl.optimize(1, [2]) == (1, [2])

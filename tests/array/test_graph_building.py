"""Making a graph takes work in proportion to its tasks: counted, not timed."""

import glassloom.array as ga
import numpy as np
import pytest
from array_strategies import equal
from glassloom.array.ops.base import ArrayExpr
from glassloom.array.ops.overlap import window_pieces
from glassloom.expr import lower, optimize, simplify, walk
from glassloom.graph import Task, layer_name


class Counted(tuple):
    """Blocks that count how often one is looked at."""

    looks = 0

    def __getitem__(self, place):
        Counted.looks += 1
        return super().__getitem__(place)


def tasks_of(array):
    return lower(optimize([array.expr]))[0].tasks


def test_a_window_looks_only_at_the_blocks_that_it_reaches():
    blocks = Counted([10] * 1000)
    pieces = window_pieces([(start - 1, start + 11) for start in range(10, 9990, 10)], blocks)
    assert pieces[0] == [(0, slice(9, 10)), (1, slice(0, 10)), (2, slice(0, 1))]
    assert Counted.looks < 10 * len(pieces)


@pytest.mark.parametrize("window", [(0, 0), (3, 3), (7, 7)])
def test_a_window_without_elements_is_an_empty_piece(window):
    assert window_pieces([window], (3, 0, 4)) == [[(0, slice(0, 0))]]


def test_blocks_without_elements_are_no_pieces_of_a_window():
    assert window_pieces([(2, 5)], (0, 3, 0, 4)) == [[(1, slice(2, 3)), (3, slice(0, 2))]]


@pytest.mark.parametrize("positions", [np.arange(0, 3000, 7), np.arange(0, 3000, 7)[::-1], np.arange(3000) * 7 % 3000])
def test_positions_are_looked_up_in_arrays_made_once(positions, monkeypatch):
    looked_up = []
    search = np.searchsorted
    monkeypatch.setattr(
        np, "searchsorted", lambda where, *args, **kwargs: looked_up.append(where) or search(where, *args, **kwargs)
    )
    tasks_of(ga.ones(3000, chunks=3)[positions])
    kinds = [type(where) for where in looked_up]
    assert kinds.count(list) <= 2  # for all pieces together


def test_a_few_more_positions_than_a_block_has_elements_make_no_task_for_each_block_that_is_read():
    positions = np.sort([*range(0, 1000, 5), *[503] * 15])
    taken = ga.ones(1000, chunks=10)[positions]
    assert len(tasks_of(taken)) == taken.npartitions == 100
    equal(taken, np.ones(1000)[positions])
    assert max(ga.ones(1000, chunks=10)[[503] * 35].chunks[0]) == 10


def test_a_block_that_no_assignment_changes_has_no_task_for_it():
    x = ga.zeros(1000, chunks=10)
    for number in range(30):
        x[10 * number + 3] = number
    made = [layer_name(key[0]) for key in tasks_of(x + 1)]
    assert made.count("assign") == 30
    assert len(made) == 30 + 30 + 100 + 100  # values, assignments, zeros, sums
    expected = np.ones(1000)
    expected[3:300:10] += np.arange(30)
    equal(x + 1, expected)


def test_blocks_of_joined_arrays_are_read_where_they_are():
    x, y = ga.ones((4, 6), chunks=2), ga.zeros((4, 6), chunks=3).rechunk(2)
    made = tasks_of(ga.concatenate([x + y, y], axis=1) * 2)
    assert "concatenate" not in {layer_name(key[0]) for key in made}


def test_a_result_that_is_anothers_block_has_a_task_of_its_own():
    x = ga.ones(6, chunks=2)
    joined = ga.concatenate([x, x * 2])
    assert [key for key in joined.expr.output_keys() if key not in tasks_of(joined)] == []
    held = joined.persist(scheduler="sync")
    equal(held + 1, [2.0] * 6 + [3.0] * 6)
    joined[1] = 5
    equal(joined, [1.0, 5, *[1] * 4, *[2] * 6])


def test_a_task_reads_other_keys_wherever_it_refers_to_them():
    from glassloom.graph import TaskRef

    task = Task("a", max, (TaskRef("b"), [TaskRef("c"), {"k": TaskRef("b")}]), {"key": TaskRef("d")})
    other = task.reading({"b": "x", "d": "y"})
    assert other.deps == ("x", "c", "y")
    assert (other.args, other.kwargs) == ((TaskRef("x"), [TaskRef("c"), {"k": TaskRef("x")}]), {"key": TaskRef("y")})
    assert task.reading({"x": "b"}) is task


def chained(n):
    x = ga.from_array(np.arange(1000.0), chunks=500)
    for _ in range(n):
        x = (x * 1.5)[1:]
    return x


def test_slices_of_a_chain_are_collected_once(monkeypatch):
    made = []
    plans = {n: chained(n) for n in (20, 200)}
    validate = ArrayExpr.validate
    monkeypatch.setattr(ArrayExpr, "validate", lambda node: made.append(node) or validate(node))
    counts = {}
    for n, x in plans.items():
        made.clear()
        (root,) = simplify([x.expr])
        counts[n] = len(made)
        assert [node.label for node in walk([root])] == ["from-array", *["multiply"] * n]
    assert counts[200] <= 10 * counts[20] + 10
    expected = np.arange(1000.0)
    for _ in range(20):
        expected = (expected * 1.5)[1:]
    equal(plans[20], expected)


def test_what_both_neighbours_read_is_made_once(monkeypatch):
    made = []
    x = ga.from_array(np.arange(1000.0), chunks=500)
    for _ in range(30):
        x = x[1:] + x[:-1] * 0.5
    validate = ArrayExpr.validate
    monkeypatch.setattr(ArrayExpr, "validate", lambda node: made.append(node) or validate(node))
    simplify([x.expr])
    assert len(made) <= 7 * 30

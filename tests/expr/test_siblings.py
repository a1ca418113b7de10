"""Sibling fusion: which consumers of the same blocks become one task, and that results, names and errors stay."""

from unittest import mock

import glassloom as gl
import glassloom.array as ga
import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pytest
from glassloom.expr import Fused, fuse, lower, optimize, simplify, walk
from glassloom.expr.grouping import _Grouping, inverse
from glassloom.graph import key_layer
from hypothesis import given, settings
from hypothesis import strategies as st
from long_tests import examples


def drawn(chunks=(5, 10), shape=(40, 20)):
    return ga.random.default_rng(3).normal(size=shape, chunks=chunks)


def layers(*collections):
    """The operations of each layer of the optimised plan that makes tasks, and how many."""
    plan = optimize([collection.expr for collection in collections])
    return {
        " ".join(node.operations if isinstance(node, Fused) else (node.label,)): node.n_tasks
        for node in walk(plan)
        if node.n_tasks
    }


def n_tasks(*collections, fuse_blocks=None):
    return len(lower(optimize([each.expr for each in collections], fuse_blocks=fuse_blocks))[0])


def test_two_reductions_of_the_same_blocks_are_one_task_a_block():
    x = drawn()
    assert layers(x.mean(), x.std()) == {
        "normal mean std": 16, "mean-aggregate": 1, "std-aggregate": 1,
    }  # fmt: skip
    assert n_tasks(x.mean(), x.std()) == 16 + 2


def test_what_lies_between_is_fused_too():
    x = drawn(chunks=(10, 5))
    assert layers((x + 1).mean(), abs(x).max(), x.min(axis=0)) == {
        "normal add mean absolute max min": 16, "mean-aggregate": 1, "max-aggregate": 1, "min-aggregate": 4,
    }  # fmt: skip


def test_few_blocks_stay_apart_since_they_run_side_by_side():
    x = drawn(chunks=(40, 20), shape=(40 * 7, 20))
    assert "normal" in layers(x.mean(), x.std())
    more = drawn(chunks=(40, 20), shape=(40 * 8, 20))
    assert "normal mean std" in layers(more.mean(), more.std())


def test_what_needs_the_others_result_is_no_sibling():
    x = drawn()
    assert n_tasks(x.mean(), (x - x.mean()).std()) == n_tasks((x - x.mean()).std())
    found = layers(x.mean(), (x - x.mean()).std(), x.max())
    assert {"mean max", "normal", "subtract std"} <= set(found)


def test_what_waits_for_more_is_no_sibling():
    """The mean would wait until all of ``y`` is rechunked."""
    x = drawn()
    y = drawn(chunks=(40, 2)).rechunk(x.chunks)
    assert {"normal", "mean"} <= set(layers(x.mean(), (x * y).std()))


def test_large_results_are_no_siblings():
    x = drawn()
    assert {"normal", "add", "multiply"} <= set(layers(x + 1, x * 2))
    thin = drawn(chunks=(4, 20))
    assert {"normal", "mean", "std"} <= set(layers(thin.mean(axis=0), thin.std(axis=0)))
    assert {"normal", "topk"} <= set(layers(x.mean(), ga.topk(x, 3)))


def test_blocks_that_are_wanted_themselves_are_kept_and_read_once():
    x = drawn()
    assert {"normal": 16, "mean std": 16}.items() <= layers(x, x.mean(), x.std()).items()
    held = x.persist()
    assert layers(held.mean(), held.std()) == {"mean std": 16, "mean-aggregate": 1, "std-aggregate": 1}


def test_reductions_of_whole_lines_are_siblings_of_others():
    """Their blocks have another index than those that they read."""
    x = drawn(chunks=(4, 20))
    values = np.asarray(x)
    total, lines = x.sum(), x.mean(axis=1)
    assert layers(total, lines) == {"normal sum mean mean-aggregate": 10, "sum-aggregate": 1}
    found = gl.compute(total, lines)
    np.testing.assert_allclose(found[0], values.sum())
    np.testing.assert_allclose(found[1], values.mean(axis=1))


def test_transposed_blocks_have_their_siblings_index():
    x = drawn(chunks=(5, 20))
    values = np.asarray(x)
    found = gl.compute(x.sum(axis=0), (x.T + 1).max(axis=1), x.T.min())
    for got, expected in zip(found, [values.sum(axis=0), (values.T + 1).max(axis=1), values.min()], strict=True):
        np.testing.assert_allclose(got, expected)


def test_an_inverse_leads_back():
    assert inverse((1, None, 0), 2) == (2, 0)
    assert inverse((0,), 2) == (0, None)


def test_siblings_of_siblings_do_not_need_themselves():
    """Two pairs, each legal alone: a reads what b makes, and c reads what d makes, so both as one would be a circle."""
    x, y = drawn(), ga.random.default_rng(4).normal(size=(40, 20), chunks=(5, 10))
    a, b = x.sum(), y.sum()
    plan = optimize([each.expr for each in (a, b, (x * b).sum(), (y * a).sum())])
    lower(plan)
    values = np.asarray(x), np.asarray(y)
    found = gl.compute(a, b, (x * b).sum(), (y * a).sum())
    sums = values[0].sum(), values[1].sum()
    np.testing.assert_allclose(found, [*sums, sums[0] * sums[1], sums[0] * sums[1]])


def test_columns_of_a_frame_are_read_once_and_reduced_together():
    frame = pd.DataFrame({"a": np.arange(100.0), "b": np.arange(100) % 7, "c": 1})
    few = gd.from_pandas(frame, npartitions=31)  # to group some by keys may take longer than to read them
    assert n_tasks(few.a.sum(), few.groupby("b").a.max()) > 3 * 31
    lazy = gd.from_pandas(frame, npartitions=32)
    wanted = [lazy.a.sum(), lazy.b.mean(), lazy.groupby("b").a.max()]
    assert n_tasks(*wanted) == 32 + 3 * (4 + 1)
    found = gl.compute(*wanted)
    assert found[:2] == (frame.a.sum(), frame.b.mean())
    pd.testing.assert_series_equal(found[2].sort_index(), frame.groupby("b").a.max())


def test_names_keys_and_held_results_are_those_of_the_nodes():
    x = drawn(chunks=(4, 20))
    lines, total = x.mean(axis=1), x.sum()
    held_lines, held_total = gl.persist(lines, total)
    assert (held_lines.name, held_total.name) == (lines.name, total.name)
    np.testing.assert_allclose(held_lines.compute(), np.asarray(x).mean(axis=1))
    np.testing.assert_allclose((held_lines + 1).compute(), np.asarray(x).mean(axis=1) + 1)


def test_an_output_that_is_asked_for_itself_gets_its_own_task():
    x = drawn(chunks=(4, 20))
    lines = x.mean(axis=1)
    graph, keys = lower(optimize([lines.expr, x.sum().expr]))
    assert keys[0] == lines.expr.output_keys()
    assert all(graph.tasks[key].deps[0][0].startswith("mean-aggregate-sum") for key in keys[0])
    assert graph.origins[lines.name] == lines.expr.origin


def test_what_reads_other_things_beside_a_part_gets_it_from_a_task():
    x = drawn(chunks=(4, 20))
    lines = x.mean(axis=1)
    values = np.asarray(x)
    found = gl.compute((ga.concatenate([lines, lines[::-1]])), x.sum(), ga.sort(lines))
    np.testing.assert_allclose(found[0], np.concatenate([values.mean(axis=1), values.mean(axis=1)[::-1]]))
    np.testing.assert_allclose(found[1], values.sum())
    np.testing.assert_allclose(found[2], np.sort(values.mean(axis=1)))


def test_many_siblings_are_each_looked_at_once():
    x = drawn(chunks=(10, 10))
    roots = simplify([(x + number).sum().expr for number in range(100)])
    with mock.patch.object(_Grouping, "_below", autospec=True, side_effect=_Grouping._below) as looks:
        (first, *_) = fuse(roots)
    assert looks.call_count == 100
    (below,) = first.dependencies
    assert len(below.siblings.operations) == 201


def test_without_fusion_nothing_is_merged():
    x = drawn()
    with gl.config.set({"compute.fuse": False}):
        assert {"normal", "mean", "std"} <= set(layers(x.mean(), x.std()))


def test_optimised_collections_are_still_merged():
    x = drawn()
    mean, std = gl.optimize(x.mean(), x.std())
    assert "normal mean std" in layers(mean, std)


def test_a_failing_sibling_names_its_own_line():
    def fails(block):
        raise ZeroDivisionError("of mine")

    x = drawn()
    good = x.mean()
    bad = x.map_blocks(fails, dtype=float, meta=np.ones((0, 0))).sum()  # this line
    with pytest.raises(ZeroDivisionError) as caught:
        gl.compute(good, bad)
    notes = "\n".join(caught.value.__notes__)
    assert "# this line" in notes
    assert "good = x.mean()" not in notes


def test_siblings_of_one_line_have_that_line():
    x = drawn()
    pair = [x.mean(), x.std()]
    graph, _ = lower(optimize([each.expr for each in pair]))
    assert {key_layer(key) for key in graph.tasks} == set(graph.origins)
    assert sorted(graph.labels.values()) == ["normal-mean-std"]


def test_a_plan_explains_the_operations_of_the_task():
    x = drawn()
    assert "normal > mean > std" in str((x.mean() - x.std()).explain())


REDUCTIONS = [
    lambda x: x.sum(), lambda x: x.mean(axis=0), lambda x: x.std(axis=1), lambda x: x.max(axis=0, keepdims=True),
    lambda x: x.T.sum(axis=0), lambda x: (x + 1).var(), lambda x: x.argmax(axis=0), lambda x: abs(x).min(),
    lambda x: (x[::2] * 2).sum(), lambda x: (x - x.mean()).max(), lambda x: (x - x.mean(axis=0)).std(axis=0),
    lambda x: (x > 0).any(axis=1), lambda x: (x * x.sum(axis=1, keepdims=True)).mean(), lambda x: (x + x[0]).sum(axis=0),
]  # fmt: skip


@settings(max_examples=examples(23), deadline=None)
@given(
    st.lists(st.integers(0, len(REDUCTIONS) - 1), min_size=2, max_size=5),
    st.sampled_from([(4, 20), (5, 10), (40, 2), (8, 8)]),
    st.booleans(),
)
def test_siblings_have_the_same_results_as_numpys(numbers, chunks, is_held):
    x = drawn(chunks=chunks) + 1
    values = np.asarray(x)
    if is_held:
        x = x.persist(scheduler="synchronous")
    found = gl.compute([REDUCTIONS[number](x) for number in numbers], scheduler="synchronous")[0]
    for number, got in zip(numbers, found, strict=True):
        np.testing.assert_allclose(got, REDUCTIONS[number](values), rtol=1e-10, atol=1e-12)


@pytest.fixture(scope="module")
def client():
    with gl.Client(n_workers=1, threads_per_worker=1) as client:
        yield client


def test_a_worker_gets_the_parts_that_it_reads(client):
    x = drawn()
    values = np.asarray(x)
    np.testing.assert_allclose(gl.compute(x.mean(), x.std(), scheduler=client), [values.mean(), values.std()])
    lines, total = gl.persist(drawn(chunks=(4, 20)).mean(axis=1), drawn(chunks=(4, 20)).sum(), scheduler=client)
    np.testing.assert_allclose(lines.compute(scheduler=client).sum() * 20, total.compute(scheduler=client))

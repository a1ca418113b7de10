"""Fusion: which nodes become one task, and that it changes nothing but the number of tasks."""

import glassloom.array as ga
import numpy as np
import pytest
from glassloom.expr import Blockwise, Fused, Pick, fuse, lower, optimize, simplify, walk
from glassloom.expr.blockwise import compose, index_mapper, map_index
from glassloom.graph import key_layer
from hypothesis import given, settings
from hypothesis import strategies as st
from long_tests import examples


class Block(Blockwise):
    """A node of so many blocks that adds up the blocks it reads and its own number."""

    parameters = ("title", "below", "via", "numblocks", "fusible")

    @property
    def label(self):
        return self.title

    @property
    def dependencies(self):
        return list(self.below)

    @property
    def mappings(self):
        return list(self.via)

    @property
    def function(self):
        return lambda *values: sum(values)

    def literals(self, index):
        return (sum(index) + 1,)


def block(title, *below, n=(3,), via=None, fusible=True):
    return Block(title, tuple(below), tuple(via or [tuple(range(len(n)))] * len(below)), n, fusible)


def groups(*roots):
    return {
        node.label if not isinstance(node, Fused) else node.root.label: [member.label for member, _ in node.members]
        if isinstance(node, Fused)
        else [node.label]
        for node in walk(fuse(roots))
    }


def results(roots):
    graph, keys = lower(roots)
    done = {}

    def value(key):
        if key not in done:
            task = graph.tasks[key]
            done[key] = task.run({dep: value(dep) for dep in task.deps})
        return done[key]

    return [[value(key) for key in group] for group in keys]


def test_a_chain_becomes_one_group():
    a = block("a")
    assert groups(block("c", block("b", a))) == {"c": ["a", "b", "c"]}


def test_a_node_of_two_consumers_stays_on_its_own_unless_both_are_in_one_group():
    a = block("a")
    b, c = block("b", a), block("c", a)
    assert groups(b, c) == {"a": ["a"], "b": ["b"], "c": ["c"]}
    assert groups(block("d", b, c)) == {"d": ["a", "b", "c", "d"]}


def test_what_the_caller_asks_for_is_kept():
    a = block("a")
    assert groups(block("b", a), a) == {"a": ["a"], "b": ["b"]}


def test_a_block_that_several_tasks_read_is_not_made_in_each():
    one = block("one", n=(1,))
    assert groups(block("b", one, via=[(None,)])) == {"one": ["one"], "b": ["b"]}
    many = block("many", n=(3,))
    assert groups(block("b", many, n=(3, 2), via=[(0,)])) == {"many": ["many"], "b": ["b"]}


def test_a_node_that_does_not_want_to_be_fused_is_not():
    assert groups(block("b", block("a", fusible=False))) == {"a": ["a"], "b": ["b"]}


def test_blocks_that_are_picked_once_are_made_where_they_are_used():
    a = block("a", n=(5,))
    assert groups(block("b", a, n=(2,), via=[(Pick(0, (4, 1)),)])) == {"b": ["a", "b"]}
    assert groups(block("b", a, n=(2,), via=[(Pick(0, (1, 1)),)])) == {"a": ["a"], "b": ["b"]}
    assert groups(block("b", a, n=(1,), via=[(Pick(None, (3,)),)])) == {"b": ["a", "b"]}
    assert groups(block("b", a, n=(2,), via=[(Pick(None, (3,)),)])) == {"a": ["a"], "b": ["b"]}


def test_a_picked_block_gets_its_own_literals():
    a = block("a", n=(5,))
    b = block("b", a, n=(2,), via=[(Pick(0, (4, 1)),)])
    (made,) = results(fuse([b]))
    assert made == results([b])[0] == [5 + 1, 2 + 2]


entries = st.one_of(
    st.none(),
    st.integers(0, 1),
    st.builds(lambda blocks: Pick(None, blocks), st.tuples(st.integers(0, 2))),
    st.builds(Pick, st.integers(0, 1), st.tuples(*[st.integers(0, 2)] * 3)),
)


@given(st.tuples(entries, entries), st.tuples(entries, entries), st.tuples(st.integers(0, 2), st.integers(0, 2)))
def test_composed_mappings_lead_where_the_two_lead_after_each_other(outer, inner, index):
    expected = map_index(inner, map_index(outer, index))
    assert map_index(compose(outer, inner), index) == expected
    assert index_mapper(compose(outer, inner))(index) == expected


@st.composite
def expressions(draw):
    """Arrays that share parts, sliced, transposed, reduced and rechunked at random."""
    pool = [
        ga.random.default_rng(1).normal(size=(6, 6), chunks=draw(st.sampled_from([2, 3, (6, 2)]))),
        ga.ones((6, 6), chunks=3),
    ]
    for _ in range(draw(st.integers(1, 8))):
        x, y = draw(st.sampled_from(pool)), draw(st.sampled_from(pool))
        pool.append(
            draw(
                st.sampled_from(
                    [lambda x, y: x + y, lambda x, y: x.T * 2, lambda x, y: x[::-1] - y, lambda x, y: x.rechunk(4),
                     lambda x, y: x - y.mean(axis=1, keepdims=True), lambda x, y: x @ y, lambda x, y: x[[5, 0, 3, 3, 1, 2]],
                     lambda x, y: ga.concatenate([x[4:], y[:4]]), lambda x, y: x.reshape(4, 9).reshape(6, 6)]
                )
            )(x, y)
        )  # fmt: skip
    return pool[-draw(st.integers(1, 3)) :]


@settings(max_examples=examples(60), deadline=None)
@given(expressions())
def test_simplified_and_fused_expressions_have_the_same_results(arrays):
    roots = [array.expr for array in arrays]
    plain = [root.assemble(blocks) for root, blocks in zip(roots, results(roots), strict=True)]
    simple = simplify(roots)
    # Rules alone may add a task for a view: of a shared ``x.T * 2``, ``x * 2`` is made once, and its transpose for each who needs that.
    for plan, before in ((simple, simple), (fuse(simple), simple), (fuse(roots), roots)):
        assert len(lower(plan)[0]) <= len(lower(before)[0])
        for root, blocks, expected in zip(plan, results(plan), plain, strict=True):
            np.testing.assert_allclose(root.assemble(blocks), expected, rtol=1e-12, atol=1e-12)


def test_chains_deeper_than_pythons_stack_are_optimised_and_run():
    x = ga.zeros(4, chunks=2)
    for _ in range(3000):
        x = x + 1
    assert x[::3].compute(scheduler="inline").tolist() == [3000, 3000]


def test_a_fused_layer_is_called_by_its_operations_and_keeps_the_users_line():
    x = (ga.ones(4, chunks=2) + 1).sum()
    graph, keys = lower(optimize([x.expr]))
    assert sorted(graph.labels.values()) == ["ones-add-sum"]
    layers = {key_layer(key) for key in graph.tasks}
    assert layers == set(graph.origins)
    assert {origin.filename for origin in graph.origins.values()} == {__file__}


def test_fused_functions_survive_pickling():
    import pickle

    x = (ga.random.default_rng(0).normal(size=(8, 8), chunks=4)[::2] * 2 + 1).mean(axis=0)
    graph, keys = lower(optimize([x.expr]))
    expected = x.compute(scheduler="inline")
    graph.tasks.update({key: _repickled(task, pickle) for key, task in graph.tasks.items()})
    from glassloom.local.synchronous import SynchronousRuntime

    np.testing.assert_array_equal(x.expr.assemble(SynchronousRuntime().get(graph, keys[0])), expected)


def _repickled(task, pickle):
    task.func, task.args = pickle.loads(pickle.dumps((task.func, task.args)))
    return task


def test_the_functions_of_a_layer_are_one_object_so_that_they_are_sent_once():
    x = ga.random.default_rng(0).normal(size=(8, 8), chunks=2)[::2] * 2 + 1
    graph, _ = lower(optimize([x.expr]))
    assert len({id(task.func) for task in graph.tasks.values()}) == 1


@pytest.mark.parametrize("n_chunks", [20_000])
def test_making_tasks_takes_microseconds_each(n_chunks):
    import time

    x = (ga.random.default_rng(0).normal(size=n_chunks * 10, chunks=10) + 1)[::2].sum()
    start_s = time.process_time()
    graph, _ = lower(optimize([x.expr]))
    assert len(graph) > n_chunks
    assert time.process_time() - start_s < n_chunks * 50e-6

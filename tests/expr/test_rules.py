"""Rewriting: rules apply until none fits, and mistakes in rules are noticed."""

import pytest
from glassloom.expr import Expr, rule, simplify
from glassloom.expr import rules as registry


class Leaf(Expr):
    parameters = ("value",)


class Twice(Expr):
    parameters = ("below",)


class Pair(Expr):
    parameters = ("items",)


@pytest.fixture(autouse=True)
def only_rules_of_the_test(monkeypatch):
    monkeypatch.setattr(registry, "_rules", [])


def test_rules_apply_to_what_rules_made():
    @rule(Twice, Leaf)
    def double(parent, child):
        return Leaf(child.value * 2)

    (made,) = simplify([Twice(Twice(Twice(Leaf(1))))])
    assert (type(made), made.value) == (Leaf, 8)


def test_a_rule_that_returns_none_or_an_equal_node_leaves_the_node():
    @rule(Twice)
    def nothing(node):
        return None

    @rule(Twice)
    def same(node):
        return Twice(node.below)

    root = Twice(Leaf(1))
    assert simplify([root]) == [root]


def test_nodes_inside_lists_are_rewritten_too():
    @rule(Twice, Leaf)
    def double(parent, child):
        return Leaf(child.value * 2)

    (made,) = simplify([Pair([Twice(Leaf(1)), Leaf(5)])])
    assert [item.value for item in made.items] == [2, 5]


def test_rules_that_go_on_for_ever_are_a_mistake_that_is_named():
    @rule(Leaf)
    def grow(node):
        return Leaf(node.value + 1)

    with pytest.raises(RuntimeError, match=r"don't come to an end at Leaf\(value="):
        simplify([Leaf(0)])


def test_equal_nodes_are_equal_and_different_ones_are_not():
    assert Twice(Leaf(1)) == Twice(Leaf(1))
    assert Twice(Leaf(1)) != Twice(Leaf(1.0))
    assert len({Leaf(1), Leaf(1), Leaf(2)}) == 2


class Cut(Expr):
    parameters = ("below", "start")


class Doubled(Expr):
    parameters = ("below",)


def cut_rules():
    @rule(Cut, Cut, unshared=True)
    def once(parent, child):
        return Cut(child.below, parent.start + child.start)

    @rule(Cut, Doubled, unshared=True)
    def before(parent, child):
        return Doubled(Cut(child.below, parent.start))


def chain_of(n):
    node = Leaf(0)
    for _ in range(n):
        node = Cut(Doubled(node), 1)
    return node


@pytest.mark.parametrize("n", [10, 1000])
def test_what_goes_down_a_chain_makes_a_few_nodes_for_each_step(n, monkeypatch):
    cut_rules()
    root = chain_of(n)
    made = []
    monkeypatch.setattr(Expr, "validate", lambda node: made.append(node))
    (best,) = simplify([root])
    assert len(made) <= 5 * n
    node, depth = best, 0
    while isinstance(node, Doubled):
        node, depth = node.below, depth + 1
    assert (depth, type(node), node.start, type(node.below)) == (n, Cut, n, Leaf)


def test_what_two_nodes_need_is_not_made_twice_by_what_goes_down():
    cut_rules()
    shared = Doubled(Leaf(1))
    (made,) = simplify([Pair([Cut(shared, 1), Cut(shared, 2)])])
    assert [item.below for item in made.items] == [shared, shared]
    top, whole = simplify([Cut(shared, 1), shared])
    assert (top.below, whole) == (shared, shared)


def test_what_becomes_equal_on_the_way_down_is_shared_from_then_on():
    cut_rules()
    leaf = Leaf(1)
    one, other = Cut(Doubled(Doubled(leaf)), 1), Doubled(Cut(Doubled(leaf), 1))
    first, second = simplify([one, other])
    assert first.name == second.name
    assert first.below.below.below == leaf


def test_going_down_for_ever_is_a_mistake_that_is_named():
    @rule(Cut, Leaf, unshared=True)
    def grow(parent, child):
        return Cut(Leaf(child.value + 1), parent.start)

    with pytest.raises(RuntimeError, match=r"don't come to an end at Cut\(below="):
        simplify([Cut(Leaf(0), 1)])

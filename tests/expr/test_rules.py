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

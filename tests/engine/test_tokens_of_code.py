"""Tokens of functions and classes: of equal code they are equal, and another one once the code, or what it reads, is edited."""

from __future__ import annotations

import copy

import cloudpickle
import pytest
import token_values
from glassloom.graph import tokenize
from notebook_code import DEFINITIONS, in_main


@pytest.mark.parametrize("kind", DEFINITIONS)
def test_an_edited_definition_has_another_token(kind: str) -> None:
    first, again, other = (in_main(DEFINITIONS[kind].format(k), "f") for k in (1, 1, 2))
    assert tokenize(first) == tokenize(again) != tokenize(other)


@pytest.mark.parametrize("kind", DEFINITIONS)
def test_a_definition_that_moves_down_in_its_cell_keeps_its_token(kind: str) -> None:
    source = DEFINITIONS[kind].format(1)
    assert tokenize(in_main(source, "f")) == tokenize(in_main("\n\n# a comment\n" + source, "f"))


def test_a_function_has_another_token_once_a_global_that_it_reads_is_changed_in_place() -> None:
    table = [1]
    function = in_main("def f():\n    return table", "f", table=table)
    before = tokenize(function)
    table.append(2)
    assert tokenize(function) != before
    table.pop()
    assert tokenize(function) == before


def test_functions_of_equal_code_in_other_classes_have_their_own_tokens() -> None:
    source = "class {}:\n    def m(self):\n        return 1"
    one, other = (in_main(source.format(name), name).m for name in ("C", "D"))
    assert one.__code__ == other.__code__  # for Python, which leaves the name of the class out
    assert tokenize(one.__code__) != tokenize(other.__code__)


def test_a_global_that_is_only_named_like_an_attribute_does_not_count() -> None:
    one, two = (in_main("def f(x):\n    return x.data", "f", data=data) for data in (1, 2))
    assert tokenize(one) == tokenize(two)


def test_a_cached_function_has_one_token_however_often_it_was_called() -> None:
    function = in_main(DEFINITIONS["cached"].format(1), "f")
    before = tokenize(function)
    function(3)
    assert tokenize(function) == before


def test_copying_an_object_does_not_change_the_token_of_its_class() -> None:
    class Box:
        def __init__(self, content: int) -> None:
            self.content = content

    first = tokenize(Box(1))
    copy.copy(Box(1))  # as tokenizing does too: the class keeps the names of its slots from now on
    assert "__slotnames__" in vars(Box)
    assert (tokenize(Box(1)), tokenize(Box)) == (first, tokenize(Box))


def test_looking_a_flag_up_does_not_change_the_token_of_its_class() -> None:
    flag = in_main("class F(enum.Flag):\n    A = 1\n    B = 2", "F")
    before = tokenize(flag)
    assert flag.A | flag.B
    assert tokenize(flag) == before


def test_a_module_pickled_by_value_is_known_by_its_content() -> None:
    by_name = tokenize(token_values.first)
    cloudpickle.register_pickle_by_value(token_values)
    try:
        by_value = tokenize(token_values.first)
    finally:
        cloudpickle.unregister_pickle_by_value(token_values)
    assert by_name != by_value

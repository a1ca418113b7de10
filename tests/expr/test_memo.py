"""What is made of the same objects while an expression is optimised is made once, and forgotten after it."""

from __future__ import annotations

import pytest
from glassloom.expr.memo import first_alike, remembered, remembering


def test_the_same_objects_give_the_same_result_inside_and_equal_ones_do_not() -> None:
    made: list[object] = []

    def make() -> object:
        made.append(object())
        return made[-1]

    part, equal = [1], [1]
    with remembering():
        first = remembered(make, part)
        assert remembered(make, part) is first
        assert remembered(make, equal) is not first
        with remembering():
            assert remembered(make, part) is first
        assert remembered(make, part) is first
    assert remembered(make, part) is not first
    assert remembered(make, part) is not remembered(make, part)


def test_parts_that_have_gone_are_not_taken_for_new_objects_of_their_identity() -> None:
    with remembering():
        results = [remembered(lambda number=number: number, [number]) for number in range(1000)]
    assert results == list(range(1000))


def test_the_first_of_what_looks_alike_counts_inside_only() -> None:
    with remembering():
        assert first_alike("one", ("looks", 1)) == "one"
        assert first_alike("other", ("looks", 1)) == "one"
    assert first_alike("other", ("looks", 1)) == "other"


def test_all_is_forgotten_after_a_fault() -> None:
    part = object()
    with pytest.raises(ZeroDivisionError), remembering():
        remembered(lambda: 1, part)
        raise ZeroDivisionError
    assert remembered(lambda: 2, part) == 2

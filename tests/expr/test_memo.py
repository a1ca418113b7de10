"""What is made of the same objects while an expression is optimised is made once, and forgotten after it."""

from __future__ import annotations

import pytest
from glassloom.expr.memo import remembered, remembering
from interrupts import sweep


def test_the_same_objects_give_the_same_result_inside_and_equal_ones_do_not() -> None:
    part, equal = [1], [1]

    def inside() -> None:
        first = remembered(object, part)
        assert remembered(object, part) is first
        assert remembered(object, equal) is not first
        assert remembering(lambda: remembered(object, part)) is first
        assert remembered(object, part) is first

    remembering(inside)
    assert remembered(object, part) is not remembered(object, part)


def test_parts_that_have_gone_are_not_taken_for_new_objects_of_their_identity() -> None:
    results = remembering(lambda: [remembered(lambda number=number: number, [number]) for number in range(1000)])
    assert results == list(range(1000))


@pytest.mark.parametrize("error", [ZeroDivisionError, KeyboardInterrupt])
def test_all_is_forgotten_after_a_fault(error: type[BaseException]) -> None:
    part = object()

    def inside() -> None:
        remembered(lambda: 1, part)
        raise error

    with pytest.raises(error):
        remembering(inside)
    assert remembered(lambda: 2, part) == 2


def test_an_interrupt_at_any_place_leaves_nothing_remembered() -> None:
    part = object()
    assert sweep(lambda: remembering(lambda: remembered(lambda: 1, part)), lambda: is_forgotten(part)) > 3


def is_forgotten(part: object) -> None:
    assert remembered(lambda: 2, part) == 2

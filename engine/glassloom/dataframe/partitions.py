"""Some partitions of a frame: the node that chooses them, and what is known of them without computing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

from glassloom.dataframe.nodes import FrameBlockwise, FrameExpr
from glassloom.expr import Pick
from glassloom.expr.blockwise import Mapping
from glassloom.graph import tokenize


class Partitions(FrameBlockwise):
    """Some partitions of a frame, in the order of `numbers`."""

    parameters = ("frame", "numbers")

    frame: FrameExpr
    numbers: tuple[int, ...]

    keeps_memory = True

    keeps_backend = True
    adds_no_rows = True

    @cached_property
    def meta(self) -> Any:
        return self.frame.meta

    @cached_property
    def divisions(self) -> tuple[Any, ...]:
        return select_divisions(self.frame.divisions, self.numbers)

    @property
    def mappings(self) -> list[Mapping]:
        return [(Pick(0, self.numbers),)]

    @property
    def rows(self) -> str:
        return selected_token(self.frame.rows, self.numbers)

    @property
    def layout(self) -> str:
        return selected_token(self.frame.layout, self.numbers)

    @property
    def lengths(self) -> tuple[int, ...] | None:
        lengths = self.frame.lengths
        return None if lengths is None else tuple(lengths[number] for number in self.numbers)

    @property
    def has_unique_labels(self) -> bool:
        return self.frame.has_unique_labels

    @property
    def function(self) -> Callable[..., Any]:
        return _same


def select_divisions(divisions: Sequence[Any], numbers: Sequence[int]) -> tuple[Any, ...]:
    """Return the divisions of some partitions: not known unless they follow each other."""
    if not numbers:
        return (None,)
    consecutive = all(after == before + 1 for before, after in zip(numbers, numbers[1:], strict=False))
    if not consecutive:
        return (None,) * (len(numbers) + 1)
    return tuple(divisions[numbers[0] : numbers[-1] + 2])


def selected_token(token: str, numbers: Sequence[int] | None) -> str:
    """Return the `rows` or `layout` of some partitions of what has this token."""
    return token if numbers is None else f"partitions-{tokenize(token, tuple(numbers))}"


def _same(value: Any) -> Any:
    return value

"""What a delayed call returns, as an argument: tasks of all partitions get it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from glassloom.dataframe.nodes import FrameExpr
from glassloom.dataframe.wrap import wrap
from glassloom.delayed_call import Delayed
from glassloom.expr import Expr
from glassloom.graph import Key, Task, TaskRef


class DelayedValue(FrameExpr):
    """What a delayed call returns."""

    parameters = ("source", "given_meta")
    operation = "delayed-value"
    divisions = (None, None)

    source: Expr
    given_meta: Any

    @cached_property
    def meta(self) -> Any:
        return self.given_meta

    def tasks(self) -> dict[Key, Task]:
        (below,) = self.source.output_keys()
        return {(self.name, 0): Task((self.name, 0), _same, (TaskRef(below),))}


def delayed_value(value: Any, meta: Any = None) -> Any:
    """Return a `Delayed` as a lazy value that frames can be combined with, anything else as it is. `meta` stands for it in metas."""
    return wrap(DelayedValue(value.expr, meta)) if isinstance(value, Delayed) else value


def with_delayed_values(args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any], bool]:
    """Return the arguments of a user's function, those that are `Delayed` as lazy values, and whether there are such."""
    has_some = any(isinstance(value, Delayed) for value in (*args, *kwargs.values()))
    if not has_some:
        return tuple(args), kwargs, False
    return tuple(map(delayed_value, args)), {name: delayed_value(value) for name, value in kwargs.items()}, True


def _same(value: Any) -> Any:
    return value

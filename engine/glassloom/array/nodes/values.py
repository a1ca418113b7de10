"""Lazy values that a user's function gets as a whole, not block by block: arguments that are lazy arrays, frames or
delayed calls, also those inside lists, tuples, sets and dicts."""

from __future__ import annotations

from typing import Any

import numpy as np

from glassloom.array.chunks import Chunks
from glassloom.array.nodes.base import ArrayExpr
from glassloom.backends.arrays import namespace_of
from glassloom.collection import Collection
from glassloom.delayed_call import Call, call
from glassloom.expr import Expr
from glassloom.expr.blockwise import same_block
from glassloom.graph import Key, Task, TaskRef


class Value(ArrayExpr):
    """A lazy value as an array without axes: its only block is the concrete value, whatever that is."""

    parameters = ("call",)

    call: Call

    @property
    def chunks(self) -> Chunks:
        return ()

    @property
    def meta(self) -> Any:
        return np.empty((), dtype=object)

    def tasks(self) -> dict[Key, Task]:
        (source,) = self.call.output_keys()
        (key,) = self.output_keys()
        return {key: Task(key, same_block, (TaskRef(source),))}

    @property
    def sample(self) -> Any:
        """The value with ones in place of lazy arrays.

        Raises
        ------
        ValueError
            If it holds a delayed call or a frame, of which nothing is known.
        """
        return _sampled(self.call.args[0])


def _sampled(value: Any) -> Any:
    if isinstance(value, ArrayExpr):
        return namespace_of(value.meta).ones((1,) * value.ndim, dtype=value.dtype)
    if isinstance(value, Expr):
        raise ValueError(f"nothing is known of {value.name} before it is computed")
    if type(value) in (list, tuple, set):
        return type(value)(map(_sampled, value))
    if type(value) is dict:
        return {name: _sampled(item) for name, item in value.items()}
    return value


def holds_lazy(value: Any) -> bool:
    """Whether a value is lazy, or a list, tuple, set or dict that holds a lazy one."""
    if isinstance(value, Collection):
        return True
    if type(value) in (list, tuple, set):
        return any(map(holds_lazy, value))
    return type(value) is dict and any(map(holds_lazy, value.values()))


def value_node(value: Any) -> Any:
    """Return the node of a lazy value; anything else as it is."""
    if not holds_lazy(value):
        return value
    return Value(call(same_block, (value,), {}, pure=True, label="value").expr)


def split_lazy(kwargs: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Value]]:
    """Return the keyword arguments that are at hand, and the nodes of those that are lazy."""
    nodes = {name: value_node(value) for name, value in kwargs.items() if holds_lazy(value)}
    return {name: value for name, value in kwargs.items() if name not in nodes}, nodes

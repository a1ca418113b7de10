"""Properties of nodes that follow from those of `frame`, found without recursion: chains of operations may be deeper than Python's stack."""

from __future__ import annotations

from functools import cached_property
from typing import Any, TypeVar

_Value = TypeVar("_Value")


class found_bottom_up(cached_property[_Value]):  # noqa: N801 - a decorator, as the one it stands for
    """As `functools.cached_property`, of nodes that have a `frame`: of a chain of such it is found from the first node on.

    Examples
    --------
    >>> class Node:
    ...     def __init__(self, frame):
    ...         self.frame = frame
    ...
    ...     @found_bottom_up
    ...     def depth(self):
    ...         return 0 if self.frame is None else self.frame.depth + 1
    >>> node = Node(None)
    >>> for _ in range(5000):
    ...     node = Node(node)
    >>> node.depth
    5000
    """

    def __get__(self, node: Any, owner: Any = None) -> Any:
        if node is None:
            return self
        name = str(self.attrname)
        below = getattr(node, "frame", None)
        if below is None or name in below.__dict__ or not isinstance(getattr(type(below), name, None), found_bottom_up):
            return node.__dict__.setdefault(name, self.func(node))
        chain: list[Any] = []
        one = node
        while (
            one is not None and name not in one.__dict__ and isinstance(getattr(type(one), name, None), found_bottom_up)
        ):
            chain.append(one)
            one = getattr(one, "frame", None)
        for one in reversed(chain):
            one.__dict__[name] = getattr(type(one), name).func(one)
        return node.__dict__[name]

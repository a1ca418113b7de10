"""Partitions of another library, such as cuDF's on a device: moved there, and back to the host where pandas' own functions are needed.

A node says by `FrameExpr.keeps_backend` whether it works on whichever library its partitions are of: what calls methods does, and inner and left
joins by columns, sorts by columns and the exchanges of rows before them, for which the host reads the keys. First steps of reductions and groups take partitions of every library, and make pandas' objects (`FrameExpr.takes_any_library`). In front of
others a plan gets a step that moves partitions to the host, so that every operation is there for frames of every library.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from glassloom.backends.frames import check_backend, converted
from glassloom.dataframe.call import Block, BlockCall
from glassloom.dataframe.nodes import Columnwise, FrameExpr
from glassloom.dataframe.wrap import wrap
from glassloom.expr import Expr, walk


class ToBackend(Columnwise):
    """The same rows in partitions of another library."""

    @property
    def meta(self) -> Any:
        return self.frame.meta

    @property
    def backend(self) -> str:
        return str(self.call.args[1])


def moved(node: FrameExpr, name: str) -> FrameExpr:
    """Return the node whose partitions are of that library."""
    if node.backend == name:
        return node
    return ToBackend(node, (), BlockCall(converted, (Block(0), name), label=f"to-{name}"), origin=node.origin)


def to_backend(frame: Any, name: Any) -> Any:
    """Return a collection whose partitions are of that library."""
    check_backend(name)
    return wrap(moved(frame.expr, name))


def move_to_host(roots: Sequence[Expr]) -> list[Expr]:
    """Move partitions to the host in front of what needs pandas' own."""
    new: dict[str, Expr] = {}

    def replaced(node: Expr) -> Expr:
        return new.get(node.name, node)

    for node in walk(roots):
        made = node.substitute(replaced) if any(one.name in new for one in node.dependencies) else node
        keeps = isinstance(made, FrameExpr) and (made.keeps_backend or made.takes_any_library)
        on_device = [one for one in made.dependencies if isinstance(one, FrameExpr) and one.backend != "pandas"]
        if on_device and not keeps:
            here = {one.name: moved(one, "pandas") for one in on_device}
            made = made.substitute(lambda one, here=here: here.get(one.name, one))  # type: ignore[misc]
        if isinstance(made, FrameExpr):
            made.backend  # noqa: B018 - found bottom up: chains may be deeper than Python's stack
        if made is not node:
            new[node.name] = made
    return [replaced(root) for root in roots] if new else list(roots)

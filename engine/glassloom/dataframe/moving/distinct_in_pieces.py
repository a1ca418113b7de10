"""What is reduced of distinct rows: of the distinct rows of several partitions at a time, without joining them to one first.

Of ``frame[["order", "supplier"]].drop_duplicates().groupby("order").size()`` the distinct rows may be as many as all. Where the partitions' keys
lie apart, as in sorted files, all that joining them does is to copy them into memory that is used for the first time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from glassloom.dataframe.moving.distinct import distinct_of
from glassloom.dataframe.nodes import FrameExpr, Projection
from glassloom.dataframe.reduction_nodes import RowsChunk, TreeReduce, TreeSteps
from glassloom.expr import Expr, walk


@dataclass(frozen=True)
class OfPieces:
    """The last step of a reduction of distinct rows: `chunk` of each piece that `pieces` makes of the parts, then `finish`."""

    pieces: Callable[[list[Any]], list[Any]]
    chunk: Callable[[Any], Any]
    finish: Callable[[list[Any]], Any]

    def __call__(self, several: list[Any]) -> Any:
        return self.finish([self.chunk(piece) for piece in self.pieces(several)])


def reduce_distinct_rows_in_pieces(roots: Sequence[Expr]) -> list[Expr]:
    """Let a reduction of distinct rows take them in pieces, if nothing else is made of them."""
    order = walk(roots)
    if all([_in_pieces(node) is None for node in order]):
        return list(roots)
    uses = Counter(one.name for node in order for one in node.dependencies) + Counter(root.name for root in roots)
    done: dict[str, Expr] = {}
    for node in order:
        made = node.substitute(lambda child: done[child.name])
        found = _rows_of(node)
        is_only_user = found is not None and all([uses[one.name] == 1 for one in found])
        done[node.name] = (_in_pieces(made) if is_only_user else None) or made
    return [done[root.name] for root in roots]


def _in_pieces(node: Expr) -> Expr | None:
    """Return a reduction of distinct rows as one of their pieces; None of other nodes."""
    found = _rows_of(node)
    if found is None:
        return None
    chunk, rows = found[0], found[-1]
    assert isinstance(node, TreeReduce) and isinstance(chunk, RowsChunk) and isinstance(rows, TreeReduce)
    distinct = distinct_of(rows)
    if distinct is None:
        return None
    last = OfPieces(distinct.pieces, chunk.call, node.steps.finish)
    steps = TreeSteps(rows.steps.combine, last, node.steps.meta)
    return TreeReduce(rows.source, steps, rows.split_every, node.title, origin=node.origin)


def _rows_of(node: Expr) -> list[FrameExpr] | None:
    """Return the first step of a reduction and what it reads, down to the reduction whose result that is; None if it is of something else.

    A choice of columns may lie between if the first step takes the columns that it needs itself.
    """
    chunk = node.source if isinstance(node, TreeReduce) else None
    if not isinstance(chunk, RowsChunk) or chunk.others:
        return None
    found: list[FrameExpr] = [chunk, chunk.frame]
    if isinstance(chunk.frame, Projection) and isinstance(chunk.frame.columns, list) and chunk.picks_columns:
        found.append(chunk.frame.frame)
    return found if isinstance(found[-1], TreeReduce) else None

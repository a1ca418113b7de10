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
from glassloom.dataframe.reduction_nodes import RowsChunk, TreeReduce, TreeSteps
from glassloom.expr import Expr, walk, whole_plan


@dataclass(frozen=True)
class _OfPieces:
    """The last step of a reduction of distinct rows: `chunk` of each piece that `pieces` makes of the parts, then `finish`."""

    pieces: Callable[[list[Any]], list[Any]]
    chunk: Callable[[Any], Any]
    finish: Callable[[list[Any]], Any]

    def __call__(self, several: list[Any]) -> Any:
        return self.finish([self.chunk(piece) for piece in self.pieces(several)])


@whole_plan
def reduce_distinct_rows_in_pieces(roots: Sequence[Expr]) -> list[Expr]:
    """Let a reduction of distinct rows take them in pieces, if nothing else is made of them."""
    order = walk(roots)
    if all([_in_pieces(node) is None for node in order]):
        return list(roots)
    uses = Counter(one.name for node in order for one in node.dependencies) + Counter(root.name for root in roots)
    done: dict[str, Expr] = {}
    for node in order:
        made = node.substitute(lambda child: done[child.name])
        chunk = node.source if isinstance(node, TreeReduce) else None
        is_only_user = isinstance(chunk, RowsChunk) and uses[chunk.name] == uses[chunk.frame.name] == 1
        done[node.name] = (_in_pieces(made) if is_only_user else None) or made
    return [done[root.name] for root in roots]


def _in_pieces(node: Expr) -> Expr | None:
    """Return a reduction of distinct rows as one of their pieces; None of other nodes."""
    chunk = node.source if isinstance(node, TreeReduce) else None
    rows = chunk.frame if isinstance(chunk, RowsChunk) and not chunk.others else None
    if not isinstance(rows, TreeReduce):
        return None
    assert isinstance(node, TreeReduce) and isinstance(chunk, RowsChunk)
    distinct = distinct_of(rows)
    if distinct is None:
        return None
    last = _OfPieces(distinct.pieces, chunk.call, node.steps.finish)
    steps = TreeSteps(rows.steps.combine, last, node.steps.meta)
    return TreeReduce(rows.source, steps, rows.split_every, node.title, origin=node.origin)

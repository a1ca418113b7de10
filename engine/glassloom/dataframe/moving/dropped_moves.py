"""Rows aren't sorted or shuffled if only reductions read them that give the same in any order."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import pandas as pd

from glassloom.dataframe.call import Attribute, Method
from glassloom.dataframe.column_nodes import ChosenByColumns, is_one_value, is_row_by_row
from glassloom.dataframe.moving.lookup import LookupJoin
from glassloom.dataframe.moving.set_index import SetIndex
from glassloom.dataframe.moving.shape import Concat, Repartition
from glassloom.dataframe.moving.shuffle import HashShuffle
from glassloom.dataframe.moving.sort import SortedBlocks, SortedExchange, sorting_of
from glassloom.dataframe.nodes import Assign, Filter, FrameExpr, Projection, Relabelled, Rowwise
from glassloom.dataframe.plan import consumers_of, rebuilt
from glassloom.dataframe.reduction_nodes import UnorderedChunk
from glassloom.expr import Expr, apply_rules, walk

_MOST_ROUNDS = 20


def drop_moves(roots: Sequence[Expr]) -> list[Expr]:
    """Leave rows where they are if it makes no difference to what is made of them."""
    simple = list(roots)
    for _ in range(_MOST_ROUNDS):  # what is sorted anew need not be sorted before
        order = walk(simple)
        moves = [node for node in order if isinstance(node, (SortedExchange, SortedBlocks, HashShuffle))]
        if not moves:
            break
        consumers, root_names = consumers_of(order), {root.name for root in simple}
        unneeded = (
            node for node in reversed(moves) if not _may_fail(node) and _is_unneeded(node, consumers, root_names)
        )
        move = next(unneeded, None)
        if move is None:
            break
        simple = apply_rules(rebuilt(simple, order, {move.name: move.frame}))
    return simple


def _may_fail(move: FrameExpr) -> bool:
    """Whether rows are sorted by a user's function, or by objects, which may have no order."""
    sorting = sorting_of(move)
    if sorting is None:
        return False
    return sorting.key is not None or any(key.dtype == object for _, key in sorting.keys_of(move.meta).items())


def _is_unneeded(move: Expr, consumers: dict[str, list[Expr]], root_names: set[str]) -> bool:
    """Whether only reductions that give the same in any order read the rows, or what is computed of them row by row."""
    inside, stack, users = {move.name}, [move.name], list[Expr]()
    while stack:
        name = stack.pop()
        if name in root_names:
            return False
        for user in consumers[name]:
            if user.name in inside:
                continue
            inside.add(user.name)
            users.append(user)
            if isinstance(user, UnorderedChunk):
                continue
            if not _passes_rows_on(user):
                return False
            stack.append(user.name)
    return bool(users) and not _shows_numbers(users) and all(_is_of_rows(user, inside) for user in users)


def _shows_numbers(users: Sequence[Expr]) -> bool:
    """Whether rows are numbered, in the order that they have come in, and those numbers become a column."""
    numbering = [user for user in users if isinstance(user, (LookupJoin, Relabelled))]
    names = {user.name for user in numbering}
    resets = [user.frame for user in numbering if not _drops_labels(user)]
    return any(node.name in names for node in walk(resets))


def _passes_rows_on(node: Expr) -> bool:
    """Whether each row of a node is made of one row, in whichever place that is."""
    if isinstance(node, Rowwise):
        is_label = isinstance(node.call.function, Attribute) and node.call.function.path == ("index",)
        return isinstance(node, SetIndex) or (is_row_by_row(node) and node.keeps_rows and not is_label)
    if isinstance(node, Relabelled):
        is_reset = isinstance(node.call.function, Method) and node.call.function.path == ("reset_index",)
        counts_rows = isinstance(node.frame.meta.index, pd.RangeIndex)  # and those numbers become a column
        return is_reset and not node.others and (_drops_labels(node) or not counts_rows)
    return isinstance(node, (Assign, ChosenByColumns, Concat, Filter, LookupJoin, Projection, Repartition))


def _drops_labels(node: LookupJoin | Relabelled) -> bool:
    return isinstance(node, LookupJoin) or node.call.kwargs.get("drop") is True


def _is_of_rows(node: Expr, inside: Collection[str]) -> bool:
    """Whether a node needs no other rows beside these at the same places, under the same labels."""
    if isinstance(node, LookupJoin):
        return node.frame.name in inside and node.table.name not in inside
    if isinstance(node, Concat):
        return True
    many = [one for one in node.dependencies if not is_one_value(one)]
    return all(one.name in inside for one in many) and len({(one.rows, one.layout) for one in many}) == 1  # type: ignore[attr-defined]

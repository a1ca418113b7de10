"""Rewrites of what moves rows: only the columns that are needed later move, and rows are counted without moving them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd

from glassloom.dataframe.call import Block, BlockCall
from glassloom.dataframe.column_nodes import are_found_in_lists, are_some, of_fewer_columns, of_needed_columns
from glassloom.dataframe.derived_meta import names_of
from glassloom.dataframe.divisions import Redivide
from glassloom.dataframe.kept_rows import compared_columns
from glassloom.dataframe.moving.distinct import distinct_of
from glassloom.dataframe.moving.exchange import Exchange, Split
from glassloom.dataframe.moving.joining import AnyJoin, Joining
from glassloom.dataframe.moving.lookup import LookupJoin, LookupTable
from glassloom.dataframe.moving.merge import Join
from glassloom.dataframe.moving.set_index import SetIndex
from glassloom.dataframe.moving.shape import Concat, Repartition, Sample, SetDivisions
from glassloom.dataframe.moving.shuffle import HashShuffle
from glassloom.dataframe.moving.sort import SortedBlocks, SortedEnds, SortedExchange
from glassloom.dataframe.nodes import Assign, BlockOp, Filter, FrameExpr, Projection, empty
from glassloom.dataframe.reduce import Length
from glassloom.dataframe.reduction_nodes import Chunk, TreeReduce, TreeSteps
from glassloom.expr import Expr, apply_rules, rule, walk


@rule(Length, Exchange)
def count_before_exchange(node: Length, inner: Exchange) -> Expr | None:
    """Count rows before they move, if none is left out or replaced."""
    return Length(inner.frame, origin=node.origin) if inner.keeps_rows else None


@rule(Length, Redivide)
@rule(Length, Repartition)
@rule(Length, SetDivisions)
@rule(Length, SortedBlocks)
def count_before_moving(node: Length, inner: Any) -> Expr | None:
    return Length(inner.frame, origin=node.origin)


@rule(Length, Concat)
def count_before_concat(node: Length, inner: Concat) -> Expr | None:
    """Count rows of one column of each frame."""
    frames = tuple([_chosen(one, set()) or one if _has_unique_columns(one) else one for one in inner.frames])
    is_same = all(one is frame for one, frame in zip(frames, inner.frames, strict=True))
    return None if is_same else Length(inner.rebuild([frames, *inner.operands[1:]]), origin=node.origin)


@rule(Projection, Redivide)
def cut_needed_columns(node: Projection, inner: Redivide) -> Expr | None:
    """Cut only the columns that are needed at other divisions."""
    return inner.rebuild([Projection(inner.frame, node.columns, origin=node.origin), inner.new_divisions])


@rule(Projection, SetIndex)
def project_before_set_index(node: Projection, inner: SetIndex) -> Expr | None:
    """Leave columns out before others become the index."""
    given = [label for key in inner.call.args[1:] for label in (key if isinstance(key, list) else [key])]
    own = [label for label in given if not isinstance(label, Block)]
    wanted = {*own, *node.labels}
    if not are_some(list(wanted), inner.frame):
        return None
    made = of_needed_columns(inner, [name for name in names_of(inner.frame.meta) if name in wanted])
    return None if made is None else Projection(made, node.columns, origin=node.origin)


@rule(Projection, Sample)
@rule(Projection, Repartition)
@rule(Projection, SetDivisions)
def project_before_rows_are_chosen(node: Projection, inner: Any) -> Expr | None:
    return inner.rebuild([Projection(inner.frame, node.columns, origin=node.origin), *inner.operands[1:]])


@rule(Projection, Concat)
def project_before_concat(node: Projection, inner: Concat) -> Expr | None:
    """Leave out columns of each of the frames, if all have the same ones."""
    wanted = set(node.labels)
    if not all([are_some(list(wanted), frame) for frame in inner.frames]):
        return None
    names, *others = [list(names_of(frame.meta)) for frame in inner.frames]
    if any(one != names for one in others):
        return None
    if len(wanted) == len(names):
        return inner if isinstance(node.columns, list) and node.columns == names else None
    chosen = tuple([Projection(frame, [name for name in names if name in wanted]) for frame in inner.frames])
    return Projection(inner.rebuild([chosen, *inner.operands[1:]]), node.columns, origin=node.origin)


def move_needed_columns(roots: Sequence[Expr]) -> list[Expr]:
    """Leave out columns before a join, shuffle or sort if all that is made of its result reads others."""
    simple = list(roots)
    while (narrowed := _narrowed_once(simple)) is not None:  # each time the next ones below
        simple = apply_rules(narrowed)
    return simple


def _narrowed_once(roots: Sequence[Expr]) -> list[Expr] | None:
    """Return the roots with all joins by look-up narrowed that can be, and the outermost of the others; None if none can."""
    order = walk(roots)
    consumers: dict[str, list[Expr]] = defaultdict(list)
    for node in order:
        for dependency in node.dependencies:
            consumers[dependency.name].append(node)
    root_names = {root.name for root in roots}
    lookups = _wanted_of_lookups(order, root_names)
    new: dict[str, Expr] = {}
    below: set[str] = set()  # what lies below nodes that change: its turn comes when those have changed
    for node in reversed(order):  # consumers first
        if node.name in below:
            below.update([one.name for one in node.dependencies])
            continue
        if node.name in root_names or isinstance(node, LookupJoin):
            continue
        wanted = _wanted_columns(node, consumers[node.name])
        narrowed = None if wanted is None else _narrowed(node, wanted, consumers)
        if narrowed is not None:
            new[node.name] = narrowed
            below.update([node.name, *[one.name for one in node.dependencies]])
    return _rebuilt(roots, order, new, {name: wanted for name, wanted in lookups.items() if name not in below})


def _wanted_of_lookups(order: Sequence[Expr], root_names: set[str]) -> dict[str, set[Any]]:
    """Return the columns that are read of each join by look-up of which not all are, found through what passes columns on."""
    wanted: dict[str, set[Any] | None] = {}  # None: all
    found: dict[str, set[Any]] = {}
    for node in reversed(order):  # consumers first
        own = None if node.name in root_names else wanted.get(node.name, set())
        for below, columns in _read_below(node, own):
            known = wanted.get(below.name, set())
            wanted[below.name] = None if columns is None or known is None else known | columns
        if isinstance(node, LookupJoin) and own is not None and _has_unique_columns(node):
            found[node.name] = own
    return found


def _read_below(node: Expr, wanted: set[Any] | None) -> list[tuple[Expr, set[Any] | None]]:
    """Return which columns of its dependencies a node reads of which some are wanted; None stands for all."""
    if isinstance(node, Projection):
        return [(node.frame, set(node.labels))]
    if _is_count(node):
        return [(node.dependencies[0], set())]
    if wanted is None:
        return [(below, None) for below in node.dependencies]
    if isinstance(node, Filter):
        return [(node.predicate, None), (node.frame, wanted)]
    if isinstance(node, Assign):
        others = [below for below in node.dependencies if below is not node.frame]
        return [*[(below, None) for below in others], (node.frame, wanted - set(node.names))]
    if isinstance(node, LookupTable):
        return [(node.frame, wanted)]
    if isinstance(node, LookupJoin) and _has_unique_columns(node):
        left, right = node.sides
        of_left, of_right = needed_columns(left.meta, right.meta, node.joining, wanted)
        return list(
            zip(node.dependencies, (of_left, of_right) if node.finds_right else (of_right, of_left), strict=True)
        )
    return [(below, None) for below in node.dependencies]


def _has_unique_columns(node: FrameExpr) -> bool:
    return isinstance(node.meta, pd.DataFrame) and node.meta.columns.is_unique


def _is_count(node: Expr) -> bool:
    """Whether a node counts the rows of each partition, whatever columns there are."""
    return isinstance(node, Chunk) and node.call.function is len


def _wanted_columns(node: Expr, consumers: Sequence[Expr]) -> set[Any] | None:
    """Return the columns that are read of a node that moves rows, or that may treat columns apart; None if all are, or it doesn't."""
    if not consumers or not all(isinstance(consumer, Projection) or _is_count(consumer) for consumer in consumers):
        return None
    if not isinstance(node, (BlockOp, Exchange)) and _compared_in_tree(node) is None:
        return None
    assert isinstance(node, FrameExpr)
    if not isinstance(node.meta, pd.DataFrame) or not node.meta.columns.is_unique:
        return None
    lists = [consumer.columns for consumer in consumers if isinstance(consumer, Projection)]
    wanted = {name for columns in lists for name in (columns if isinstance(columns, list) else [columns])}
    return wanted if len(wanted) < len(node.meta.columns) else None


def _narrowed(node: Expr, wanted: set[Any], consumers: dict[str, list[Expr]]) -> Expr | None:
    """Return a node with the wanted columns and those that it needs itself; None if that leaves out nothing."""
    if isinstance(node, HashShuffle):
        return _with_columns(node, wanted | set(node.keys))
    if isinstance(node, SortedExchange):
        split = _split_of_columns(node.split, wanted | (set(node.sorting.by) - set(node.sorting.by_levels)))
        return None if split is None else node.rebuild([split, *node.operands[1:]])
    if isinstance(node, (SortedBlocks, SortedEnds)):
        by = set(node.call.function.__self__.by)  # type: ignore[attr-defined]
        frame = _chosen(node.frame, wanted | by)
        return None if frame is None else node.rebuild([frame, *node.operands[1:]])
    if isinstance(node, TreeReduce):
        return _narrowed_tree(node, wanted)
    if isinstance(node, Join):
        return _narrowed_join(node, wanted, consumers)
    return of_fewer_columns(node, wanted) if isinstance(node, BlockOp) and not isinstance(node, AnyJoin) else None


def _compared_in_tree(node: Expr) -> list[Any] | None:
    """Return the columns by which a tree of tasks chooses rows: the distinct ones, or the largest; None of other nodes."""
    if not isinstance(node, TreeReduce):
        return None
    distinct = distinct_of(node)
    if distinct is not None:
        return None if distinct.subset is None else list(distinct.subset)
    return compared_columns(node)


def _narrowed_tree(node: TreeReduce, wanted: set[Any]) -> Expr | None:
    compared, chunk = _compared_in_tree(node), node.source
    if compared is None or not isinstance(chunk, Chunk):
        return None
    frame = _chosen(chunk.frame, wanted | set(compared))
    if frame is None:
        return None
    steps = TreeSteps(node.steps.combine, node.steps.finish, empty(frame.meta))
    return node.rebuild([chunk.rebuild([frame, *chunk.operands[1:]]), steps, *node.operands[2:]])


def _narrowed_lookup(node: LookupJoin, wanted: set[Any]) -> Expr | None:
    sides = node.sides
    needed = needed_columns(sides[0].meta, sides[1].meta, node.joining, wanted)
    left, right = (_chosen(side, columns) for side, columns in zip(sides, needed, strict=True))
    return None if left is right is None else node.of_sides(left or sides[0], right or sides[1])


def _narrowed_join(node: Join, wanted: set[Any], consumers: dict[str, list[Expr]]) -> Expr | None:
    left, right = node.sides
    if left.name == right.name or not (left.meta.columns.is_unique and right.meta.columns.is_unique):
        return None
    found = []
    for side, columns in zip((left, right), needed_columns(left.meta, right.meta, node.joining, wanted), strict=True):
        is_shared = len(consumers[side.name]) > 1
        found.append(
            _with_columns(side, columns) if isinstance(side, HashShuffle) and not is_shared else _chosen(side, columns)
        )
    if found == [None, None]:
        return None
    new = dict(
        zip((left.name, right.name), [one or old for one, old in zip(found, (left, right), strict=True)], strict=True)
    )
    return node.rebuild(
        [new[node.frame.name], tuple(new.get(other.name, other) for other in node.others), *node.operands[2:]]
    )


def needed_columns(left: Any, right: Any, joining: Joining, wanted: set[Any]) -> tuple[set[Any], set[Any]]:
    """Return the columns of both sides of a join that the wanted columns of its result are made of, with the keys.

    A column that both sides have gets a suffix: so it stays on both if it is wanted of one.
    """
    own, others = set(joining.left_on or ()), set(joining.right_on or ())
    if joining.how in ("leftsemi", "leftanti"):
        return wanted | own, others
    of_left, of_right = names_of(left), names_of(right)
    both = set(of_left) & set(of_right)
    if joining.same_keys:
        both -= own
    kept = {
        name
        for name in both
        if name in own | others | wanted or any(f"{name}{suffix or ''}" in wanted for suffix in joining.suffixes)
    }
    return (
        own | kept | {name for name in of_left if name in wanted},
        others | kept | {name for name in of_right if name in wanted},
    )


def _with_columns(node: HashShuffle, columns: set[Any]) -> FrameExpr | None:
    split = _split_of_columns(node.split, columns | set(node.keys))
    return None if split is None else node.rebuild([split, *node.operands[1:]])


def _split_of_columns(split: Split, columns: set[Any]) -> Split | None:
    frame = _chosen(split.frame, columns)
    call: BlockCall = split.call
    return None if frame is None else Split(frame, split.others, call, origin=split.origin)


def _chosen(frame: FrameExpr, columns: set[Any]) -> FrameExpr | None:
    """Return some columns of a frame, in its order, but one at least, which brings the rows; None if those are all."""
    all_names = names_of(frame.meta)
    names = [name for name in all_names if name in columns] or list(all_names[:1])
    is_all = len(names) == len(all_names) or not are_found_in_lists(frame.meta.columns)
    return None if is_all else Projection(frame, names)


def _rebuilt(
    roots: Sequence[Expr], order: Sequence[Expr], new: dict[str, Expr], lookups: dict[str, set[Any]]
) -> list[Expr] | None:
    """Return the roots with nodes replaced by `new` ones, and joins by look-up narrowed to columns; None if nothing changes."""
    done: dict[str, Expr] = {}
    look_up: Callable[[Expr], Expr] = lambda child: done[child.name]  # noqa: E731
    is_changed = bool(new)
    for node in order:
        made = new[node.name] if node.name in new else node.substitute(look_up)
        narrowed = _narrowed_lookup(made, lookups[node.name]) if node.name in lookups else None  # type: ignore[arg-type]
        is_changed |= narrowed is not None
        done[node.name] = made if narrowed is None else narrowed
    return [done[root.name] for root in roots] if is_changed else None

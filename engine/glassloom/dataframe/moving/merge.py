"""Joins: with a small side that every partition of the other one gets, by hash of the keys, or by index and divisions.

Integers, instants and text are looked up in a table that is made once (`lookup.py`); else pandas joins the blocks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property, partial
from typing import Any

import pandas as pd

from glassloom.backends.pandas_ import of_samples
from glassloom.backends.pandas_version import HAS_COPY_ON_WRITE
from glassloom.dataframe.argument_kinds import require_suffixes, whole_number
from glassloom.dataframe.arguments import with_function_arguments
from glassloom.dataframe.call import Block, BlockCall, Method
from glassloom.dataframe.columns import require_columns
from glassloom.dataframe.derived_meta import derived_meta
from glassloom.dataframe.divisions import redivide, union_of_divisions
from glassloom.dataframe.io.from_pandas import from_pandas
from glassloom.dataframe.moving.empty_sides import depends_on_rows, keys_of_a_row, value_dependent_keys, with_key_dtypes
from glassloom.dataframe.moving.joining import ANTI, AnyJoin, Joining
from glassloom.dataframe.moving.key_order import in_key_order
from glassloom.dataframe.moving.lookup import (
    JoinByLookup,
    LookupJoin,
    LookupTable,
    can_join_by_lookup,
    keeps_left_labels,
)
from glassloom.dataframe.moving.partners import with_partners
from glassloom.dataframe.moving.shape import Repartition
from glassloom.dataframe.moving.shuffle import hash_shuffle, require_shuffle_method
from glassloom.dataframe.moving.size import Size, size_of
from glassloom.dataframe.names_of_labels import have_unlike_names, named_as_joined
from glassloom.dataframe.nodes import FrameExpr
from glassloom.dataframe.unlike_dtypes import with_dtypes_of_all
from glassloom.dataframe.wrap import is_node, operate, wrap
from glassloom.errors import OptionError
from glassloom.graph import Origin
from glassloom.local.default import current
from glassloom.sampling.limits import own_memory_bytes

BROADCAST_BYTES = 64 * 2**20
"""A larger side isn't sent to all partitions of the other one unless it has one partition."""
LOOKUP_BYTES = 256 * 2**20
"""A larger side isn't made a look-up table unless it has one partition, or is asked for."""
MOST_LOOKUP_BYTES = 2**30
"""The same, if filters leave all rows."""
LARGE_LOOKUP_BYTES = 2**30
"""A side of up to so many bytes, and a quarter of a process's memory if filters leave all rows, is made a look-up table if the other one is
`MANY_TIMES` as long, which needn't move then."""
MANY_TIMES = 3
SMALL_ROWS = 100_000
"""Rows that are looked up in no time."""
_HOWS = ("inner", "left", "right", "outer", "cross", "leftsemi", "leftanti", *(ANTI if HAS_COPY_ON_WRITE else ()))
_NEEDS_LEFT_ONLY_ONCE = ("inner", "right", "cross", "right_anti")
"""Joins for which each partition of the right side may be joined with the whole left one."""
_NEEDS_RIGHT_ONLY_ONCE = ("inner", "left", "cross", "leftsemi", "leftanti", "left_anti")
_VALIDATIONS = ("one_to_one", "1:1", "one_to_many", "1:m", "many_to_one", "m:1", "many_to_many", "m:m")


class Join(AnyJoin):
    """Partitions of two frames, joined one by one; or those of one of them with the whole other one."""

    parameters = ("frame", "others", "call", "keys")

    keys: tuple[Any, ...] | None
    """The columns of the result by whose hash its rows are distributed."""

    @property
    def joining(self) -> Joining:
        assert isinstance(self.call.function, Joining)
        return self.call.function

    @property
    def sides(self) -> tuple[FrameExpr, FrameExpr]:
        nodes = self.operand_nodes
        left, right = (nodes[block.number] for block in self.call.args[:2])
        return left, right

    @property
    def keeps_backend(self) -> bool:
        left, right = self.sides
        each_has_its_own = left.npartitions == right.npartitions
        fits = left is self.frame and (right.npartitions == 1 or each_has_its_own)
        metas = [left.meta, right.meta, self.meta]
        return fits and self.joining.runs_on_device and all(meta.columns.is_unique for meta in metas)

    @cached_property
    def divisions(self) -> tuple[Any, ...]:
        left, right = self.sides
        has_dtype = (
            self.meta.index.dtype == left.meta.index.dtype
        )  # of labels in two zones pandas makes those of a third one
        are_kept = keeps_left_labels(self.joining) or (
            self.joining.how in ("inner", "left") and _are_labels_keys(self.joining, left.meta, right.meta)
        )
        keeps = has_dtype and left is self.frame and right.npartitions == 1 and are_kept
        return left.divisions if keeps else (None,) * (self.frame.npartitions + 1)

    @property
    def hashed_by(self) -> tuple[Any, ...] | None:
        return self.keys if set(self.keys or ()) <= set(self.meta.columns) else None

    @cached_property
    def meta(self) -> Any:
        metas = [side.meta for side in self.sides]
        return derived_meta(lambda: _joined_meta(self.joining, metas), _joined_meta, self.joining, *metas)

    def of_sides(self, left: FrameExpr, right: FrameExpr) -> Join:
        """Return the same join of other frames, of as many partitions each. It is one that doesn't depend on whether there are rows."""
        return _join(left, right, self.joining, self.keys, kind=type(self), origin=self.origin)


def _joined_meta(joining: Joining, metas: list[Any]) -> Any:
    by_columns = not joining.left_index and not joining.right_index
    made = joining(*metas) if by_columns else with_sampled_labels(joining, metas)
    return made if joining.how in ("leftsemi", "leftanti") else with_key_dtypes(made, metas[0], metas[1], joining)


def with_sampled_labels(call: Callable[..., Any], metas: list[Any]) -> Any:
    """Return the join of empty frames with the labels of made-up rows: without rows pandas takes others."""
    made = call(*metas)
    try:
        labels = of_samples(call, *metas).index[:0]
    except (TypeError, ValueError):  # such rows can't be joined
        return made
    return made.set_axis(labels, axis=0)


class SortedJoin(Join):
    """Partitions of equal divisions, joined by index."""

    @cached_property
    def divisions(self) -> tuple[Any, ...]:
        return self.frame.divisions


@with_function_arguments()
def merge(
    left: Any,
    right: Any,
    how: str = "inner",
    on: Any = None,
    left_on: Any = None,
    right_on: Any = None,
    left_index: bool = False,
    right_index: bool = False,
    sort: bool = False,
    suffixes: tuple[str | None, str | None] = ("_x", "_y"),
    copy: Any = None,
    indicator: bool | str = False,
    validate: str | None = None,
    *,
    npartitions: int | None = None,
    shuffle_method: str | None = None,
    broadcast: bool | float | None = None,
) -> Any:
    """Join two frames, as `pandas.merge` does. Missing keys match missing keys, as in pandas.

    A side of one partition, or one that is taken to be small, is joined with each partition of the other side, if `how`
    allows it: the result has the other side's partitions, with its rows in their order, as pandas since 3.1; before, an inner
    join of pandas has further rows of a repeated key last. How large a side is follows from
    what is known of its sources; filters are taken to leave a quarter. A side of up to 1 GiB, and a quarter of
    what the smallest worker may use (of the memory, without a client), counts as small, too, if the other one has three times as many rows. Two frames that are joined by index and whose divisions are known are
    joined partition by partition. Otherwise the rows of both are moved by the hash of their keys. Then each partition's
    rows are in pandas' order, and which rows are in which partition depends on the keys alone.

    Index labels of the result count the rows of each partition, unless frames are joined by index. Keys of one dtype on both
    sides keep it. Of others pandas makes values, unless a side has no rows; so are they here. Categories that aren't known
    before are joined, and stay categories. In a join in which rows may have no partner, ``dtype`` says of whole numbers and
    booleans before computing what they are if none is missing.

    Parameters
    ----------
    left, right
        Lazy frames or pandas objects. One at least is lazy.
    how
        ``"inner"``, ``"left"``, ``"right"``, ``"outer"``, ``"cross"``; ``"leftsemi"`` or ``"leftanti"``: rows of the left
        frame whose keys the right one has, or hasn't. Since pandas 3 also ``"left_anti"`` and ``"right_anti"``: rows of one
        side whose keys the other one hasn't, with its columns, which are missing.
    on, left_on, right_on, left_index, right_index, suffixes, indicator, validate
        As in `pandas.merge`. Keys are names of columns or index levels.
    sort
        Whether to sort the result by the keys, missing ones where pandas has them: first among times and categories, else last. Rows of equal keys keep the order that the join gives them.
    copy
        Ignored, as by pandas.
    npartitions
        Number of partitions of the result, if rows move. Default: the larger of both sides'.
    shuffle_method
        For compatibility with Dask; there is one method.
    broadcast
        Whether to send a whole side to each partition of the other one: True, False, or None to decide by size. Numbers,
        which Dask takes, are None.

    Raises
    ------
    UnknownColumn
        If a key is missing.

    Examples
    --------
    >>> import pandas as pd
    >>> import glassloom.dataframe as gd
    >>> sales = gd.from_pandas(pd.DataFrame({"k": ["a", "b", "a"], "x": [1, 2, 3]}), npartitions=2)
    >>> names = pd.DataFrame({"k": ["a", "b"], "name": ["Ada", "Bob"]})
    >>> sales.merge(names, on="k").name.compute().tolist()
    ['Ada', 'Bob', 'Ada']
    """
    left, right = _as_lazy_frame(left, "left"), _as_lazy_frame(right, "right")
    require_shuffle_method(shuffle_method)
    if how not in _HOWS:
        raise OptionError(f"how={how!r} should be one of {list(_HOWS)}")
    if validate is not None and validate not in _VALIDATIONS:
        raise OptionError(f"validate={validate!r} should be one of {list(_VALIDATIONS)}")
    if copy not in (None, True, False):
        raise OptionError(f"copy={copy!r} should be None, True or False")
    joining = _joining(
        left.expr.meta,
        right.expr.meta,
        how,
        on,
        left_on,
        right_on,
        left_index,
        right_index,
        suffixes,
        indicator,
        validate,
    )
    count = None if npartitions is None else whole_number("merge", "npartitions", npartitions, 1)
    joined = join_nodes(left.expr, right.expr, joining, count, None if type(broadcast) in (int, float) else broadcast)
    if _is_named_by_rows(joining) and have_unlike_names([left.expr, right.expr]):
        joined = named_as_joined(joined, left.expr, right.expr, how)
    return in_key_order(wrap(joined), joining, left.columns, right.columns) if sort and how != "cross" else wrap(joined)


def _is_named_by_rows(joining: Joining) -> bool:
    """Whether pandas names labels as those of the side that has rows are."""
    return HAS_COPY_ON_WRITE and joining.left_index and joining.right_index and joining.how in ("inner", "outer")


def join_nodes(
    left: FrameExpr, right: FrameExpr, joining: Joining, npartitions: int | None = None, broadcast: Any = None
) -> FrameExpr:
    """Return the node of a join, of the kind that fits."""
    metas = left.meta, right.meta
    by_pandas = partial(derived_meta, partial(joining, *metas), joining, *metas)
    joining = joining.with_right(right.meta).with_united_keys(*metas)
    by_lookup = can_join_by_lookup(*metas, joining, by_pandas)
    if not by_lookup:
        by_pandas()  # what pandas objects to is raised here
    side = _broadcast_side(left, right, joining, broadcast, by_lookup)
    if side is not None and by_lookup:
        return _lookup_join(left, right, joining, side)
    if side is not None:
        return _broadcast_join(left, right, joining, side)
    firsts = _keys_of_rows(left, right, joining)
    by_labels = (joining.left_index and joining.right_index) or _are_labels_keys(joining, *metas)
    if by_labels and left.divisions[0] is not None and right.divisions[0] is not None:
        divisions = union_of_divisions([left, right])
        both = redivide(left, divisions), redivide(right, divisions)
        return _with_one_dtype(_join(*both, joining, None, firsts, kind=SortedJoin), joining)
    own, others = (
        _hash_keys(left, joining.left_on, joining.left_index),
        _hash_keys(right, joining.right_on, joining.right_index),
    )
    shared = _shared_levels(left.meta, right.meta) if joining.left_index and joining.right_index else None
    if shared is not None:
        own = others = shared
    count = npartitions or _usual_count(left, right, own, others)
    if shared is not None and any(name in meta.columns for meta in metas for name in shared):
        count = 1  # columns hide the levels by which rows would move
        both = Repartition(left, 1), Repartition(right, 1)
    else:
        moves = {"left": not _is_in_place(left, own, count), "right": not _is_in_place(right, others, count)}
        left, right = with_partners(left, right, joining, moves=moves)
        both = hash_shuffle(left, own, count), hash_shuffle(right, others, count)
    keys = _keys_of_result(joining) if shared is None else None
    return _with_one_dtype(_join(*both, joining, keys, firsts if count > 1 else ()), joining)


def _are_labels_keys(joining: Joining, left: Any, right: Any) -> bool:
    """Whether the keys are the labels of both sides by their name, which the rows of the join have, too."""
    if joining.how not in ("inner", "left", "right", "outer") or left.index.dtype != right.index.dtype:
        return False
    return all(
        meta.index.nlevels == 1 and keys == (meta.index.name,) and meta.index.name not in meta.columns
        for meta, keys in ((left, joining.left_on), (right, joining.right_on))
    )


def _shared_levels(left: Any, right: Any) -> tuple[Any, ...] | None:
    """Return the names of the levels by which pandas joins two frames by their index, if those are some of one with several; else None."""
    names, others = list(left.index.names), list(right.index.names)
    if len(names) == len(others) == 1 or names == others:
        return None
    return tuple(name for name in names if name is not None and name in others)


def _broadcast_join(left: FrameExpr, right: FrameExpr, joining: Joining, side: str) -> FrameExpr:
    """Return the node of a join of each partition of one side with the whole other one."""
    moved, other = (left, right) if side == "left" else (right, left)
    moved = moved if moved.npartitions == 1 else Repartition(moved, 1)
    may_lack_rows = other.npartitions > 1 and (other.lengths is None or any(other.lengths))
    if may_lack_rows and depends_on_rows(left.meta, right.meta, joining):
        joining = replace(joining, whole=side)
    joined = _join(moved, other, joining, None) if side == "left" else _join(other, moved, joining, None)
    return _with_one_dtype(joined, joining)


def _keys_of_rows(left: FrameExpr, right: FrameExpr, joining: Joining) -> tuple[FrameExpr, ...]:
    """Return the nodes of the keys of a row of each side, if the join of two blocks depends on whether there is one."""
    if not depends_on_rows(left.meta, right.meta, joining):
        return ()
    return keys_of_a_row(left, joining.left_on or ()), keys_of_a_row(right, joining.right_on or ())


def _with_one_dtype(joined: Join, joining: Joining) -> FrameExpr:
    """Return a join with keys of one dtype in all partitions: those without rows of the left side keep the right one's categories."""
    left, right = (side.meta for side in joined.sides)
    keys = value_dependent_keys(left, right, joining) if joined.npartitions > 1 else []
    places = [place for place, name in enumerate(joined.meta.columns) if name in keys]
    made: FrameExpr = with_dtypes_of_all(wrap(joined), places).expr
    return made


def _lookup_join(left: FrameExpr, right: FrameExpr, joining: Joining, side: str) -> FrameExpr:
    """Return the node of a join whose one side is looked up."""
    call = BlockCall(JoinByLookup(joining, finds_right=side == "right"), (Block(0), Block(1)), label="merge")
    frame, found, keys = (left, right, joining.right_on) if side == "right" else (right, left, joining.left_on)
    return LookupJoin(frame, (LookupTable(found, keys or ()),), call)


def _join(
    left: FrameExpr,
    right: FrameExpr,
    joining: Joining,
    keys: tuple[Any, ...] | None,
    firsts: tuple[FrameExpr, ...] = (),
    kind: type[Join] = Join,
    origin: Origin | None = None,
) -> Join:
    if left.name == right.name:
        return kind(left, (), BlockCall(joining, (Block(0), Block(0)), label="merge"), keys, origin=origin)
    blocks = tuple(Block(number) for number in range(2 + len(firsts)))
    if left.npartitions == 1 < right.npartitions:
        call = BlockCall(joining, (blocks[1], blocks[0], *blocks[2:]), label="merge")
        return kind(right, (left, *firsts), call, keys, origin=origin)
    return kind(left, (right, *firsts), BlockCall(joining, blocks, label="merge"), keys, origin=origin)


def _is_in_place(node: FrameExpr, keys: tuple[Any, ...], count: int) -> bool:
    """Whether rows are distributed by their keys already."""
    return node.npartitions == count and (count == 1 or node.hashed_by == keys)


def _usual_count(left: FrameExpr, right: FrameExpr, own: tuple[Any, ...], others: tuple[Any, ...]) -> int:
    """Return as many partitions as a side has that is distributed by its keys already; else as the larger side has."""
    ready = [node.npartitions for node, keys in ((left, own), (right, others)) if node.hashed_by == keys]
    return max(ready or [left.npartitions, right.npartitions])


def _broadcast_side(left: FrameExpr, right: FrameExpr, joining: Joining, broadcast: Any, by_lookup: bool) -> str | None:
    """Return the side that all partitions of the other one get; None if rows must move."""
    nodes = {"right": right, "left": left}
    allowed = {"right": joining.how in _NEEDS_RIGHT_ONLY_ONCE, "left": joining.how in _NEEDS_LEFT_ONLY_ONCE}
    sides = [side for side in nodes if allowed[side]]
    if left.npartitions == right.npartitions == 1:
        return sides[0] if by_lookup else "right"
    if joining.validate is not None:  # each key must be in one partition
        return None
    if joining.how == "cross":
        return min(sides, key=lambda side: nodes[side].npartitions)
    if broadcast is False:
        return None
    for side in sides:
        if nodes[side].npartitions == 1:
            return side
    sizes = {side: size_of(node) for side, node in nodes.items()}
    known = {side: size for side in sides if (size := sizes[side]) is not None}
    if broadcast and sides:
        return min(sides, key=lambda side: (_likely_bytes(known.get(side)), nodes[side].npartitions))
    if by_lookup:
        small = [side for side, size in known.items() if _fits_a_table(size, sizes[_other(side)])]
    else:
        small = [side for side, size in known.items() if _is_worth_sending(size, nodes[_other(side)])]
    return min(small, key=lambda side: known[side].likely_bytes, default=None)


def _likely_bytes(size: Size | None) -> float:
    return float("inf") if size is None else size.likely_bytes


def _fits_a_table(size: Size, other: Size | None) -> bool:
    """Whether a side is made a look-up table, which lies once in the memory of the machine, but is made by one process."""
    runtime = current()
    memory_bytes = own_memory_bytes() if runtime is None else runtime.process_memory_bytes
    if memory_bytes is None:
        return size.likely_bytes <= LOOKUP_BYTES and size.most_bytes <= MOST_LOOKUP_BYTES
    if size.likely_bytes <= min(LOOKUP_BYTES, memory_bytes / 4) and size.most_bytes <= MOST_LOOKUP_BYTES:
        return True
    is_short = other is not None and size.likely_rows * MANY_TIMES <= other.likely_rows
    return is_short and size.likely_bytes <= LARGE_LOOKUP_BYTES and size.most_bytes <= memory_bytes / 4


def _is_worth_sending(size: Size, other: FrameExpr) -> bool:
    """Whether looking up keys in a whole side, anew for each partition of the other one, costs less than moving rows."""
    if size.most_bytes > BROADCAST_BYTES:
        return False
    others = size_of(other)
    if others is None:
        return size.most_bytes * other.npartitions <= BROADCAST_BYTES
    return size.most_rows * other.npartitions <= max(others.most_rows, SMALL_ROWS)


def _other(side: str) -> str:
    return "left" if side == "right" else "right"


def _keys_of_result(joining: Joining) -> tuple[Any, ...] | None:
    """Return the columns of the result that are the keys of all of its rows."""
    if joining.left_index and joining.right_index:
        return ()
    if joining.left_index or joining.right_index:
        return None
    if joining.same_keys or joining.how in ("inner", "left", "leftsemi", "leftanti", "left_anti"):
        names = joining.left_on or ()
        kept = joining.same_keys or not set(names) & set(joining.right_on or ())
        return names if kept else None
    return (
        joining.right_on
        if joining.how == "right" and not set(joining.left_on or ()) & set(joining.right_on or ())
        else None
    )


def _hash_keys(node: FrameExpr, keys: tuple[Any, ...] | None, by_index: bool) -> tuple[Any, ...]:
    """Return the keys as `hash_shuffle` takes them."""
    names = () if by_index else tuple(keys or ())
    is_whole_index = len(names) == 1 and names[0] not in node.meta.columns and node.meta.index.nlevels == 1
    return () if is_whole_index else names


def _as_lazy_frame(value: Any, side: str) -> Any:
    if not is_node(value):
        if not isinstance(value, (pd.DataFrame, pd.Series)):
            raise TypeError(
                f"the {side} side of a merge should be a lazy frame or a pandas object, got {type(value).__name__}"
            )
        value = from_pandas(value, sort=False)
    meta = value.expr.meta
    if isinstance(meta, pd.DataFrame):
        return value
    if isinstance(meta, pd.Series) and meta.name is not None:
        return operate(Method("to_frame"), value, label="to-frame")
    raise TypeError(f"the {side} side of a merge should be a frame or a series with a name, got {type(value).__name__}")


def _joining(
    left: Any, right: Any, how: str, on: Any, left_on: Any, right_on: Any, left_index: bool, right_index: bool,
    suffixes: Any, indicator: Any, validate: Any,
) -> Joining:  # fmt: skip
    """Return a join's options, with the keys that pandas would take by default.

    Raises
    ------
    UnknownColumn
        If a key is missing.
    """
    require_suffixes("merge", suffixes)
    same = on is not None or (left_on is None and right_on is None and not left_index and not right_index)
    if same and on is None and how != "cross":
        common = [name for name in left.columns if name in right.columns]
        on = common or None  # pandas says what is wrong
    if on is not None and (left_on is not None or right_on is not None):
        raise ValueError("merge: give on=, or left_on= and right_on=, not both")
    own, others = _keys(on if same else left_on, left), _keys(on if same else right_on, right)
    for keys, meta in ((own, left), (others, right)):
        if keys is not None and any(is_node(key) or not pd.api.types.is_hashable(key) for key in keys):
            raise NotImplementedError("merge takes names of columns as keys; assign() other keys as columns before")
        require_columns([key for key in keys or () if key not in meta.index.names], meta)
    same = same or (own is not None and own == others)  # as pandas, which makes one column of keys of one name
    first, second = (None if one is None else str(one) for one in suffixes)
    return Joining(how, own, others, left_index, right_index, same, (first, second), indicator, validate)


def _keys(keys: Any, meta: Any) -> tuple[Any, ...] | None:
    """Return the keys of one side. A tuple is several, as in pandas, unless it is the name of a column or level."""
    if keys is None:
        return None
    is_one = isinstance(keys, tuple) and (keys in meta.columns or keys in meta.index.names)
    return tuple(keys) if isinstance(keys, (list, tuple)) and not is_one else (keys,)

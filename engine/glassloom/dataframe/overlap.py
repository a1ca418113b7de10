"""Rows of the partitions beside: so many rows, or those within a time, before and after each partition."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import accumulate
from typing import Any

import numpy as np
import pandas as pd

from glassloom._users_functions import call_users_function
from glassloom.backends.pandas_ import concat, guarded, of_samples
from glassloom.dataframe.argument_kinds import span
from glassloom.dataframe.call import Block, BlockCall
from glassloom.dataframe.delayed_values import with_delayed_values
from glassloom.dataframe.divisions import cut_together, require_first_among
from glassloom.dataframe.meta import checked, infer_meta, parse_meta
from glassloom.dataframe.nodes import FrameExpr, empty
from glassloom.dataframe.prefix import Carried, CarriedBlocks, Scan, scan
from glassloom.dataframe.wrap import bind, wrap
from glassloom.errors import MetaError, OptionError
from glassloom.graph import function_label

_MOST_READ = 8
"""Partitions that each partition may read at most on average, for a look straight at them instead of a scan."""


def with_neighbours(
    node: FrameExpr, before: Any, after: Any, *, on: Any = None
) -> tuple[FrameExpr | None, FrameExpr | None]:
    """Return the nodes of the rows before and of the rows after each partition: concrete frames, or None at the ends.

    Parameters
    ----------
    node
        A frame or series.
    before, after
        A number of rows; or a time, for rows whose label is less than that before the partition's first label (after its
        last). A border row more may be among them. With 0 the node is None.
    on
        The column to take times from. Default: the index. It has to be sorted.
    """
    return _beside(node, before, on, is_reversed=False), _beside(node, after, on, is_reversed=True)


def _beside(node: FrameExpr, reach: Any, on: Any, *, is_reversed: bool) -> Scan | None:
    if node.npartitions == 1 or not reach:
        return None
    title = "rows-after" if is_reversed else "rows-before"
    if isinstance(reach, (int, np.integer)):
        cut = partial(_first_rows if is_reversed else _last_rows, int(reach))
        direct = _direct_reach(node.lengths, int(reach), is_reversed)
        return scan(node, cut, partial(_joined, cut), title, is_reversed=is_reversed, reach=direct)
    cut = partial(_rows_soon_after if is_reversed else _rows_soon_before, pd.Timedelta(reach), on)
    return scan(node, cut, partial(_joined, cut), title, is_reversed=is_reversed)


def _direct_reach(lengths: Sequence[int] | None, count: int, is_reversed: bool) -> tuple[int, ...] | None:
    """Return how many partitions before each have so many rows; None if not known or too many to read."""
    if lengths is None:
        return None
    ends = [0, *accumulate(reversed(lengths) if is_reversed else lengths)]
    reach = [
        number - max(int(np.searchsorted(ends, ends[number] - count, side="right")) - 1, 0)
        for number in range(len(lengths))
    ]
    return tuple(reach) if sum(reach) <= _MOST_READ * len(reach) else None


def _joined(cut: Callable[[Any], Any], blocks: list[Any]) -> Any:
    return cut(concat(blocks))


def _last_rows(count: int, block: Any) -> Any:
    return block.iloc[-count:].copy() if len(block) > count else block


def _first_rows(count: int, block: Any) -> Any:
    return block.iloc[:count].copy() if len(block) > count else block


def _labels(block: Any, on: Any) -> Any:
    return block.index if on is None else pd.Index(block[on])


def _rows_soon_before(reach: Any, on: Any, block: Any) -> Any:
    if not len(block):
        return block
    labels = _labels(block, on)
    return block[np.asarray(labels >= labels[-1] - reach)]


def _rows_soon_after(reach: Any, on: Any, block: Any) -> Any:
    if not len(block):
        return block
    labels = _labels(block, on)
    return block[np.asarray(labels <= labels[0] + reach)]


def overlapping(
    frame: FrameExpr,
    function: Callable[[Any], Any],
    before: Any,
    after: Any,
    *,
    label: str,
    on: Any = None,
    columnwise: bool = False,
    meta: Any = None,
) -> FrameExpr:
    """Return the node of ``function(rows before + partition + rows after)``, without the results of the rows beside.

    The function keeps the number of rows. With `columnwise`, each column of its result is made of that of the frame.
    """
    others, call = _with_neighbours_as_operands(frame, function, before, after, label, on)
    if meta is None:
        meta = empty(of_samples(function, frame.meta))
    is_frame = isinstance(frame.meta, pd.DataFrame)
    remake = partial(_remade, function, before, after, label, on) if columnwise and is_frame else None
    return Carried(frame, others, call, meta, remake)


def overlapping_rows(
    frame: FrameExpr, function: Callable[[Any], Any], before: Any, after: Any, *, label: str, on: Any = None
) -> FrameExpr:
    """Return the same as `overlapping` of a function that makes as many rows of each row, one after the other."""
    others, call = _with_neighbours_as_operands(frame, function, before, after, label, on)
    return CarriedBlocks(frame, others, call, empty(of_samples(function, frame.meta)))


def _with_neighbours_as_operands(
    frame: FrameExpr, function: Callable[[Any], Any], before: Any, after: Any, label: str, on: Any
) -> tuple[tuple[FrameExpr, ...], BlockCall]:
    nodes = with_neighbours(frame, before, after, on=on)
    others = tuple(node for node in nodes if node is not None)
    numbers = iter(range(1, 3))
    places = [Block(next(numbers)) if node is not None else None for node in nodes]
    return others, BlockCall(partial(_without_rows_beside, function), (Block(0), *places), label=label)


def _remade(
    function: Callable[[Any], Any], before: Any, after: Any, label: str, on: Any, frame: FrameExpr
) -> FrameExpr:
    return overlapping(frame, function, before, after, label=label, on=on, columnwise=True)


def _without_rows_beside(function: Callable[[Any], Any], block: Any, before: Any, after: Any) -> Any:
    """Return what a function makes of a block and the rows beside it, without what it makes of those."""
    start = 0 if before is None else len(before)
    whole = _surrounded(block, before, after)
    result = function(whole)
    if len(whole) == len(block):
        return result
    each = len(result) // len(whole)  # rows that are made of a row
    return with_frequency_of(block, result.iloc[start * each : (start + len(block)) * each])


def with_frequency_of(block: Any, result: Any) -> Any:
    """Return a result of a block's rows with the frequency of its times, which labels lose beside those of other blocks."""
    frequency = getattr(block.index, "freq", None)
    if (
        frequency is None
        or getattr(result.index, "freq", frequency) is not None
        or not result.index.equals(block.index)
    ):
        return result
    made = result.copy(deep=False)
    made.index = block.index
    return made


def _surrounded(block: Any, before: Any, after: Any) -> Any:
    if before is None and after is None:  # nothing beside it, or no block of rows
        return block
    some = [one for one in (before, block, after) if one is not None and len(one)]
    if not some:
        return block
    return some[0] if len(some) == 1 else concat(some)


def map_overlap(
    frame: Any,
    function: Callable[..., Any],
    before: Any,
    after: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    *,
    meta: Any,
    enforce_metadata: bool,
    align_dataframes: bool | None,
) -> Any:
    """Call a function with each partition and rows of those beside it. See `DataFrame.map_overlap`."""
    for name, reach in (("before", before), ("after", after)):
        is_count = isinstance(reach, (int, np.integer)) and not isinstance(reach, bool)
        if is_count and reach < 0:
            raise OptionError(f"map_overlap: {name}={reach!r} should be a number of rows, 0 or more, or a time")
        if not is_count:
            span("map_overlap", name, reach)
    label = function_label(function)
    args, kwargs, has_delayed = with_delayed_values(args, kwargs)
    if has_delayed and meta is None:
        raise MetaError(
            f"map_overlap({label}): what a Delayed returns isn't known; say what the function returns with meta="
        )
    nodes, plain = bind(function, (frame, *args), kwargs, label=label)
    nodes, cut = cut_together(nodes, f"map_overlap({label})", align_dataframes, takes_first=True)
    require_first_among(cut, nodes[0], f"map_overlap({label})")
    if any(isinstance(node.meta, pd.Index) for node in cut):
        raise NotImplementedError(f"map_overlap({label}) takes frames and series: give index.to_series(), not an index")
    found = infer_meta(plain, nodes, "map_overlap") if meta is None else parse_meta(meta, nodes[0].meta)
    beside: list[FrameExpr] = []
    places: list[Block | None] = []
    for number, node in enumerate(nodes):
        near = with_neighbours(node, before, after) if node in cut else (None, None)
        places.append(Block(number))
        for one in near:
            places.append(None if one is None else Block(len(nodes) + len(beside)))
            beside.extend([] if one is None else [one])
    call = partial(_called_overlapped, plain, found if enforce_metadata else None)
    return wrap(Carried(nodes[0], (*nodes[1:], *beside), BlockCall(call, tuple(places), label=label), found, None))


def _called_overlapped(users: BlockCall, meta: Any, *blocks: Any) -> Any:
    """Call a user's function with blocks, after each of which come the rows before and after it or None."""
    surrounded = [_surrounded(*blocks[start : start + 3]) for start in range(0, len(blocks), 3)]
    return _without_rows_beside(partial(_call_user, users, meta, surrounded[1:]), *blocks[:3])


def _call_user(users: BlockCall, meta: Any, others: list[Any], block: Any) -> Any:
    name = users.label
    result = call_users_function(users, *map(guarded, (block, *others)))
    if meta is not None:
        result = checked(result, meta, name)
    if len(result) != len(block):
        raise ValueError(
            f"map_overlap({name}) made {len(result)} rows of {len(block)}, so it isn't known which belong to the rows beside"
        )
    return result

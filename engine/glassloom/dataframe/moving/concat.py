"""`concat`, `align`, and `map_partitions` as a function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import pandas as pd

from glassloom.backends.pandas_ import concat as concat_blocks
from glassloom.dataframe.arguments import with_function_arguments
from glassloom.dataframe.call import Block, BlockCall, Method
from glassloom.dataframe.io.from_pandas import from_pandas
from glassloom.dataframe.moving.divisions import redivide, union_of_divisions
from glassloom.dataframe.moving.numbering import renumber
from glassloom.dataframe.moving.shape import concat_nodes
from glassloom.dataframe.nodes import BlockOp, FrameExpr, LabelKeeping, require_aligned
from glassloom.dataframe.wrap import is_node, operate, wrap
from glassloom.errors import DivisionError, OptionError


class SideBySide(LabelKeeping):
    """Frames of equal divisions, aligned by index label partition by partition."""

    @property
    def layout(self) -> str:
        return self.name


class Interleaved(BlockOp):
    """Frames of equal divisions one after the other in each partition."""

    @cached_property
    def divisions(self) -> tuple[Any, ...]:
        return self.frame.divisions


@with_function_arguments()
def concat(
    objs: Sequence[Any],
    *,
    axis: int | str = 0,
    join: str = "outer",
    ignore_index: bool = False,
    keys: Any = None,
    sort: bool | None = None,
    interleave_partitions: bool = False,
    ignore_unknown_divisions: bool = False,
) -> Any:
    """Put frames one after the other, or side by side.

    Parameters
    ----------
    objs
        Lazy or pandas objects. Series among frames are columns.
    axis
        0 or ``"index"``: one after the other. 1 or ``"columns"``: side by side, aligned by index label. Then their
        partitions must correspond, or their divisions be known. With known divisions frames of unlike rows are put in the
        order of their labels.
    join
        What to do with labels of the other axis that not all have: ``"outer"`` fills in missing values, ``"inner"`` drops
        them.
    ignore_index
        Whether to number the rows of the result from 0.
    keys
        Only None.
    sort
        Only False or None.
    interleave_partitions
        Whether frames whose known divisions overlap are cut at the same labels, and put one after the other within each
        partition, so that the result's divisions are known. Default: the first frame's rows come first, as in pandas.
    ignore_unknown_divisions
        With ``axis=1``: whether frames with equally many partitions are taken to correspond, if nothing is known.

    Examples
    --------
    >>> import pandas as pd
    >>> import glassloom.dataframe as gd
    >>> one = gd.from_pandas(pd.DataFrame({"x": [1, 2]}), npartitions=2)
    >>> gd.concat([one, one]).x.compute().tolist()
    [1, 2, 1, 2]
    """
    many = [frame if is_node(frame) else from_pandas(frame, sort=False) for frame in objs]
    if not many:
        raise ValueError("no frames to concatenate")
    if join not in ("outer", "inner"):
        raise OptionError(f"join={join!r} should be 'outer' or 'inner'")
    if keys is not None:
        raise NotImplementedError("concat(keys=...) isn't supported; assign() a column that tells the frames apart")
    if sort:
        raise NotImplementedError("concat(sort=True) isn't supported; choose the columns' order: frame[[...]]")
    if axis in (1, "columns"):
        if ignore_index:
            raise NotImplementedError("concat(axis=1, ignore_index=True) isn't supported; rename the columns")
        return _side_by_side(many, join, ignore_unknown_divisions)
    if axis not in (0, "index"):
        raise OptionError(f"axis={axis!r} should be 0 or 'index', 1 or 'columns'")
    nodes = [frame.expr for frame in _of_one_kind(many)]
    if interleave_partitions and all(node.divisions[0] is not None for node in nodes):
        divisions = union_of_divisions(nodes)
        cut = [redivide(node, divisions) for node in nodes]
        call = BlockCall(_one_after_the_other, tuple(map(Block, range(len(cut)))), {"join": join}, label="concat")
        found: FrameExpr = Interleaved(cut[0], tuple(cut[1:]), call)
    else:
        found = nodes[0] if len(nodes) == 1 else concat_nodes(nodes, join)
    return wrap(renumber(found) if ignore_index else found)


def map_partitions(
    func: Callable[..., Any],
    *args: Any,
    meta: Any = None,
    enforce_metadata: bool = True,
    transform_divisions: bool = True,
    clear_divisions: bool = False,
    align_dataframes: bool = True,
    parent_meta: Any = None,
    required_columns: Any = None,
    **kwargs: Any,
) -> Any:
    """Call a function with each partition of a frame, the first of `args`. See `DataFrame.map_partitions`."""
    if not args or not is_node(args[0]):
        raise TypeError("map_partitions needs a lazy frame, series or index after the function")
    return args[0].map_partitions(
        func, *args[1:], meta=meta, enforce_metadata=enforce_metadata, transform_divisions=transform_divisions,
        clear_divisions=clear_divisions, align_dataframes=align_dataframes, **kwargs,
    )  # fmt: skip


@with_function_arguments()
def map_overlap(func: Callable[..., Any], frame: Any, before: Any, after: Any, *args: Any, **options: Any) -> Any:
    """Call a function with each partition of a frame and rows of those beside. See `DataFrame.map_overlap`."""
    return frame.map_overlap(func, before, after, *args, **options)


@with_function_arguments()
def repartition(frame: Any, divisions: Sequence[Any], force: bool = False) -> Any:
    """Return the rows of a lazy or pandas frame cut at some labels. See `DataFrame.repartition`."""
    lazy = frame if is_node(frame) else from_pandas(frame, npartitions=1)
    return lazy.repartition(divisions=divisions, force=force)


def align(frame: Any, other: Any, join: str = "outer", axis: Any = None, fill_value: Any = None) -> tuple[Any, Any]:
    """Return two frames with the same labels; see `MovingRows.align`."""
    if join not in ("outer", "inner", "left", "right"):
        raise OptionError(f"join={join!r} should be 'outer', 'inner', 'left' or 'right'")
    if not is_node(other):
        other = from_pandas(other)
    own, others = cut_alike([frame.expr, other.expr], "align", ignore_unknown=False)
    options = {"join": join, "axis": axis, "fill_value": fill_value}
    found = []
    for place in (0, 1):
        call = BlockCall(_aligned, (Block(0), Block(1), place), options, label="align")
        found.append(wrap(SideBySide(own, (others,), call)))
    return found[0], found[1]


def _aligned(block: Any, other: Any, place: int, **options: Any) -> Any:
    return block.align(other, **options)[place]


def _side_by_side(many: Sequence[Any], join: str, ignore_unknown: bool) -> Any:
    nodes = cut_alike([frame.expr for frame in many], "concat(axis=1)", ignore_unknown=ignore_unknown)
    are_unlike = len({node.rows for node in nodes}) > 1
    options = {"join": join, "sort": are_unlike and all(node.divisions[0] is not None for node in nodes)}
    call = BlockCall(_beside, tuple(map(Block, range(len(nodes)))), options, label="concat")
    return wrap(SideBySide(nodes[0], tuple(nodes[1:]), call))


def cut_alike(nodes: Sequence[FrameExpr], what: str, *, ignore_unknown: bool) -> list[FrameExpr]:
    """Return frames that can be combined partition by partition.

    Raises
    ------
    DivisionError
        If their partitions don't correspond, and the divisions aren't known.
    """
    first = nodes[0]
    if all(node.layout == first.layout and node.npartitions == first.npartitions for node in nodes):
        return list(nodes)
    if all(node.divisions[0] is not None for node in nodes):
        divisions = union_of_divisions(nodes)
        return [redivide(node, divisions) for node in nodes]
    if ignore_unknown and len({node.npartitions for node in nodes}) == 1:
        return list(nodes)
    try:
        require_aligned(nodes, what)
    except DivisionError as error:
        raise DivisionError(
            f"{error}; or sort both by index: set_index() and sort_index() find the divisions"
        ) from None
    return list(nodes)


def _of_one_kind(many: Sequence[Any]) -> list[Any]:
    """Return frames alone, or series alone: series among frames become frames of one column."""
    kinds = {type(frame.expr.meta).__name__ for frame in many}
    if kinds != {"DataFrame", "Series"}:
        if len(kinds) > 1:
            raise TypeError(f"concat takes frames and series, not {sorted(kinds)}")
        return list(many)
    return [
        operate(Method("to_frame"), frame, 0 if frame.name is None else frame.name, label="to-frame")
        if isinstance(frame.expr.meta, pd.Series)
        else frame
        for frame in many
    ]


def _beside(*blocks: Any, join: Any, sort: bool) -> Any:
    return pd.concat(list(blocks), axis=1, join=join, sort=sort)


def _one_after_the_other(*blocks: Any, join: Any) -> Any:
    filled = [block for block in blocks if len(block)]
    same = len({tuple(block.columns) if isinstance(block, pd.DataFrame) else block.name for block in blocks}) == 1
    return concat_blocks(filled or list(blocks)) if same else pd.concat(filled or list(blocks), join=join)

"""`concat`, `align`, and `map_partitions` as a function."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import pandas as pd

from glassloom.backends.pandas_ import concat as concat_blocks
from glassloom.collection import compute
from glassloom.dataframe.argument_kinds import collection_of
from glassloom.dataframe.arguments import with_function_arguments
from glassloom.dataframe.call import Block, BlockCall, Method
from glassloom.dataframe.divisions import redivide, union_of_divisions
from glassloom.dataframe.io.from_pandas import from_pandas
from glassloom.dataframe.label_nodes import NewLabels
from glassloom.dataframe.moving.numbering import renumber
from glassloom.dataframe.moving.shape import concat_nodes, conform
from glassloom.dataframe.moving.united_categories import with_united_categories
from glassloom.dataframe.nodes import BlockOp, FrameExpr, LabelKeeping
from glassloom.dataframe.numbered_levels import level_at
from glassloom.dataframe.options import is_columns, refused
from glassloom.dataframe.repeated_labels import paired
from glassloom.dataframe.unlike_dtypes import of_all_rows, with_one_dtype
from glassloom.dataframe.wrap import is_node, operate, require_lazy, wrap
from glassloom.errors import OptionError


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
    objs: Any,
    *,
    axis: int | str = 0,
    join: str = "outer",
    ignore_index: bool = False,
    keys: Any = None,
    names: Any = None,
    verify_integrity: bool = False,
    sort: bool = False,
    union_categories: bool = False,
    interleave_partitions: bool = False,
    ignore_unknown_divisions: bool = False,
) -> Any:
    """Put frames one after the other, or side by side.

    Columns of categories stay such if all frames have the same ones, as in pandas, or if they aren't known before: then the result has
    those of all. Known ones that differ become values, unless `union_categories`.

    Parameters
    ----------
    objs
        Lazy or pandas objects, or a dict of those, whose keys are then `keys`; None is left out. Series among frames are columns.
    axis
        0 or ``"index"``: one after the other. 1 or ``"columns"``: side by side, aligned by index label. Then their
        partitions must correspond, or their divisions be known. With known divisions frames of unlike rows are put in the
        order of their labels.
    join
        What to do with labels of the other axis that not all have: ``"outer"`` fills in missing values, ``"inner"`` drops
        them.
    ignore_index
        Whether to number the rows of the result from 0, or with ``axis=1`` its columns.
    keys
        A label for each of `objs`, or a tuple of labels: further levels, before those of the rows' labels, or with ``axis=1``
        before the names of columns.
    names
        Names of the levels that `keys` makes, or of all levels.
    verify_integrity
        Whether equal labels of rows, which are computed now, are an error, or with ``axis=1`` equal names of columns.
    sort
        Whether to sort the names of columns; with ``axis=1`` the labels of rows, whose divisions must be known unless there is one partition.
    union_categories
        Whether columns that are categories in all frames that have them stay such, with the categories of all. Those that aren't
        known are found out now.
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
    >>> gd.concat({"a": one, "b": one}, names=["from"]).compute().index.tolist()
    [('a', 0), ('a', 1), ('b', 0), ('b', 1)]
    """
    many, keys = _with_keys(objs, keys)
    if join not in ("outer", "inner"):
        raise OptionError(f"join={join!r} should be 'outer' or 'inner'")
    if sort not in (True, False):
        raise OptionError(f"sort={sort!r} should be True or False")
    if keys is not None and ignore_index:
        raise ValueError(f"concat: ignore_index=True numbers what keys={list(keys)!r} would label: give one of both")
    if is_columns(axis, "concat"):
        options = {"keys": keys, "names": names, "ignore_index": ignore_index, "verify_integrity": verify_integrity}
        return _side_by_side(many, {"join": join, "sort": bool(sort), **options}, ignore_unknown_divisions)
    if keys is None and names is None and join == "outer" and all(frame.expr.meta.ndim == 2 for frame in many):
        many = _without_nothing(many)
    many = _of_one_kind(many)
    if union_categories:
        many = with_united_categories(many)
    if keys is not None:
        if interleave_partitions:
            raise refused("concat", "interleave_partitions", True, "with keys= the rows of each frame stay together")
        many = _labelled(many, keys, names)
    found = _one_by_one([frame.expr for frame in many], join, bool(sort), interleave_partitions)
    if verify_integrity and not ignore_index:
        _require_unique_labels(wrap(found))
    return wrap(renumber(found) if ignore_index else found)


def _require_unique_labels(joined: Any) -> None:
    labels = joined.index.compute()
    if not labels.is_unique:
        raise ValueError(
            f"concat(verify_integrity=True): Indexes have overlapping values: {labels[labels.duplicated()].unique()[:20].tolist()}"
        )


def _with_keys(objs: Any, keys: Any) -> tuple[list[Any], pd.Index | None]:
    """Return what is concatenated as lazy objects, and the labels of each if it gets any.

    Raises
    ------
    ValueError
        If there is nothing to concatenate, or there are not as many keys.
    """
    if isinstance(objs, Mapping):
        keys = list(objs) if keys is None else list(keys)
        objs = [objs[key] for key in keys]
    given = collection_of("concat", "objs", objs, "frames and series")
    if not given:
        raise ValueError("no frames to concatenate")
    if keys is not None and not hasattr(keys, "dtype"):
        keys = collection_of("concat", "keys", keys, "labels, one for each object")
    labels = None if keys is None else pd.Index(keys if hasattr(keys, "dtype") else list(keys))
    if labels is not None and len(labels) != len(given):
        raise ValueError(f"concat: there are {len(given)} objects, and {len(labels)} keys: {list(labels)[:20]!r}")
    places = [place for place, frame in enumerate(given) if frame is not None]
    if not places:
        raise ValueError("concat: all objects are None")
    many = [given[place] for place in places]
    many = [frame if is_node(frame) else _at_hand(frame) for frame in many]
    return many, None if labels is None else labels[places]


def _at_hand(rows: Any) -> Any:
    """Return a pandas object as a lazy one, whose divisions are known if its labels are in order."""
    index = getattr(rows, "index", None)
    in_order = isinstance(index, pd.Index) and index.nlevels == 1 and index.is_monotonic_increasing
    return from_pandas(rows, sort=in_order)


def _labelled(many: Sequence[Any], keys: pd.Index, names: Any) -> list[Any]:
    """Return frames with levels of keys before the labels of their rows."""
    levels = [level_at(keys, number).unique() for number in range(keys.nlevels)]
    wanted = list(keys.names) if names is None else [names] if pd.api.types.is_scalar(names) else list(names)
    if len(wanted) == keys.nlevels:
        wanted += _names_of_first(many)
    return [
        operate(_with_key, frame, key, levels, wanted, kind=NewLabels, label="keys")
        for frame, key in zip(many, keys, strict=True)
    ]


def _names_of_first(many: Sequence[Any]) -> list[Any]:
    """Return the names of the first frame's levels if all frames have its labels, and not all of them its names; else ``[]``.

    pandas takes its names then, and otherwise those that all have. Labels are computed if nothing else tells.
    """
    indexes = [frame.expr.meta.index for frame in many]
    names = list(indexes[0].names)
    if all(one.nlevels == len(names) and list(one.names) == names for one in indexes):
        return []
    if all(name is None for name in names) or not all(one.nlevels == len(names) for one in indexes):
        return []
    lengths = [frame.expr.lengths for frame in many]
    known = {sum(length) for length in lengths if length is not None}
    if len(known) > 1:
        return []
    first, *others = compute(*[frame.index for frame in many])
    return names if all(first.equals(other) for other in others) else []


def _with_key(block: Any, key: Any, levels: Any, names: list[Any]) -> Any:
    return pd.concat([block], keys=[key], levels=levels, names=names)


def _one_by_one(nodes: list[FrameExpr], join: str, sorts_columns: bool, interleaves: bool) -> FrameExpr:
    """Return the node of frames one after the other."""
    if interleaves and all(node.divisions[0] is not None for node in nodes):
        divisions = union_of_divisions(nodes)
        cut = [redivide(node, divisions) for node in nodes]
        meta = concat_nodes(nodes, join, sorts_columns=sorts_columns).meta
        options = {"join": join, "sort": sorts_columns, "meta": meta}
        call = BlockCall(_one_after_the_other, tuple(map(Block, range(len(cut)))), options, label="concat")
        return Interleaved(cut[0], tuple(cut[1:]), call)
    if len(nodes) == 1 and not sorts_columns:
        return nodes[0]
    return concat_nodes(nodes, join, sorts_columns=sorts_columns)


@with_function_arguments()
def map_partitions(
    func: Callable[..., Any],
    /,
    *args: Any,
    meta: Any = None,
    enforce_metadata: bool = True,
    transform_divisions: bool = True,
    clear_divisions: bool = False,
    align_dataframes: bool | None = None,
    parent_meta: Any = None,
    required_columns: Any = None,
    **kwargs: Any,
) -> Any:
    """Call a function with each partition of a frame, the first of `args`. See `DataFrame.map_partitions`. pandas' object is one partition."""
    frame: Any = _as_one_partition(args[0]) if args else None
    if not is_node(frame):
        raise TypeError("map_partitions needs a lazy frame, series or index after the function")
    return frame.map_partitions(
        func, *args[1:], meta=meta, enforce_metadata=enforce_metadata, transform_divisions=transform_divisions,
        clear_divisions=clear_divisions, align_dataframes=align_dataframes, **kwargs,
    )  # fmt: skip


@with_function_arguments()
def map_overlap(func: Callable[..., Any], frame: Any, before: Any, after: Any, /, *args: Any, **options: Any) -> Any:
    """Call a function with each partition of a frame and rows of those beside. See `DataFrame.map_overlap`. pandas' object is one partition."""
    frame = _as_one_partition(frame)
    require_lazy("map_overlap", frame, pandas=False)
    return frame.map_overlap(func, before, after, *args, **options)


def _as_one_partition(rows: Any) -> Any:
    return from_pandas(rows, npartitions=1, sort=False) if isinstance(rows, (pd.DataFrame, pd.Series)) else rows


@with_function_arguments()
def repartition(frame: Any, divisions: Sequence[Any], force: bool = False) -> Any:
    """Return the rows of a lazy or pandas frame cut at some labels. See `DataFrame.repartition`.

    The divisions of a pandas frame may begin before its labels, and end after them, without `force`.
    """
    if is_node(frame):
        return frame.repartition(divisions=divisions, force=force)
    return from_pandas(frame, npartitions=1).repartition(divisions=divisions, force=True)


def align(frame: Any, other: Any, join: str = "outer", axis: Any = None, fill_value: Any = None) -> tuple[Any, Any]:
    """Return two frames with the same labels; see `MovingRows.align`."""
    if join not in ("outer", "inner", "left", "right"):
        raise OptionError(f"join={join!r} should be 'outer', 'inner', 'left' or 'right'")
    meta = other.expr.meta if is_node(other) else other
    if axis in (1, "columns") and isinstance(frame.expr.meta, pd.DataFrame) and isinstance(meta, pd.Series):
        if is_node(other):
            raise NotImplementedError("align: a lazy series whose labels are columns (axis=1): compute() it before")
        options = {"join": join, "axis": axis, "fill_value": fill_value}
        values = from_pandas(_aligned(frame.expr.meta, other, 1, **options), npartitions=1, sort=False)
        return operate(_aligned, frame, other, 0, kwargs=options, label="align"), values
    if not is_node(other):
        other = from_pandas(other)
    nodes = [frame.expr, other.expr]
    if join != "outer" and isinstance(other.expr.meta, (pd.DataFrame, pd.Series)):
        nodes = [of_all_rows(*nodes), of_all_rows(*nodes[::-1])]
    pairs = paired(nodes, "align")
    own, others = pairs.nodes
    options = {"join": join, "axis": axis, "fill_value": fill_value}
    found = []
    for place in (0, 1):
        call = BlockCall(_aligned, (Block(0), Block(1), place), options, label="align")
        found.append(wrap(pairs.result(SideBySide(own, (others,), call))))
    return found[0], found[1]


def _aligned(block: Any, other: Any, place: int, **options: Any) -> Any:
    return block.align(other, **options)[place]


def _side_by_side(many: Sequence[Any], options: dict[str, Any], ignore_unknown: bool) -> Any:
    given = [frame.expr for frame in many]
    if options["join"] == "inner" and len({node.rows for node in given}) > 1:  # rows that miss values may be left out
        given = [with_one_dtype(wrap(node)).expr for node in given]
    pairs = paired(given, "concat(axis=1)", ignore_unknown=ignore_unknown)
    nodes = pairs.nodes
    are_known = all(node.divisions[0] is not None for node in nodes)
    if options["sort"] and not are_known and nodes[0].npartitions > 1:
        raise refused(
            "concat", "sort", True, "with axis=1 it needs known divisions: sort_index() of the result sorts its rows"
        )
    are_unlike = len({node.rows for node in nodes}) > 1
    options = {**options, "sort": options["sort"] or (are_unlike and are_known)}
    call = BlockCall(_beside, tuple(map(Block, range(len(nodes)))), options, label="concat")
    return wrap(pairs.result(SideBySide(nodes[0], tuple(nodes[1:]), call)))


def _without_nothing(many: list[Any]) -> list[Any]:
    """Return what is concatenated without frames that are known to have no rows and no columns, which pandas leaves out, if there are others."""
    kept = [frame for frame in many if not _is_nothing(frame.expr)]
    return kept or many


def _is_nothing(node: FrameExpr) -> bool:
    has_columns = not isinstance(node.meta, pd.DataFrame) or len(node.meta.columns) > 0
    return not has_columns and node.lengths is not None and not any(node.lengths)


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


def _beside(*blocks: Any, **options: Any) -> Any:
    return pd.concat(list(blocks), axis=1, **options)


def _one_after_the_other(*blocks: Any, join: Any, sort: bool, meta: Any) -> Any:
    """Return blocks as one, with the columns of the whole: frames without rows in this partition have a say in them, too."""
    filled = [block for block in blocks if len(block)] or list(blocks)
    same = len({tuple(block.columns) if isinstance(block, pd.DataFrame) else block.name for block in blocks}) == 1
    joined = concat_blocks(filled) if same and not sort else pd.concat(filled, join=join, sort=sort)
    return conform(joined, meta)

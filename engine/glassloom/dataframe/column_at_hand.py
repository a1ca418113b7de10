"""A column of values that aren't of the frame, an array, list or pandas series, set in a lazy frame: each partition gets its own."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from typing import Any

import numpy as np
import pandas as pd

from glassloom.array.api.array import Array
from glassloom.backends.byte_order import with_native_bytes
from glassloom.dataframe.call import Block, BlockCall
from glassloom.dataframe.io.from_map import from_delayed
from glassloom.dataframe.moving.shape import SetDivisions
from glassloom.dataframe.nodes import FrameBlockwise, FrameExpr
from glassloom.dataframe.widening import can_miss_nothing
from glassloom.delayed_call import call


class AtHand(FrameBlockwise):
    """A frame with values that were at hand: those of a partition are among the arguments of its task.

    It is no `BlockOp`: values belong to the rows at their places, so neither rows nor partitions can be left out before.
    """

    parameters = ("frame", "call", "pieces")

    frame: FrameExpr
    call: BlockCall
    pieces: tuple[Any, ...]

    @property
    def label(self) -> str:
        return self.call.label

    @cached_property
    def meta(self) -> Any:
        return self.call(self.frame.meta, self.pieces[0][:0])

    @property
    def lengths(self) -> tuple[int, ...] | None:
        return self.frame.lengths

    @property
    def function(self) -> Callable[..., Any]:
        return self.call

    def literals(self, index: tuple[int, ...]) -> tuple[Any, ...]:
        return (self.pieces[index[0]],)


class WithColumn(AtHand):
    """A frame with a column of values that were at hand."""

    @cached_property
    def divisions(self) -> tuple[Any, ...]:
        return self.frame.divisions

    @property
    def layout(self) -> str:
        return self.frame.layout


class BesideValues(WithColumn):
    """What an operator makes of a series and values that were at hand."""


class WithLabels(AtHand):
    """A frame or series with labels that were at hand."""

    @cached_property
    def divisions(self) -> tuple[Any, ...]:
        return (None,) * (self.frame.npartitions + 1)


def is_column(value: Any) -> bool:
    """Whether a value has a value for each row."""
    if isinstance(value, (pd.Series, pd.Index, pd.api.extensions.ExtensionArray, list)):
        return True
    return isinstance(value, Array) and value.ndim > 0 or isinstance(value, np.ndarray) and value.ndim == 1


def with_column_at_hand(frame: Any, name: Any, value: Any, *, infers: bool = True) -> FrameExpr:
    """Return the node of a frame with a column of an array, by position, or of a pandas series, by label.

    Whole numbers and booleans become what pandas makes of them if a row has no value: then the labels of rows are computed now, as
    for a series whose labels repeat.

    Parameters
    ----------
    infers
        Whether objects in an array become of the dtype that pandas finds for all of them, as those of a column that is set.

    Raises
    ------
    ValueError
        If an array has another length than the frame, or labels of a series repeat that are others than the frame's.
    """
    node: FrameExpr = frame.expr
    if isinstance(value, Array):
        return beside_lazy_array(frame, partial(_with_named_array, name), value, f"column {name!r}")
    if isinstance(value, pd.Series) and not value.index.is_unique:
        value = _in_place(frame, value)
    if isinstance(value, pd.Series):
        value = with_native_bytes(value)
        setting = BlockCall(_with_labels, (Block(0), name, Block(1)), label="setitem")
        return WithColumn(node, setting, _pieces_by_label(node, _as_wide_as_needed(frame, value)))
    if type(value) is pd.arrays.NumpyExtensionArray:
        value = value.to_numpy()
    if isinstance(value, list) and not value:
        value = np.empty(0)  # as pandas has it
    elif isinstance(value, list) or (infers and isinstance(value, np.ndarray) and value.dtype == object):
        value = pd.Series(value).array
    pieces = pieces_by_place(frame, value, f"column {name!r}")
    return WithColumn(node, BlockCall(_with_array, (Block(0), name, Block(1)), label="setitem"), pieces)


def beside_values_at_hand(series: Any, function: Callable[[Any, Any], Any], values: Any, what: str) -> FrameExpr:
    """Return the node of what an operator makes of a series, or a frame, and an array or list with a value for each row, or a lazy array.

    Raises
    ------
    ValueError
        If there are not as many values as rows.
    """
    if isinstance(values, Array):
        whole = values if values.ndim == 1 else values.rechunk({1: -1})
        return beside_lazy_array(series, function, whole, what, n_axes=series.ndim)
    array = pd.Series(list(values)).array if isinstance(values, (list, tuple, range)) else values
    pieces = pieces_by_place(series, array, what)
    return BesideValues(series.expr, BlockCall(function, (Block(0), Block(1)), label=what), pieces)


def _as_wide_as_needed(frame: Any, series: pd.Series) -> pd.Series:
    """Return values of a dtype that has missing ones, if some rows of the frame have none: partitions may, and others not."""
    if not can_miss_nothing(series.dtype) or bool(frame.index.isin(series.index).all().compute()):
        return series
    return series.astype(object if series.dtype.kind == "b" else "float64")


def with_labels_at_hand(frame: Any, labels: pd.Index) -> FrameExpr:
    """Return the node of a frame or series with other labels of its rows. Its divisions are known if they are in order.

    Raises
    ------
    ValueError
        If there are not as many labels as rows.
    """
    pieces = pieces_by_place(frame, labels, "index")
    made = WithLabels(frame.expr, BlockCall(_with_index, (Block(0), Block(1)), label="index"), pieces)
    if (
        labels.nlevels > 1
        or not labels.is_monotonic_increasing
        or not labels.is_unique
        or not all(len(piece) for piece in pieces)
    ):
        return made
    return SetDivisions(made, (*(piece[0] for piece in pieces), labels[-1]))


def pieces_by_place(frame: Any, values: Any, what: str) -> tuple[Any, ...]:
    """Return the values of each partition's rows; their numbers are computed now, if they aren't known."""
    lengths = frame.expr.lengths
    if lengths is None:
        lengths = tuple(int(one) for one in frame.map_partitions(len).compute())
    if len(values) != sum(lengths):
        raise ValueError(f"{what}: Length of values ({len(values)}) does not match length of index ({sum(lengths)})")
    values, ends = with_native_bytes(values), np.cumsum([0, *lengths])
    return tuple(values[begin:end].copy() for begin, end in zip(ends, ends[1:], strict=False))


def beside_lazy_array(
    frame: Any, function: Callable[[Any, Any], Any], array: Array, what: str, *, n_axes: int = 1
) -> FrameExpr:
    """Return the node of what a function makes of each partition and a block of a lazy array, with a value, or values, for each row.

    Raises
    ------
    ValueError
        If the array has another number of axes than `n_axes`, or other blocks than there are partitions, whose lengths aren't known.
    """
    lengths = frame.expr.lengths
    if array.ndim == n_axes and lengths and all(lengths) and array.shape[0] == sum(lengths):
        array = array.rechunk({0: lengths})
    if array.ndim != n_axes or len(array.chunks[0]) != frame.npartitions:
        axes = "one axis" if n_axes == 1 else f"{n_axes} axes"
        raise ValueError(
            f"{what}: an array of shape {array.shape} in {array.numblocks} blocks; it needs {axes}, and a block for "
            f"each of the {frame.npartitions} partitions"
        )
    checked = partial(_beside, function)
    parts = [
        call(checked, (part, array.blocks[number]), {}, pure=True, label=what)
        for number, part in enumerate(frame.partitions)
    ]
    meta = function(frame.expr.meta, np.empty((0, *array.shape[1:]), array.dtype))
    made: FrameExpr = from_delayed(parts, meta=meta, divisions=frame.divisions if frame.known_divisions else None).expr
    return made


def _beside(function: Callable[[Any, Any], Any], block: Any, values: Any) -> Any:
    if len(values) != len(block):  # one value would be taken for all rows
        raise ValueError(
            f"Length of values ({len(values)}) does not match length of index ({len(block)}), in a block of an array and a partition"
        )
    return function(block, values)


def rows_by_lazy_array(frame: Any, condition: Array) -> FrameExpr:
    """Return the node of the rows for which a lazy array of booleans is true. Raises as `beside_lazy_array`."""
    return beside_lazy_array(frame, _chosen, condition, "condition")


def is_lazy_mask(value: Any) -> bool:
    """Whether a value is a lazy array of booleans."""
    return isinstance(value, Array) and value.dtype == bool


def _chosen(block: Any, condition: Any) -> Any:
    return block[condition]


def _in_place(frame: Any, series: pd.Series) -> Any:
    """Return the values of a series with the labels of a frame, in their order."""
    lengths = frame.expr.lengths
    if (lengths is not None and sum(lengths) != len(series)) or not series.index.equals(frame.index.compute()):
        raise ValueError(
            "cannot reindex on an axis with duplicate labels: the index of a series that is assigned must be unique, or the frame's"
        )
    return series.array


def _pieces_by_label(node: FrameExpr, series: pd.Series) -> tuple[Any, ...]:
    """Return for each partition the values that its labels may need."""
    divisions = node.divisions
    if divisions[0] is None or not series.index.is_monotonic_increasing:
        return (series.copy(),) * node.npartitions
    try:
        return tuple(series.loc[low:high].copy() for low, high in zip(divisions, divisions[1:], strict=False))
    except TypeError:  # labels of another kind: none fits
        return (series.copy(),) * node.npartitions


def _with_index(block: Any, labels: Any) -> Any:
    return block.set_axis(labels, axis=0)


def _with_array(block: Any, name: Any, values: Any) -> Any:
    block = block.copy(deep=False)
    # else the objects of each partition would become of a dtype of their own
    block[name] = pd.Series(values, index=block.index, dtype=object if _are_objects(values) else None)
    return block


def _are_objects(values: Any) -> bool:
    return values.dtype == object or (
        type(values) is pd.arrays.NumpyExtensionArray and values.to_numpy().dtype == object
    )


def _with_named_array(name: Any, block: Any, values: Any) -> Any:
    return _with_array(block, name, values)


def _with_labels(block: Any, name: Any, series: pd.Series) -> Any:
    block = block.copy(deep=False)
    values = series.reindex(block.index)
    block[name] = values
    return block

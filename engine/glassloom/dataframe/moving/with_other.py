"""Methods of a frame or series and another one that are aligned by label: `align`, `combine_first`, `combine`, `compare`, `update`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from glassloom.backends.pandas_version import HAS_COPY_ON_WRITE
from glassloom.dataframe.base import Frame
from glassloom.dataframe.call import Block, BlockCall, Method
from glassloom.dataframe.column_at_hand import beside_values_at_hand
from glassloom.dataframe.divisions import has_no_rows
from glassloom.dataframe.for_each import call_user
from glassloom.dataframe.meta import infer_meta
from glassloom.dataframe.moving.combining_first import combined_first, with_common_dtypes, with_dtypes_of_one_frame
from glassloom.dataframe.moving.concat import SideBySide, align
from glassloom.dataframe.moving.rows_at_hand import beside_all_rows, labelled_together, takes_all_rows
from glassloom.dataframe.names_of_labels import NO_ROWS, whether_rows
from glassloom.dataframe.nodes import FrameExpr
from glassloom.dataframe.options import is_columns, refused
from glassloom.dataframe.repeated_labels import paired
from glassloom.dataframe.wrap import is_node, wrap
from glassloom.errors import OptionError


class WithOther(Frame):
    """Methods of frames and series."""

    def _with_rows_at_hand(self, function: Callable[[Any, Any], Any], other: Any) -> Any:
        """Return what an operator makes of this object and a pandas one, aligned by label."""
        return _together(self, other, function, _name_of(function))

    def _with_values_at_hand(self, function: Callable[[Any, Any], Any], other: Any) -> Any:
        """Return what an operator makes of this series and an array or list with a value for each row."""
        return wrap(beside_values_at_hand(self, function, other, _name_of(function)))

    def align(self, other: Any, join: str = "outer", axis: Any = None, fill_value: Any = None) -> tuple[Any, Any]:
        """Return this frame and another one with the same labels, as `pandas.DataFrame.align` does.

        Parameters
        ----------
        other
            A frame or series whose partitions correspond to this one's; or both have known divisions.
        join
            Whose labels: ``"outer"``, ``"inner"``, ``"left"`` or ``"right"``.
        axis
            0 to align rows, 1 for columns, None for both.
        fill_value
            What stands where a label was missing.
        """
        return align(self, other, join, axis, fill_value)

    def reindex_like(self, other: Any) -> Any:
        """Return the values under the labels of another object, of frames also under its columns. See `reindex`."""
        columns = {"columns": other.columns} if isinstance(self._meta, pd.DataFrame) else {}
        lazy: Any = self
        return lazy.reindex(index=other.index, **columns)

    def combine_first(self, other: Any) -> Any:
        """Return the values with missing ones taken from another frame or series, by label.

        Parameters
        ----------
        other
            A lazy object whose partitions correspond to this one's, or both have known divisions; or a pandas object.
        """
        made = _together(self, other, Method("combine_first"), "combine_first")
        return with_dtypes_of_one_frame(made, self._meta, other.expr.meta if is_node(other) else other)

    def combine(
        self, other: Any, func: Callable[[Any, Any], Any], fill_value: Any = None, overwrite: bool = True
    ) -> Any:
        """Return what a function makes of each pair of columns (of frames) or values (of series), aligned by label.

        Parameters
        ----------
        other
            A lazy or pandas object, as in `combine_first`; of series also a value.
        func
            Called with two values of series, or with two columns of a partition of each frame: it should treat each row by
            itself.
        fill_value
            What stands where only one side has a row.
        overwrite
            Of frames: whether columns become missing of which the other frame has no values. If not, which these are is found out now.
        """
        options: dict[str, Any] = {"func": func, "fill_value": fill_value}
        if overwrite is not True and not isinstance(self._meta, pd.DataFrame):
            raise refused("combine", "overwrite", overwrite, "it is for frames")
        if isinstance(self._meta, pd.Series) and (
            pd.api.types.is_scalar(other) or (is_node(other) and not other.expr.has_rows)
        ):
            return call_user("combine", self, func, (other,), {}, None)
        kept: list[Any] = []
        if not overwrite:
            found = other.notna().any()
            has_values = found.compute() if is_node(found) else found
            kept = [name for name in self._meta.columns if not has_values.get(name, False)]
        lacks_rows = (has_no_rows(self._expr), has_no_rows(other.expr) if is_node(other) else not len(other))
        function, of_whole = (partial(_combined, kept, lacks, options) for lacks in (lacks_rows, (True, True)))
        asks = isinstance(self._meta, pd.DataFrame) and any(_may_lack_rows(one) for one in (self, other))
        of_rows = partial(_combined_as_whole, kept, options) if asks else None
        return _together(self, other, function, "combine", of_whole=of_whole, of_rows=of_rows)

    def compare(
        self,
        other: Any,
        align_axis: Any = 1,
        keep_shape: bool = False,
        keep_equal: bool = False,
        result_names: tuple[str | None, str | None] = ("self", "other"),
    ) -> Any:
        """Return this object's values beside another one's, where they differ.

        Parameters
        ----------
        other
            A lazy or pandas object with the same labels and columns.
        align_axis
            1 or ``"columns"``: side by side. 0 or ``"index"``: one row below the other.
        keep_shape
            Whether to keep all rows and columns. Otherwise which columns of a frame differ is found out now.
        keep_equal
            Whether to keep equal values instead of leaving them missing.
        result_names
            The names of the two sides.
        """
        is_below = not is_columns(align_axis, "compare")
        options = {"align_axis": 0 if is_below else 1, "keep_equal": keep_equal, "result_names": result_names}
        meta = getattr(other, "_meta", other)
        is_frame = isinstance(self._meta, pd.DataFrame)
        if is_frame and isinstance(meta, pd.DataFrame) and not self._meta.columns.equals(meta.columns):
            raise ValueError("Can only compare identically-labeled (both index and columns) DataFrame objects")
        if not is_frame or keep_shape:
            function = partial(_compared, {**options, "keep_shape": keep_shape})
            return _together(self, other, function, "compare", kind=Below if is_below else Together)
        differ = _together(self, other, _differing, "compare").any().compute()
        names = [name for name, is_kept in zip(self._meta.columns, differ, strict=True) if is_kept]
        one: Any = self
        function = partial(_compared_rows, {**options, "keep_shape": True})
        return _together(one[names], other[names], function, "compare", kind=Below if is_below else Together)

    def update(
        self, other: Any, join: str = "left", overwrite: bool = True, filter_func: Any = None, errors: str = "ignore"
    ) -> None:
        """Replace values of this frame or series by another one's that aren't missing, by label.

        Parameters
        ----------
        other
            A lazy or pandas object, as in `combine_first`, or what pandas makes one of: a dict or list. Rows and columns that this object lacks are left out.
        join
            Only ``"left"``.
        overwrite
            Of frames: whether to replace also values that aren't missing.
        filter_func
            Of frames: which values of a column may be replaced: a function of them that returns booleans.
        errors
            Of frames: ``"raise"`` for a ValueError, when it is computed, if both have a value.
        """
        if join != "left":
            raise OptionError(f"update: join={join!r} should be 'left'")
        if isinstance(other, (dict, list)):
            other = pd.DataFrame(other) if isinstance(self._meta, pd.DataFrame) else pd.Series(other)
        options: dict[str, Any] = {}
        if isinstance(self._meta, pd.DataFrame):
            if errors not in ("ignore", "raise"):
                raise OptionError(f"update: errors={errors!r} should be 'ignore' or 'raise'")
            options = {"overwrite": overwrite, "filter_func": filter_func}
        tried = partial(_updated, options)  # made-up rows of both have values
        function = partial(_updated, {**options, "errors": errors}) if options else tried
        if takes_all_rows(self, _at_hand(other, "update")):
            self._expr = beside_all_rows(self, other, function, tried, "update").expr
            return
        self._expr = _together(self, other, function, "update", tried=tried).expr

    def equals(self, other: Any) -> bool:
        """Compute whether another object has the same labels, values and dtypes; missing values are equal."""
        if not is_node(other) and not isinstance(other, (pd.DataFrame, pd.Series)):
            return False
        if is_node(other) and other.expr.name == self._expr.name:
            return True
        theirs = other.expr.meta if is_node(other) else other
        own = self._meta
        if type(own) is not type(theirs) or not own.iloc[:0].equals(theirs.iloc[:0]):
            return False
        return bool(self.compute().equals(other.compute() if is_node(other) else other))


def _name_of(function: Callable[[Any, Any], Any]) -> str:
    """Return what an operator is called, or that of a partial."""
    named = getattr(function, "args", (function,))[:1] or (getattr(function, "func", function),)
    return str(getattr(named[0], "__name__", "operator")).strip("_")


def _together(
    frame: Any,
    other: Any,
    function: Callable[[Any, Any], Any],
    method: str,
    *,
    kind: type[Together] | None = None,
    tried: Callable[[Any, Any], Any] | None = None,
    of_whole: Callable[[Any, Any], Any] | None = None,
    of_rows: Callable[[Any, Any, str, str], Any] | None = None,
) -> Any:
    """Return what a function makes of the partitions of two objects, cut at the same labels.

    Another one may be tried on made-up rows, or called with all rows where both objects have one partition once they are cut, or else with
    what `whether_rows` says of both.
    """
    facts: tuple[FrameExpr, ...] = ()
    if not is_node(other):
        sorts = method != "combine_first" or len(other) > 0
        frame, other = labelled_together(frame, _at_hand(other, method), sorts=sorts)
    pairs = paired([frame.expr, other.expr], method)
    nodes = pairs.nodes
    if of_whole is not None and nodes[0].npartitions == 1:
        function = of_whole
    elif of_rows is not None and nodes[0].name != nodes[1].name:
        facts = (whether_rows(frame.expr), whether_rows(other.expr))
    call = BlockCall(function, (Block(0), Block(1)), label=method.replace("_", "-"))
    if nodes[0].name == nodes[1].name:
        nodes, call = nodes[:1], BlockCall(function, (Block(0), Block(0)), label=call.label)
    trial = BlockCall(tried or function, call.args, label=call.label)
    if method == "compare":
        trial = BlockCall(_labelled_alike, (call, *call.args), label=call.label)
    meta = infer_meta(trial, nodes, method, is_users=method == "combine")
    if method == "combine_first":
        meta = with_common_dtypes(meta, frame.expr.meta, other.expr.meta)
        if isinstance(meta, pd.DataFrame) and has_no_rows(frame.expr) and not has_no_rows(other.expr):
            meta = meta.rename_axis(columns=other.expr.meta.columns.names)
        call = BlockCall(partial(combined_first, meta, nodes[0].npartitions == 1), call.args, label=call.label)
    shows_name = call if method == "compare" else trial
    if facts and of_rows is not None:
        shows_name = BlockCall(of_whole or function, call.args, label=call.label)
        call = BlockCall(of_rows, tuple(map(Block, range(4))), label=call.label)
    made = (kind or Together)(nodes[0], (*nodes[1:], *facts), call, meta)
    return wrap(pairs.result(made, tried=shows_name))


def _may_lack_rows(one: Any) -> bool:
    """Whether it isn't known whether a lazy object has rows."""
    return is_node(one) and one.expr.lengths is None


def _at_hand(other: Any, method: str) -> Any:
    if not is_node(other) and not isinstance(other, (pd.DataFrame, pd.Series)):
        raise TypeError(f"{method} needs a lazy or pandas frame or series, got {type(other).__name__}")
    return other


class Together(SideBySide):
    """Two frames aligned by label, whose result was tried out."""

    parameters = ("frame", "others", "call", "given_meta")

    given_meta: Any

    @property
    def meta(self) -> Any:
        return self.given_meta


class Below(Together):
    """Rows of two frames, one below the other: their labels have a second level."""

    @property
    def divisions(self) -> tuple[Any, ...]:
        return (None,) * (self.frame.npartitions + 1)


def _labelled_alike(call: Callable[..., Any], block: Any, *others: Any) -> Any:
    return call(block, *(other.set_axis(block.index, axis=0) for other in others))


def _combined(kept: list[Any], lacks_rows: tuple[bool, bool], options: dict[str, Any], block: Any, other: Any) -> Any:
    """Return the combined rows of two partitions, with some columns of the first one as they are.

    `lacks_rows`: whether each frame has no rows if its partition has none. pandas calls no function then.
    """
    if len(block) != len(other) and not (len(block) and len(other)):
        pairs = ((block, other, lacks_rows[0]), (other, block, lacks_rows[1]))
        block, other = (
            one if len(one) or lacks else one.reindex(rows.index).rename_axis(index=one.index.names)
            for one, rows, lacks in pairs
        )
    if not kept:
        return block.combine(other, **options)
    block, other = block.align(other, axis=0)
    names = block.columns.union(other.columns, sort=False if HAS_COPY_ON_WRITE else None)
    rest, others = block.drop(columns=kept), other.drop(columns=kept, errors="ignore")
    if not len(others.columns):
        return block[names]
    if not len(rest.columns):
        rest = rest.reindex(columns=others.columns)
    return pd.concat([rest.combine(others, **options), block[kept]], axis=1)[names]


def _combined_as_whole(kept: list[Any], options: dict[str, Any], block: Any, other: Any, *found: str) -> Any:
    own, others = (one == NO_ROWS for one in found)
    return _combined(kept, (own, others), options, block, other)


def _compared(options: dict[str, Any], block: Any, other: Any) -> Any:
    return block.compare(other, **options)


def _differing(block: Any, other: Any) -> Any:
    """Return where values differ; missing ones are equal."""
    return ~((block == other) | (block.isna() & other.isna()))


def _compared_rows(options: dict[str, Any], block: Any, other: Any) -> Any:
    differ = _differing(block, other).any(axis=1).to_numpy()
    return block.compare(other, **options)[np.repeat(differ, 2) if options["align_axis"] == 0 else differ]


def _updated(options: dict[str, Any], block: Any, other: Any) -> Any:
    made = block.copy()
    made.update(other, **options)
    if isinstance(made, pd.Series):
        return made
    texts = [name for name in block.columns if pd.api.types.is_string_dtype(block[name].dtype)]
    return made.astype({name: block[name].dtype for name in texts if made[name].dtype != block[name].dtype})

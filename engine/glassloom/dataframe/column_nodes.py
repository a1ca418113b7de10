"""Row-wise operations that say which columns of a frame each column of their result is made of, so that others needn't be read."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from glassloom.dataframe.arrow.blocks import TableBlock
from glassloom.dataframe.arrow.forms import Form
from glassloom.dataframe.call import Attribute, Block, BlockCall, Method
from glassloom.dataframe.columns import are_told_apart
from glassloom.dataframe.derived_meta import meta_with_labels, names_of
from glassloom.dataframe.nodes import Assign, BlockOp, Columnwise, FrameExpr, Projection, RowsByLabel, Rowwise, SomeRows
from glassloom.expr import Expr

_OF_VALUES = frozenset(
    [
        "isin", "isna", "isnull", "notna", "notnull", "between", "fillna", "astype", "where", "mask", "round", "abs", "clip",
        "rename",
    ]
)  # fmt: skip
"""Methods whose results don't depend on index labels, beside those of ``str`` and ``dt``."""


class Renamed(Rowwise):
    """A frame with other labels of its columns, each at its place."""

    @property
    def labels(self) -> pd.Index:
        """The labels."""
        return self.call.args[1]

    @cached_property
    def meta(self) -> Any:
        made = meta_with_labels(self.frame.meta, self.labels)
        return super().meta if made is None else made

    @property
    def hashed_by(self) -> tuple[Any, ...] | None:
        keys = self.frame.hashed_by
        if keys is None or not self.has_own_labels:
            return None if keys else keys
        new = dict(zip(names_of(self.frame.meta), self.labels, strict=True))
        return tuple([new[key] for key in keys])

    @property
    def has_own_labels(self) -> bool:
        """Whether a label stands for one column, before and after."""
        metas = self.frame.meta.columns, self.labels
        return all([one.is_unique and not isinstance(one, pd.MultiIndex) for one in metas])

    def old_label(self, label: Any) -> Any:
        """Return what the column of a label was called."""
        return self.frame.meta.columns[self.labels.get_loc(label)]

    @property
    def arrow_form(self) -> Form | None:
        return _RenameForm(self.labels) if self.has_own_labels else None


class _RenameForm:
    """The labels of a block's columns, replaced."""

    __slots__ = ("labels",)

    def __init__(self, labels: pd.Index) -> None:
        self.labels = labels

    def __reduce__(self) -> tuple[Any, ...]:
        return (_RenameForm, (self.labels,))

    def __glassloom_tokenize__(self) -> Any:
        return self.labels

    def __call__(self, block: Any) -> Any:
        if type(block) is not TableBlock:
            return NotImplemented
        return TableBlock(dict(zip(self.labels, block.columns.values(), strict=True)), self.labels, block.rows)


class ByLabel(Rowwise):
    """An operation that treats each column by itself, as a dict of labels says; columns that it lacks stay as they are."""

    @property
    def of_labels(self) -> dict[Any, Any]:
        """What is said of each label."""
        return self.call.args[1]


class ChosenByColumns(SomeRows):
    """Rows that are chosen by what is in some of the columns."""

    @property
    def columns(self) -> list[Any]:
        """The labels of those columns."""
        return self.call.kwargs["subset"]


_OF_LABELS = frozenset(["droplevel", "rename_axis", "to_period", "to_timestamp", "tz_convert", "tz_localize"])
"""Methods of frames that look at labels alone."""
_OF_EACH_COLUMN = frozenset(
    [
        "add", "div", "eq", "ge", "gt", "le", "lt", "mask", "mul", "ne", "pow", "radd", "rdiv", "replace", "rmul", "rsub", "rtruediv", "sub",
        "truediv", "where",
    ]
)  # fmt: skip
"""Methods and operators of frames that treat each column by itself, beside other frames with the column of its label. What pandas makes of whole
numbers by ``//`` and ``%`` depends on all of the frame, as it does of columns of objects."""


def of_fewer_columns(node: BlockOp, wanted: Collection[Any]) -> FrameExpr | None:
    """Return a node with some of its columns alone, if what it does treats each by itself; None else, or if those are all."""
    names = set(wanted)
    needed = [name for name in names_of(node.meta) if name in names]
    if not 0 < len(needed) < len(names_of(node.meta)) or not _treats_columns_apart(node):
        return None
    others = [Projection(one, needed) if isinstance(one.meta, pd.DataFrame) else one for one in node.others]
    made: BlockOp = node.rebuild([Projection(node.frame, needed), tuple(others), *node.operands[2:]])
    return made if list(names_of(made.meta)) == needed else None


def _treats_columns_apart(node: BlockOp) -> bool:
    columns = node.meta.columns
    if not are_some((), node.frame) or not columns.identical(node.frame.meta.columns):
        return False
    if isinstance(node, RowsByLabel) or _moves_labels(node):
        return True
    function, given = node.call.function, [*node.call.args, *node.call.kwargs.values()]
    if not all(is_one_value(one) or _has_columns(one, columns) or _is_for_all(one, node.call) for one in node.others):
        return False
    if not all(isinstance(value, Block) or pd.api.types.is_scalar(value) for value in given):
        return _operation(function) == "replace" and _says_what_to_put(node.call.kwargs) and _are_apart(node)
    if isinstance(function, Method) and len(function.path) == 1 and function.path[0] in _OF_LABELS:
        return True
    return _operation(function) in _OF_EACH_COLUMN and _are_apart(node)


def _says_what_to_put(arguments: Mapping[str, Any]) -> bool:
    """Whether lists and dicts of `replace` hold plain values, and none is None, for which pandas makes objects of all columns in a block."""
    return all(_are_values(value) for name, value in arguments.items() if name != "to_replace" or value is not None)


def _are_values(value: Any) -> bool:
    if isinstance(value, dict):
        return all(pd.api.types.is_scalar(key) and _are_values(one) for key, one in value.items())
    if isinstance(value, (list, tuple)):
        return all(map(_are_values, value))
    return value is not None and bool(pd.api.types.is_scalar(value))


def _moves_labels(node: BlockOp) -> bool:
    """Whether a node is ``shift`` with `freq`, which changes labels alone."""
    function = node.call.function
    is_shift = isinstance(function, Method) and function.path == ("shift",) and not node.others
    return is_shift and node.call.kwargs.get("freq") is not None


def _operation(function: Any) -> str:
    if isinstance(function, Method):
        return function.path[0] if len(function.path) == 1 else ""
    return function.__name__ if getattr(function, "__module__", None) == "_operator" else ""


def _are_apart(node: BlockOp) -> bool:
    """Whether the dtype that a column gets doesn't depend on the columns that lie in memory with it."""
    many = [one.meta for one in node.operand_nodes if isinstance(one.meta, pd.DataFrame)]
    if any(pd.api.types.is_object_dtype(dtype) for meta in many for dtype in meta.dtypes):
        return False
    if _operation(node.call.function) not in ("where", "mask"):
        return True
    return all(map(_stays, many[0].dtypes)) and all(len(set(meta.dtypes)) == 1 for meta in many[1:])


def _stays(dtype: Any) -> bool:
    """Whether a column of a dtype keeps it if values are replaced: else pandas changes that of all columns that lie in memory with it."""
    return not isinstance(dtype, np.dtype) or dtype.kind in "Mm" or dtype == np.float64


def _has_columns(node: FrameExpr, columns: pd.Index) -> bool:
    return (
        isinstance(node.meta, pd.DataFrame) and len(node.meta.columns) == len(columns) and are_some(list(columns), node)
    )


def _is_for_all(node: FrameExpr, call: BlockCall) -> bool:
    """Whether an operand is a series of rows that a method takes for each column."""
    takes_rows = call.kwargs.get("axis") in (0, "index") or getattr(call.function, "path", ()) in (
        ("where",),
        ("mask",),
    )
    return isinstance(node.meta, pd.Series) and takes_rows


def is_of_values(node: Rowwise) -> bool:
    """Whether it is an operator, or a method that computes each row from its values and has the dtype that its meta has."""
    function = node.call.function
    if isinstance(function, (Method, Attribute)):
        return function.path[0] in ("str", "dt") or function.path[-1] in _OF_VALUES
    return getattr(function, "__module__", None) == "_operator" or isinstance(function, np.ufunc)


def is_row_by_row(node: Expr) -> bool:
    """Whether each row of a node is known to be computed from the row at its place alone, under its label: those of `shift` aren't.

    In one partition they are nodes like others: pandas' method is called with it.
    """
    if not isinstance(node, Rowwise):
        return isinstance(node, (Projection, Assign))
    if not node.aligns_labels or _finds_categories(node):  # as it gives rows other labels, or needs all values
        return False
    if isinstance(node, (Columnwise, Renamed, ByLabel)) or is_of_values(node):
        return node.keeps_rows
    function: Any = node.call.function
    is_index = isinstance(function, Attribute) and function.path == ("index",)
    is_users = getattr(function, "calls_for_each", False) and function.__name__ in ("map", "apply")
    return (is_index or is_users) and node.keeps_rows


def _finds_categories(node: Rowwise) -> bool:
    """Whether the categories of a result are those that are found among the values."""
    made, before = _dtypes(node.meta), _dtypes(node.frame.meta)
    if len(made) != len(before):
        before = [None] * len(made)
    pairs = zip(made, before, strict=True)
    return any(_is_unknown(new) and not isinstance(old, pd.CategoricalDtype) for new, old in pairs)


def has_unknown_categories(meta: Any) -> bool:
    """Whether there is a column of categories that aren't known before values are read."""
    return any(map(_is_unknown, _dtypes(meta)))


def _is_unknown(dtype: Any) -> bool:
    return isinstance(dtype, pd.CategoricalDtype) and not len(dtype.categories)


def _dtypes(meta: Any) -> list[Any]:
    return list(meta.dtypes) if isinstance(meta, pd.DataFrame) else [getattr(meta, "dtype", None)]


def is_one_value(node: Expr) -> bool:
    """Whether a node is a scalar: an array, as a comparison of an index gives, has a value for each row."""
    if not isinstance(node, FrameExpr) or node.has_rows or node.npartitions != 1:
        return False
    return not isinstance(node.meta, tuple) and np.ndim(node.meta) == 0


def renamed_columns(node: FrameExpr, names: Any, label: str = "columns") -> FrameExpr:
    """Return the node of a frame with other names of its columns.

    Raises
    ------
    ValueError
        If they are not as many.
    """
    made = names if isinstance(names, pd.Index) else pd.Index(list(names))
    have = len(node.meta.columns)
    if len(made) != have:
        raise ValueError(f"the frame has {have} columns, and {len(made)} names were given: {list(made)[:20]!r}")
    return Renamed(node, (), BlockCall(_with_columns, (Block(0), made), label=label))


def _with_columns(block: Any, names: Any) -> Any:
    if type(block) is not pd.DataFrame and block.columns.is_unique and names.is_unique:
        return block.rename(columns=dict(zip(block.columns, names, strict=True)))
    block = block.copy(deep=False)
    block.columns = names
    return block


_with_columns.chooses_columns = True  # type: ignore[attr-defined]  # see `own_columns`
_with_columns.calls_methods = True  # type: ignore[attr-defined]  # see `BlockCall.calls_methods`


def are_some(wanted: Sequence[Any], frame: FrameExpr) -> bool:
    """Whether each of some labels stands for one column of a frame."""
    columns = frame.meta.columns if isinstance(frame.meta, pd.DataFrame) else None
    if columns is None or not columns.is_unique or isinstance(columns, pd.MultiIndex):
        return False
    return are_found_in_lists(columns) and set(wanted) <= set(names_of(frame.meta))


def are_found_in_lists(columns: pd.Index) -> bool:
    """Whether any list of labels of columns chooses these: pandas makes NaN of None beside texts, and takes truth values for a mask."""
    if isinstance(columns, pd.MultiIndex):
        return all([(codes >= 0).all() for codes in columns.codes])
    if columns.dtype != object:
        return bool(columns.dtype != np.bool_) and are_told_apart(columns)
    if columns.inferred_type == "string":
        return True
    return not columns.hasnans and not any(isinstance(one, (bool, np.bool_)) for one in columns)


_OF_TEXTS = pd.Index(["a"]).dtype
"""The dtype of labels that pandas makes of a list of texts."""


def are_of_list(frame: FrameExpr) -> bool:
    """Whether a list of some of a frame's columns makes labels of their dtype: all are texts, or all are whole numbers."""
    columns = frame.meta.columns if isinstance(frame.meta, pd.DataFrame) else None
    if columns is None or isinstance(columns, pd.MultiIndex) or columns.hasnans:
        return False
    return bool(columns.dtype == np.int64 or (columns.dtype == _OF_TEXTS and columns.inferred_type == "string"))


def of_needed(frame: FrameExpr, needed: Collection[Any]) -> Projection | None:
    """Return some columns of a frame, in its order; None if those are all, or none."""
    names = [name for name in names_of(frame.meta) if name in needed]
    return Projection(frame, names) if 0 < len(names) < len(names_of(frame.meta)) else None


def of_needed_columns(node: BlockOp, needed: list[Any]) -> FrameExpr | None:
    """Return a node of fewer columns of its frame, but of one at least, which brings the rows; None if those are all."""
    names = names_of(node.frame.meta)
    if not node.frame.meta.columns.is_unique or isinstance(node.frame.meta.columns, pd.MultiIndex):
        return None
    needed = needed or list(names[:1])
    if len(needed) == len(names):
        return None
    return node.rebuild([Projection(node.frame, needed), *node.operands[1:]])

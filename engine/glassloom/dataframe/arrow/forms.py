"""Arrow forms of block-wise operations: what an operation does with the blocks of `arrow.blocks` in place of pandas' objects.

A form is called with the operation's blocks. It returns `NotImplemented` where it can't give what pandas gives, to the last
dtype and missing value: then pandas' objects are made of the blocks, and the operation's own function is called.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from glassloom.dataframe.arrow.blocks import Column, ColumnBlock, TableBlock, array_of, is_block, lifted, plain
from glassloom.dataframe.call import Attribute, Block, BlockCall, Method
from glassloom.graph import function_label

Form = Callable[..., Any]
_Function = TypeVar("_Function", bound=Callable[..., Any])

_OPERATORS = frozenset(
    ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "neg", "pos", "abs", "invert", "and_", "or_", "xor",
     "eq", "ne", "lt", "le", "gt", "ge"]
)  # fmt: skip
_OF_VALUES = frozenset(
    ["isin", "isna", "isnull", "notna", "notnull", "between", "fillna", "astype", "where", "mask", "round", "abs",
     "clip"]
)  # fmt: skip
"""Methods of series whose results depend on values alone, row by row."""
_OF_TEXT = frozenset(["contains", "startswith", "endswith", "match", "fullmatch"])
_COMPARISONS = frozenset(["eq", "ne", "lt", "le", "gt", "ge"])
_TESTS = frozenset(["isin", "isna", "isnull", "notna", "notnull"])


def takes_blocks(function: _Function) -> _Function:
    """Declare that a function is its own Arrow form: it takes the blocks of `arrow.blocks`, or returns `NotImplemented`."""
    function.takes_blocks = True  # type: ignore[attr-defined]
    return function


def own_form(call: BlockCall) -> Form | None:
    """Return a call if its function is its own Arrow form."""
    function = getattr(call.function, "func", call.function)  # of a partial
    return call if function is len or getattr(function, "takes_blocks", False) else None


class WithForm:
    """An operation inside a fused block, with its Arrow form.

    Parameters
    ----------
    function
        What is called with pandas' objects.
    form
        What is tried first where a block isn't pandas'; of what reads, always.
    is_last
        Whether its result leaves the task.
    """

    __slots__ = ("form", "function", "is_last", "reads")

    def __init__(self, function: Callable[..., Any], form: Form | None, *, is_last: bool = False, reads: bool = False):
        self.function = function
        self.form = form
        self.is_last = is_last
        self.reads = reads

    def __reduce__(self) -> tuple[Any, ...]:
        return (_with_form, (self.function, self.form, self.is_last, self.reads))

    def __glassloom_tokenize__(self) -> Any:
        return (self.function, self.form, self.is_last, self.reads)

    @property
    def __name__(self) -> str:
        return function_label(self.function)

    def __call__(self, *blocks: Any) -> Any:
        made = NotImplemented
        has_blocks = any(map(is_block, blocks))
        if self.form is not None and (self.reads or has_blocks):
            made = self.form(*blocks)
        if made is NotImplemented:
            made = self.function(*map(plain, blocks)) if has_blocks else self.function(*blocks)
        return plain(made) if self.is_last else made


def _with_form(function: Callable[..., Any], form: Form | None, is_last: bool, reads: bool) -> WithForm:
    return WithForm(function, form, is_last=is_last, reads=reads)


@dataclass(frozen=True)
class SelectForm:
    """Choice of a column (`labels` is None), or of the columns that a meta has."""

    name: Any
    labels: pd.Index | None

    def __call__(self, block: Any) -> Any:
        if type(block) is not TableBlock:
            return NotImplemented
        return block.column(self.name) if self.labels is None else block.select(self.labels)


def filter_form(block: Any, predicate: Any) -> Any:
    """Choose the rows of a block where a boolean series of the same rows is true."""
    if not is_block(block):
        return NotImplemented
    column = lifted(predicate, block.rows)
    if column is None or getattr(column.array, "dtype", None) != np.bool_ or not isinstance(column.array, np.ndarray):
        return NotImplemented
    return block.of_rows(block.rows.where(column))


@dataclass(frozen=True)
class AssignForm:
    """Columns added or replaced. `places` has for each the number of the block, or None and the scalar."""

    names: tuple[Any, ...]
    values: tuple[Any, ...]
    labels: pd.Index

    def __call__(self, block: Any, *blocks: Any) -> Any:
        if type(block) is not TableBlock:
            return NotImplemented
        columns = dict(block.columns)
        for name, value in zip(self.names, self.values, strict=True):
            given = blocks[value.number - 1] if isinstance(value, Block) else value
            column = lifted(given, block.rows)
            if column is None:
                if is_block(given) or not pd.api.types.is_scalar(given):
                    return NotImplemented
                column = _repeated(given, block)
            columns[name] = column
        return TableBlock(columns, self.labels, block.rows)


def _repeated(value: Any, block: TableBlock) -> Column:
    """Return a scalar as the column that pandas makes of it."""
    made = pd.DataFrame(index=block.rows.numbers)
    made[0] = value
    return Column.of(array_of(made[0]))


@dataclass(frozen=True)
class SeriesForm:
    """A call whose result, a series, depends on the values of series alone, row by row."""

    call: BlockCall
    is_of_distinct: bool
    """Whether it can be called with the distinct values of its only series in place of all."""

    def __call__(self, *blocks: Any) -> Any:
        first = next(block for block in blocks if is_block(block))
        if type(first) is not ColumnBlock:
            return NotImplemented
        rows = first.rows
        coded = first.column.coded if self.is_of_distinct else None
        if coded is not None:
            return self._of_distinct(first, *coded)
        given = []
        for block in blocks:
            if is_block(block) or isinstance(block, (pd.Series, pd.DataFrame, pd.Index)):
                column = lifted(block, rows)
                if column is None:
                    return NotImplemented
                given.append(column.series(rows, block.name))
            else:
                given.append(block)
        made = self.call(*given)
        if not isinstance(made, pd.Series) or len(made) != rows.count:
            return NotImplemented
        return ColumnBlock(Column.of(array_of(made)), made.name, rows)

    def _of_distinct(self, block: ColumnBlock, codes: Any, values: Any) -> Any:
        """Return the result by calling for each distinct value once, the last for missing ones, whose code is -1."""
        if len(values) == 0 or len(values) > len(codes):
            return NotImplemented
        places = np.arange(len(values) + 1)
        places[-1] = -1
        made = self.call(pd.Series(values.take(places, allow_fill=True), name=block.name))
        if not isinstance(made, pd.Series) or made.dtype != np.bool_:
            return NotImplemented
        return ColumnBlock(Column.of(made.to_numpy().take(codes)), made.name, block.rows)


def series_form(call: BlockCall, metas: list[Any], meta: Any) -> Form | None:
    """Return the form of a row-wise call of operands with these metas, if it gives the series `meta`."""
    if not isinstance(meta, pd.Series) or any(isinstance(one, (pd.DataFrame, pd.Index)) for one in metas):
        return None
    if not isinstance(metas[0], pd.Series) or not _is_of_values(call):
        return None
    is_of_distinct = len(metas) == 1 and meta.dtype == np.bool_ and _is_test_of_text(call)
    return SeriesForm(call, is_of_distinct)


def _is_of_values(call: BlockCall) -> bool:
    function = call.function
    if isinstance(function, Method) and function.path == ("isin",):  # what values are looked for in isn't aligned
        return not any(isinstance(value, Mapping) for value in _constants(call))
    if any(map(_is_of_rows, _constants(call))):
        return False
    if isinstance(function, (Method, Attribute)):
        path = function.path
        return (len(path) == 2 and path[0] in ("str", "dt")) or (len(path) == 1 and path[0] in _OF_VALUES)
    is_operator = getattr(function, "__module__", None) == "_operator"
    return is_operator and getattr(function, "__name__", "") in _OPERATORS


def _is_test_of_text(call: BlockCall) -> bool:
    function = call.function
    if isinstance(function, Method):
        return (len(function.path) == 2 and function.path[0] == "str" and function.path[1] in _OF_TEXT) or (
            len(function.path) == 1 and function.path[0] in _TESTS
        )
    return getattr(function, "__name__", "") in _COMPARISONS and all(
        isinstance(value, str) for value in _constants(call)
    )


def _constants(call: BlockCall) -> list[Any]:
    return [value for value in (*call.args, *call.kwargs.values()) if not isinstance(value, Block)]


def _is_of_rows(value: Any) -> bool:
    """Whether a constant may be aligned by label, or is called with the series."""
    arrays = (pd.Series, pd.DataFrame, pd.Index, np.ndarray, pd.api.extensions.ExtensionArray)
    return callable(value) or isinstance(value, (*arrays, Mapping))

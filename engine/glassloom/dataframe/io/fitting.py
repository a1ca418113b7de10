"""Blocks of text files get the dtypes of the sample; what doesn't fit is named with its column and line."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import pandas as pd

from glassloom.errors import MetaError

SAMPLE_ROWS = 1000
FirstLine = Callable[[], "int | None"]
"""Returns the number of the line of the first row; None if lines can't be counted. Called for messages only."""


def fitted(
    block: Any, meta: Any, where: str, first_line: FirstLine, formats: Mapping[Any, str] = MappingProxyType({})
) -> Any:
    """Return a block with the sample's dtypes, where nothing is lost by that.

    Parameters
    ----------
    where
        The file and the bytes, for messages.
    first_line
        The line of the first row.
    formats
        By which texts of columns should have become times.

    Raises
    ------
    MetaError
        If a column has values that don't fit.
    """
    wanted: dict[Any, Any] = {}
    wrong: dict[Any, Any] = {}
    for name, expected in meta.dtypes.items():
        got = block[name].dtype
        if got == expected or _are_like_categories(got, expected):
            continue
        if _fits(block[name], got, expected):
            wanted[name] = expected
        else:
            wrong[name] = (got, expected)
    if wrong:
        found = "; ".join(
            f"{name!r} holds {_named(got)}, the sample {_named(expected)}{_place(block[name], expected, first_line, formats.get(name))}"
            for name, (got, expected) in wrong.items()
        )
        raise MetaError(
            f"{where}: dtypes differ from those of the first {SAMPLE_ROWS} rows: {found}. {_advice(wrong, formats)}"
        )
    return block.astype(wanted) if wanted else block


def _advice(wrong: dict[Any, Any], formats: Mapping[Any, str]) -> str:
    """Return which arguments to give so that all blocks fit."""
    times = [name for name, (_, expected) in wrong.items() if getattr(expected, "kind", "O") == "M"]
    dtypes = {name: _common(got, expected) for name, (got, expected) in wrong.items() if name not in times}
    advice = [f"Give dtype={dtypes}"] if dtypes else []
    categories = [name for name in dtypes if isinstance(wrong[name][1], pd.CategoricalDtype)]
    if categories:
        advice.append(f"astype('category') makes categories of {', '.join(map(repr, categories))} afterwards")
    if times:
        tried = ", ".join(f"{name!r}: {formats[name]!r}" for name in times if name in formats)
        of_sample = f"The sample's format is {{{tried}}}: give" if tried else "Give"
        advice.append(
            f"{of_sample} date_format= with one that all values have, or 'ISO8601' or 'mixed', or read "
            f"{', '.join(map(repr, times))} as text and call to_datetime() on it"
        )
    return ". ".join(advice)


def kind_of_categories(dtype: Any) -> str:
    """Return what categories are, as `pandas.api.types.infer_dtype` says it; ``"number"`` of all numbers, and ``"empty"`` of none."""
    categories = dtype.categories
    if categories is None or not len(categories):
        return "empty"
    found = str(pd.api.types.infer_dtype(categories))
    return "number" if found in ("integer", "floating", "mixed-integer-float") else found


def _are_like_categories(got: Any, expected: Any) -> bool:
    """Whether both are categories, of values that a whole file would have in one column."""
    if not isinstance(expected, pd.CategoricalDtype) or not isinstance(got, pd.CategoricalDtype):
        return False
    kinds = {kind_of_categories(got), kind_of_categories(expected)} - {"empty"}
    return len(kinds) < 2


def _named(dtype: Any) -> str:
    if not isinstance(dtype, pd.CategoricalDtype) or dtype.categories is None:
        return str(dtype)
    return f"categories of {dtype.categories.dtype}"


_TEXT_IS_OBJECT = pd.Series(["a"]).dtype == object
"""Before pandas 3."""


def _fits(column: Any, got: Any, expected: Any) -> bool:
    if not len(column):
        return True
    if column.isna().all():
        return isinstance(expected, pd.api.extensions.ExtensionDtype) or getattr(expected, "kind", "O") not in "iub"
    kinds = getattr(got, "kind", "O"), getattr(expected, "kind", "O")
    if kinds == ("b", "O"):  # values are missing in the sample alone
        return bool(pd.api.types.is_object_dtype(expected)) and not _TEXT_IS_OBJECT
    if kinds == ("M", "M"):
        return getattr(got, "tz", None) == getattr(expected, "tz", None) and _keeps_times(column, expected)
    if isinstance(expected, pd.CategoricalDtype) and isinstance(got, pd.CategoricalDtype):
        return False
    return kinds in (("i", "f"), ("u", "f"), ("O", "O"))


def _keeps_times(column: Any, expected: Any) -> bool:
    try:
        return bool((column.astype(expected) == column)[column.notna()].all())
    except (ValueError, OverflowError):
        return False


def _common(got: Any, expected: Any) -> str:
    """Return the dtype to give so that both fit."""
    kinds = {getattr(got, "kind", "O"), getattr(expected, "kind", "O")}
    return "float64" if kinds <= set("iuf") else "str"


def _place(column: Any, expected: Any, first_line: FirstLine, date_format: str | None = None) -> str:
    """Return the first value that doesn't fit, with its line."""
    if getattr(expected, "kind", "O") == "M" and date_format is not None:
        times = pd.to_datetime(
            column, format=date_format, errors="coerce", utc=getattr(expected, "tz", None) is not None
        )
        return _shown(column, times.isna() & column.notna(), first_line)
    if getattr(expected, "kind", "O") not in "iuf":
        return ""
    numbers = pd.to_numeric(column, errors="coerce")
    if isinstance(numbers.dtype, pd.ArrowDtype):  # which has no remainder
        numbers = numbers.astype("float64")
    is_wrong = numbers.isna() if getattr(expected, "kind", "O") == "f" else numbers.isna() | (numbers % 1 != 0)
    if column.dtype.kind not in "iuf":
        is_wrong &= column.notna() if numbers[column.notna()].isna().any() else True
    return _shown(column, is_wrong, first_line)


def _shown(column: Any, is_wrong: Any, first_line: FirstLine) -> str:
    if not is_wrong.any():
        return ""
    row = int(is_wrong.to_numpy().argmax())
    value = column.iloc[row]
    shown = "a missing value" if pd.isna(value) else repr(value.item() if hasattr(value, "item") else value)
    line = first_line()
    return f" (first {shown}" + ("" if line is None else f", in line {line + row}") + ")"


def fitted_labels(block: Any, meta: Any, where: str, first_line: FirstLine, *, has_labels: bool = False) -> Any:
    """Return a block whose labels, which the parser has made of fields, have the sample's dtypes. Raises as `fitted`.

    `has_labels`: whether it is known that they are made of fields, also where they follow each other like numbers of rows.
    """
    if isinstance(meta.index, pd.RangeIndex):
        return block
    if not len(block):
        return block.set_axis(meta.index[:0])
    levels = [f"index level {number}" for number in range(meta.index.nlevels)]
    if block.index.nlevels != len(levels) or (isinstance(block.index, pd.RangeIndex) and not has_labels):
        raise MetaError(
            f"{where}: rows have another number of fields than the first {SAMPLE_ROWS} rows have: give names= for as many fields as the longest "
            "row has, with header=None and skiprows=1 for a header of the file, or blocksize=None if the first row of the file has them"
        )
    names = levels if len(levels) > 1 else levels[0]
    labels, wanted = (index.to_frame(index=False, name=names) for index in (block.index, meta.index))
    made = fitted(labels, wanted, where, first_line).set_index(levels).index
    return block.set_axis(made.set_names(block.index.names))


def unreadable_value(frame: Any, dtypes: Any, first_line: FirstLine) -> str:
    """Return which value of a frame of text can't be of the dtype that was asked for, and where; ``""``: none found."""
    wanted = dtypes if isinstance(dtypes, dict) else dict.fromkeys(frame.columns, dtypes)
    for name, dtype in wanted.items():
        if name in frame.columns and pd.api.types.is_numeric_dtype(dtype):
            place = _place(frame[name], pd.api.types.pandas_dtype(dtype), first_line)
            if place:
                return f"column {name!r} should be {dtype}{place}: "
    return ""

"""Text that becomes times, in blocks of text files: all blocks by one format, that of the first value.

pandas guesses the format from the first value of what it parses. Of several blocks each would be parsed by its own, and days and months
might change places between them.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection
from typing import Any

import numpy as np
import pandas as pd
from pandas.tseries.api import guess_datetime_format

from glassloom.backends.pandas_version import HAS_COPY_ON_WRITE

_WITHOUT_VALUES = "ISO8601"
"""The only format that no text is ambiguous in."""
_WITHOUT_FORMAT = ["", "nat", "NaT", "NAT", "nan", "NaN", "NAN", "now", "today"]
"""Texts that pandas passes over when it looks for the first value."""
_LOOKED_AT = 64
"""Values among which the first is looked for before all others are."""
USUAL_TIMES = pd.to_datetime(pd.Series(["2024-01-01"])).dtype
"""The dtype that pandas makes of text."""


def format_of(texts: pd.Series, *, dayfirst: bool = False) -> str:
    """Return the format by which pandas parses a column: that of the first value, or of each by itself if it can't be guessed.

    >>> format_of(pd.Series([None, "13/02/2024"])), format_of(pd.Series(["5 January 2024 10 PM"])), format_of(pd.Series([None]))
    ('%d/%m/%Y', 'mixed', 'ISO8601')
    """
    known = known_texts(texts)
    if not len(known):
        return _WITHOUT_VALUES
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pandas has warned of days that come first when it parsed the sample
        return guess_datetime_format(str(known.iloc[0]), dayfirst=dayfirst) or "mixed"


def known_texts(texts: Any) -> Any:
    """Return the values of a series or index by the first of which pandas guesses a format: not blanks, and no words such as "NaT" and "today"."""
    known = texts[texts.notna()]
    is_text = pd.api.types.is_object_dtype(known.dtype) or pd.api.types.is_string_dtype(known.dtype)
    if not is_text or not len(known):
        return known
    some = known[:_LOOKED_AT]
    few = some[~some.isin(_WITHOUT_FORMAT)]
    return few if len(few) else known[~known.isin(_WITHOUT_FORMAT)]


def with_date_formats(
    options: dict[str, Any],
    sample: Any,
    texts_of: Callable[[list[Any]], Any],
    *,
    is_all: Callable[[Any], bool] = lambda _: False,
    as_objects: Collection[Any] = (),
    makes_numbers: bool = True,
) -> tuple[dict[str, Any], Any]:
    """Return options of `pandas.read_csv` by which all blocks are parsed as the sample is, and the sample as that makes it.

    Parameters
    ----------
    sample
        The first rows, as the options make them.
    texts_of
        Returns the same rows with some columns as text.
    is_all
        Whether there are no other rows. Where the sample has no values others may have some, and are times as usual.
    as_objects
        Columns of times that are objects.
    makes_numbers
        Whether the parser looks for times in the numbers that a `dtype` makes of texts, as that in C does; not in the texts.
    """
    listed = options.get("parse_dates")
    if not isinstance(listed, list) or "date_parser" in options:
        return options, sample
    label_of = {one: _label(one, list(sample.columns)) for one in listed}
    times = [name for name in label_of.values() if name not in as_objects]
    sample = _with_usual_times(sample, times, options.get("date_format"), texts_of, is_all)
    if isinstance(options.get("date_format"), str):
        return options, sample
    given = options.get("date_format") or {}
    names = [name for name in label_of.values() if name in sample.columns and name not in given]
    names = [name for name in names if name not in (options.get("converters") or {})]
    if not names:
        return options, sample
    texts = texts_of(names)
    formats, unparsed = {}, {}
    for name in names:
        has_values = texts[name].notna().any()
        if has_values and sample[name].dtype.kind != "M" and name not in as_objects:
            unparsed[name] = sample[name].dtype  # as pandas leaves it: the first value's format isn't that of all
            continue
        if _is_arrows(sample[name].dtype, options):
            continue
        formats[name] = format_of(texts[name], dayfirst=bool(options.get("dayfirst")))
        if not has_values and len(texts) and not is_all(texts) and name not in as_objects:
            sample = sample.astype({name: USUAL_TIMES})
    options = {
        **options,
        "date_format": {**given, **formats},
        "parse_dates": [one for one in listed if label_of[one] not in unparsed],
    }
    dtype = options.get("dtype")
    is_arrows = (
        options.get("engine") == "pyarrow"
    )  # which makes times of texts also without being asked: blocks that aren't text are read again
    if unparsed and not is_arrows:
        # Of numbers texts are made, where those can be told from objects.
        numbers = {
            name
            for name, one in unparsed.items()
            if makes_numbers and isinstance(one, pd.StringDtype) and is_number(dtype, name)
        }
        texts_read = {
            name: one
            for name, one in unparsed.items()
            if name not in numbers or not are_numbers(texts[name], name, options)
        }
        if dtype is None or isinstance(dtype, dict):
            options["dtype"] = {**(dtype or {}), **texts_read} or None
        elif texts_read and is_number(dtype, None):
            options["dtype"] = {**dict.fromkeys(sample.columns, dtype), **texts_read}
    return options, sample


def _with_usual_times(
    sample: Any,
    names: Collection[Any],
    date_format: Any,
    texts_of: Callable[[list[Any]], Any],
    is_all: Callable[[Any], bool],
) -> Any:
    """Return a sample in which columns of a given format, of which it has no values, have the dtype of those that other rows may have."""
    formats = date_format if isinstance(date_format, dict) else dict.fromkeys(names, date_format)
    own = {name: sample[name].dtype for name in names if name in sample.columns and formats.get(name) is not None}
    usual = {name: _dtype_of_times(formats[name], one) for name, one in own.items() if getattr(one, "kind", "O") == "M"}
    unlike = [name for name, dtype in usual.items() if dtype != own[name]]
    if not unlike:
        return sample
    texts = texts_of(unlike)
    without_values = {name: usual[name] for name in unlike if not texts[name].notna().any()}
    return sample.astype(without_values) if len(texts) and not is_all(texts) else sample


def _dtype_of_times(date_format: str, found: Any) -> Any:
    """Return the dtype of times of a format; what is found of a time zone's, of which values decide."""
    if date_format in ("ISO8601", "mixed"):
        return USUAL_TIMES
    if "%z" in date_format.lower():
        return found
    return pd.to_datetime(pd.Series([pd.Timestamp("2024-01-01").strftime(date_format)]), format=date_format).dtype


def is_number(dtype: Any, name: Any) -> bool:
    """Whether the `dtype` of columns, or of all of them, makes numbers of a column's texts."""
    given = dtype.get(name) if isinstance(dtype, dict) else dtype
    return given is not None and pd.api.types.is_numeric_dtype(given)


def are_numbers(texts: Any, name: Any, options: dict[str, Any]) -> bool:
    """Whether pandas makes numbers of all texts of a column that the `dtype` makes numbers of. If not, it leaves them as they are, or that is an error."""
    dtype = options["dtype"]
    given = pd.api.types.pandas_dtype(dtype.get(name) if isinstance(dtype, dict) else dtype)
    known = texts[texts.notna()].astype("str").str.strip()
    if not isinstance(given, np.dtype):
        return True
    if given.kind == "b":
        words = ["true", "false", *(options.get("true_values") or ()), *(options.get("false_values") or ())]
        return bool((known.str.lower().isin(words) | known.isin(words)).all())
    if options.get("thousands"):
        known = known.str.replace(options["thousands"], "", regex=False)
    if given.kind in "iu":
        return bool(known.str.fullmatch(r"[+-]?\d+").all())
    known = known.str.replace(options.get("decimal", "."), ".", regex=False)
    return bool(pd.to_numeric(known, errors="coerce").notna().all())


def _label(one: Any, columns: list[Any]) -> Any:
    """Return the column that an item of `parse_dates` is: one of that name, or at that place among those that are read."""
    is_place = one not in columns and isinstance(one, int) and -len(columns) <= one < len(columns)
    return columns[one] if is_place else one


def _is_arrows(dtype: Any, options: dict[str, Any]) -> bool:
    """Whether PyArrow parses a column's times, of which pandas 2 makes objects if it is told the format of times of a zone."""
    has_zone = isinstance(dtype, pd.DatetimeTZDtype)
    return has_zone and options.get("engine") == "pyarrow" and not HAS_COPY_ON_WRITE


# JSON, where numbers become times, too.

_UNITS = ("s", "ms", "us", "ns")
_SMALLEST = 31_536_000
"""Numbers up to this are no times to pandas."""


def json_formats(raw: Any, converted: Any) -> dict[Any, str]:
    """Return, for each column of rows that pandas has made times of, the format of its texts or the unit of its numbers.

    Parameters
    ----------
    raw, converted
        The same rows, before and after.
    """
    names = [name for name, dtype in converted.dtypes.items() if getattr(dtype, "kind", "O") == "M"]
    return {name: _how(raw[name], converted[name]) for name in names}


def with_json_times(frame: Any, formats: dict[Any, str]) -> Any:
    """Return rows of JSON with times in some columns; a column whose values aren't all such times stays as it is."""
    made = frame.copy(deep=False)
    for name, how in formats.items():
        if name in made.columns:
            made[name] = _as_times(made[name], how)
    return made


def _how(raw: Any, times: Any) -> str:
    candidates = _UNITS if raw.dtype.kind in "iuf" else (format_of(raw), "ISO8601", "mixed")
    found = (one for one in candidates if _as_times(raw, one).equals(times))
    return next(found, candidates[-1])


def _as_times(column: Any, how: Any) -> Any:
    is_number = column.dtype.kind in "iuf"
    if column.notna().any() and is_number != (how in _UNITS):
        return column
    try:
        if not is_number:
            return pd.to_datetime(column, format=None if how in _UNITS else how)
        if (column <= _SMALLEST).any():
            return column
        made = pd.to_datetime(column, unit=how)
        made.astype("datetime64[ns]")  # beyond those it is of another unit
        return made
    except (ValueError, TypeError, OverflowError):
        return column

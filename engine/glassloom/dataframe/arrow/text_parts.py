"""Texts cut into parts by Arrow, or matched with a regular expression, without the interpreter's lock and without objects for each row.

`Parts` says where each row's parts lie among those of all rows. What is made of them is pandas', to the last dtype and missing value;
where that isn't sure `parts_of` and `groups_of` return None.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from glassloom.dataframe.arrow.regular_expressions import is_plain, translated
from glassloom.dataframe.arrow.text import one_array

Places = np.ndarray[Any, np.dtype[np.int64]]


class Parts(NamedTuple):
    """The parts of each row: those from `starts` to `ends` of `texts`. Missing texts have none."""

    starts: Places
    ends: Places
    texts: pa.Array
    is_missing: Any
    dtype: Any

    def item(self, number: int) -> pa.Array | None:
        """Return the part of each row at a place, from the end if it's negative; None if no row has it."""
        places = (self.starts if number >= 0 else self.ends) + number
        has_it = (places >= self.starts) & (places < self.ends)
        if not has_it.any():
            return None
        return self.texts.take(pa.array(places, mask=None if has_it.all() else ~has_it))

    def column(self, number: int) -> Any:
        """Return the part of each row at a place as an array of the texts' dtype, missing where there is none."""
        found = self.item(number)
        return self.dtype.__from_arrow__(pa.nulls(len(self.starts), self.texts.type) if found is None else found)

    def objects(self, found: pa.Array) -> Any:
        """Return texts, one for each row, as Python's: NaN where there is none, and what the dtype has for missing ones."""
        made = found.to_numpy(zero_copy_only=False)
        if found.null_count:
            made[np.asarray(found.is_null())] = np.nan
        if self.dtype.na_value is pd.NA and self.is_missing is not None:
            made[self.is_missing] = pd.NA
        return made

    def counts(self) -> Any:
        """Return how many parts each row has; of a missing text NaN, or pandas' NA among objects."""
        made = self.ends - self.starts
        if self.is_missing is None:
            return made
        if self.dtype.na_value is pd.NA:
            objects = made.astype(object)
            objects[self.is_missing] = pd.NA
            return objects
        return np.where(self.is_missing, np.nan, made)

    def exploded(self) -> tuple[pa.Array, Places]:
        """Return all parts, one after the other, missing where a row has none; and how many rows each row makes of them."""
        counts = self.ends - self.starts
        repeats = np.maximum(counts, 1)
        firsts = np.cumsum(repeats) - repeats
        places = np.repeat(self.starts - firsts, repeats) + np.arange(repeats.sum())
        has_none = np.repeat(counts == 0, repeats)
        return self.texts.take(pa.array(places, mask=has_none if has_none.any() else None)), repeats


def parts_of(texts: Any, pat: Any, n: Any, regex: Any, *, from_end: bool = False) -> Parts | None:
    """Return the parts of a series of Arrow's texts as ``series.str.split(pat, n=n, regex=regex)`` finds them, or ``rsplit`` with `from_end`."""
    array = _array_of(texts)
    if array is None:
        return None
    if (
        type(n) is not int
        or not len(texts)
        or not (pat is None or isinstance(pat, str) or (_is_pattern(pat) and not from_end))
    ):
        return None
    if regex not in (None, True, False) or (regex is False and _is_pattern(pat)):
        return None
    most = n if n > 0 else None
    if pat is None:
        array = _without_outer_spaces(array, most)
        if array is None:
            return None
        found = pc.ascii_split_whitespace(array, max_splits=most, reverse=from_end)
    elif _is_pattern(pat) or (regex is not False and not from_end and (regex or len(pat) > 1)):
        found = _between_matches(array, pat, most)
    else:
        found = pc.split_pattern(array, pattern=pat, max_splits=most, reverse=from_end) if pat else None
    if found is None:
        return None
    bounds = found.offsets.to_numpy().astype(np.int64)
    starts, ends = bounds[:-1], bounds[1:]
    is_missing = np.asarray(array.is_null()) if array.null_count else None
    if pat is None:  # Arrow finds an empty part in an empty text
        ends = np.where(np.asarray(pc.equal(array, "")), starts, ends)
    return Parts(starts, ends, found.values, is_missing, texts.dtype)


def groups_of(texts: Any, pattern: Any, flags: Any = 0) -> list[Any] | None:
    """Return what the groups of a regular expression match in a series of Arrow's texts, as arrays of its dtype; None if that isn't sure."""
    array = _array_of(texts)
    if array is None or not isinstance(pattern, str) or not isinstance(flags, int):
        return None
    expression = translated(pattern, int(flags))
    if expression is None or not expression.n_groups or not expression.finds_the_same_in(array):
        return None
    return [texts.dtype.__from_arrow__(one) for one in pc.extract_regex(array, pattern=expression.pattern).flatten()]


def _array_of(texts: Any) -> pa.Array | None:
    """Return the texts of a series that has them in Arrow's memory."""
    dtype = getattr(texts, "dtype", None)
    is_arrow = isinstance(texts, pd.Series) and isinstance(dtype, pd.StringDtype) and dtype.storage == "pyarrow"
    return one_array(pa.array(texts.array)) if is_arrow else None


def _is_pattern(pat: Any) -> bool:
    return isinstance(pat, re.Pattern)


def _without_outer_spaces(array: pa.Array, most: int | None) -> pa.Array | None:
    """Return texts without white space at their ends; None if Arrow doesn't know it, or it would be left in the last of some parts."""
    if not is_plain(array):
        return None
    trimmed = pc.ascii_trim_whitespace(array)
    return trimmed if most is None or trimmed.equals(array) else None


def _between_matches(array: pa.Array, pat: str | re.Pattern[str], most: int | None) -> pa.ListArray | None:
    expression = translated(pat.pattern, pat.flags) if isinstance(pat, re.Pattern) else translated(pat)
    if expression is None or expression.n_groups or not expression.takes_characters:
        return None
    if expression.has_places:  # Arrow searches what is left of a text as if it began there
        return None
    if not expression.finds_the_same_in(array):
        return None
    return pc.split_pattern_regex(array, pattern=expression.pattern, max_splits=most)

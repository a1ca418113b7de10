"""The first row of a CSV file, by which pandas' parsers understand all others: how many fields are expected, and which of them are labels."""

from __future__ import annotations

import io
import itertools
import re
from bisect import bisect_left
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pandas as pd

from glassloom.dataframe.io.dated_columns import is_parsed_in_python
from glassloom.dataframe.io.filesystems import Files

_FIRST_BYTES = 1 << 14
_OF_FIELDS = frozenset(
    [
        "sep",
        "delimiter",
        "quotechar",
        "doublequote",
        "escapechar",
        "encoding",
        "skip_blank_lines",
        "quoting",
        "skipinitialspace",
        "comment",
    ]
)
"""The options that say how a line is divided."""


class FirstRow(NamedTuple):
    """The first row of a file, before which only its header is; the first two for pandas' parser in Python, which compares them."""

    text: bytes
    is_labelled: bool
    """Whether it has more fields than the header has names: then pandas takes the first fields of all rows for labels."""
    n_rows: int = 1
    n_fields: int | None = None
    """How many fields it has, if names are given; None: as many as the header."""


def first_row_of(
    function: Callable[..., Any], options: dict[str, Any], header: bytes, path: str, files: Files
) -> FirstRow | None:
    """Return the first row of a file that has this header; None if there is none, or if fields are told from each other in another way.

    Parameters
    ----------
    function, options
        A function of pandas, and those of its options that don't speak of single columns.
    """
    if function is pd.read_fwf:
        return None
    if options.get("engine") == "pyarrow":
        return _for_arrow(function, options, header, path, files)
    n_wanted = 2 if is_parsed_in_python(function, options) else 1
    for n_rows in range(n_wanted, 0, -1):  # fewer of a file that has no more
        found = _shortest(function, options, header, path, files, n_rows)
        if found is not None:
            text, rows = found
            n_made = max(len(function(io.BytesIO(header + text), **options)), 1)
            n_fields = None if options.get("names") is None else _n_fields(function, options, text)
            return FirstRow(text, _is_labelled(function, header + text, options, len(rows.columns)), n_made, n_fields)
    return None


def _for_arrow(
    function: Callable[..., Any], options: dict[str, Any], header: bytes, path: str, files: Files
) -> FirstRow | None:
    """Return the first row as it is; None if a line of the header has as many fields: PyArrow expects those of the first line that it reads."""
    names = options.get("names")
    if names is None and options.get("header", "infer") is not None:
        return None
    found = _shortest(function, _plain(options), b"", path, files, 1, start=len(header))
    return None if found is None else FirstRow(found[0], names is not None and len(found[1].columns) > len(names))


def _plain(options: dict[str, Any]) -> dict[str, Any]:
    """Return the options by which lines are divided, without names for the fields."""
    return {**{name: options[name] for name in _OF_FIELDS if name in options}, "header": None, "dtype": str}


def _n_fields(function: Callable[..., Any], options: dict[str, Any], text: bytes) -> int:
    """Return how many fields a row has; 0 of a blank one, and where that can't be told without names."""
    try:
        return len(function(io.BytesIO(text), **_plain(options), nrows=1).columns)
    except (pd.errors.EmptyDataError, pd.errors.ParserError):
        return 0


def _shortest(
    function: Callable[..., Any],
    options: dict[str, Any],
    header: bytes,
    path: str,
    files: Files,
    n_rows: int,
    start: int | None = None,
) -> tuple[bytes, Any] | None:
    """Return as few lines as there must be for some rows, and the rows: one goes on in several lines if there are line ends in quotes."""

    def rows(text: bytes) -> Any:
        """Return the first rows of a text as a frame; None if there are fewer."""
        try:
            made = function(io.BytesIO(header + text), **options, nrows=n_rows)
        except ValueError:  # it goes on, there are lines to skip, or lines of the header are lacking
            return None
        return made if len(made) == n_rows else None

    found, text = None, b""
    for text in _beginnings(files, path, len(header) if start is None else start):
        found = rows(text)
        if found is not None:
            break
    if found is None:
        return None
    ends = [one.end() for one in re.finditer(b"\n", text)]
    if len(ends) > 1:
        text = text[: ends[bisect_left(ends, True, key=lambda end: rows(text[:end]) is not None)]]
    return text, found


def _is_labelled(function: Callable[..., Any], text: bytes, options: dict[str, Any], n_names: int) -> bool:
    try:
        return len(function(io.BytesIO(text), **{**options, "index_col": 0}).columns) >= n_names
    except pd.errors.ParserError as error:  # as it has several more
        if "construct index" not in str(error):
            raise
        return True


def _beginnings(files: Files, path: str, start: int) -> Iterator[bytes]:
    """Yield the first line from a place on, the first two, four..., up to all of them."""
    size, n_lines = _FIRST_BYTES, 1
    data, is_all = b"", False
    while True:
        ends = [found.end() for found in itertools.islice(re.finditer(b"\n", data), n_lines)]
        if len(ends) == n_lines:
            yield data[: ends[-1]]
            n_lines *= 2
        elif is_all:
            if data:
                yield data if data.endswith(b"\n") else data + b"\n"
            return
        else:
            data = files.read(path, start, start + size)
            is_all, size = len(data) < size, size * 8

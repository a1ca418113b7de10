"""Bytes of a file for pandas' C parser, which works on UTF-8. Given a text file, pandas decodes it and encodes it again."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator
from typing import Any

import pandas as pd

_PLAIN = frozenset(
    [
        "cache_dates",
        "comment",
        "date_format",
        "dayfirst",
        "decimal",
        "delimiter",
        "doublequote",
        "dtype",
        "dtype_backend",
        "encoding",
        "engine",
        "false_values",
        "float_precision",
        "header",
        "keep_default_na",
        "low_memory",
        "na_filter",
        "na_values",
        "names",
        "nrows",
        "on_bad_lines",
        "parse_dates",
        "quotechar",
        "quoting",
        "sep",
        "skip_blank_lines",
        "skipinitialspace",
        "skiprows",
        "thousands",
        "true_values",
        "usecols",
    ]
)
"""Options with which bytes are parsed as text is."""
_SIGNS = ("sep", "delimiter", "quotechar", "comment", "decimal", "thousands")
_ENCODINGS = (None, "utf-8", "utf8", "UTF-8")


def takes_bytes(function: Callable[..., Any], options: dict[str, Any]) -> bool:
    """Whether a function of pandas will parse text in UTF-8 with its C parser."""
    if function not in (pd.read_csv, pd.read_table) or not options.keys() <= _PLAIN:
        return False
    if options.get("engine") not in (None, "c") or options.get("encoding") not in _ENCODINGS:
        return False
    signs = [options[name] for name in _SIGNS if name in options]
    is_plain = all(isinstance(sign, str) and len(sign) == 1 and sign.isascii() for sign in signs)
    return is_plain and not callable(options.get("on_bad_lines"))


class Utf8Bytes:
    """A part of an open file after a header, read as bytes. Not a binary file to pandas, which would decode such.

    Bytes that aren't UTF-8 raise the error that decoding them would. One reader, on one thread.
    """

    mode = "r"

    def __init__(self, file: Any, header: bytes, start: int, end: int | None) -> None:
        file.seek(start)
        self._file, self._header = file, header
        self._left = None if end is None else end - start
        self._decoder: Any = None

    def __iter__(self) -> Iterator[bytes]:
        return iter(lambda: self.read(1 << 18), b"")

    def read(self, size: int) -> bytes:
        """Return the next bytes, at most `size` unless it is the header; none at the end."""
        if self._header:
            data, self._header = self._header, b""
        else:
            data = self._file.read(size if self._left is None else min(size, self._left))
            if self._left is not None:
                self._left -= len(data)
        self._check(data)
        return data

    def _check(self, data: bytes) -> None:
        if self._decoder is None:
            if data.isascii():
                return
            self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._decoder.decode(data, final=not data)

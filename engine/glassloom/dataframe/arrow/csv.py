"""Plain CSV parsed by Arrow, without the interpreter's lock: only where the frame is the one that pandas would make.

Texts whose meaning the two may see differently (quotes, numbers among names, zeros with signs, infinities...)
are left to pandas. So is everything from pandas 2 on that rounds numbers otherwise than Arrow, to the nearest one.
"""

from __future__ import annotations

import io
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv as pa_csv

_KNOWN = frozenset({"dtype", "usecols", "sep", "delimiter", "header", "encoding"})
_DEFAULTS: dict[str, tuple[Any, ...]] = {"header": ("infer", 0), "encoding": (None, "utf-8", "utf8", "UTF-8")}
_SEPARATORS = frozenset(",;|\t")
_MISSING = [
    "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A", "NA", "NULL",
    "NaN", "None", "n/a", "nan", "null",
]  # fmt: skip
"""What pandas takes for missing."""
_BLOCK_BYTES = 1 << 18
_WINDOW_ROWS = 512
_MOST_COLUMNS = 500
"""pandas infers dtypes for pieces of rows: with this many columns, of at least twice the window."""
_LARGEST = 9e18
"""Larger whole numbers pandas may take for text."""
_HARD_TO_ROUND = ("0.14444435999999998", "0.53850108493789391", "9007199254740993.0", "123456789.12345678e-30")


class ArrowCsv(NamedTuple):
    """How plain files are parsed: the names of all columns in the files, and the sign between values."""

    names: tuple[str, ...]
    separator: str
    header: bytes
    """The line of the names, without its end."""
    given: frozenset[str]
    """The columns whose dtypes the user has given."""

    def parse(self, data: bytes, meta: Any, *, header: bytes | None) -> Any:
        """Return the frame of the columns of `meta`, or None if pandas should parse the text.

        `header` is the line of the names; None if it is the first one of `data`.
        """
        types = _types(meta)
        if types is None or not _is_plain(data):
            return None
        if pa.int64() in types.values() and (b"0x" in data or b"0X" in data):  # to Arrow a number
            return None
        if (data[: data.find(b"\n")] if header is None else header.rstrip(b"\n")) != self.header:
            return None
        try:
            table = pa_csv.read_csv(
                pa.py_buffer(data),
                read_options=pa_csv.ReadOptions(
                    use_threads=False, block_size=_BLOCK_BYTES, column_names=self.names, skip_rows=int(header is None)
                ),
                parse_options=pa_csv.ParseOptions(delimiter=self.separator, quote_char=False),
                convert_options=pa_csv.ConvertOptions(
                    include_columns=list(types),
                    column_types=types,
                    null_values=_MISSING,
                    strings_can_be_null=True,
                    check_utf8=False,
                ),
            )
        except pa.ArrowInvalid:  # pandas will say what is wrong, or understand it
            return None
        arrays = {name: _array(table[name], dtype, is_given=name in self.given) for name, dtype in meta.dtypes.items()}
        return None if any(array is None for array in arrays.values()) else pd.DataFrame(arrays, copy=False)


def arrow_csv(options: dict[str, Any], data: bytes, sample: Any) -> ArrowCsv | None:
    """Return how Arrow may parse files; None if pandas has to.

    Parameters
    ----------
    options
        Those of `pandas.read_csv`.
    data
        The beginning of the first file.
    sample
        The frame of no rows.
    """
    separator = options.get("sep", options.get("delimiter", ","))
    is_known = options.keys() <= _KNOWN and all(options.get(key, among[0]) in among for key, among in _DEFAULTS.items())
    if not is_known or not isinstance(separator, str) or separator not in _SEPARATORS or not _rounds_to_nearest():
        return None
    header, _, rows = data[: data.rfind(b"\n") + 1].partition(b"\n")
    if not header.strip() or not _is_plain(header) or not isinstance(sample.index, pd.RangeIndex):
        return None
    names = [str(name) for name in pd.read_csv(io.BytesIO(header), sep=separator, nrows=0)]
    if not 2 <= len(names) <= _MOST_COLUMNS or len(names) != header.count(separator.encode()) + 1:
        return None
    dtype = options.get("dtype")
    given = [name for name in names if (name in dtype if isinstance(dtype, dict) else dtype is not None)]
    found = ArrowCsv(tuple(names), separator, header, frozenset(given))
    return None if found.parse(rows, sample, header=header) is None else found


@lru_cache(maxsize=1)
def _rounds_to_nearest() -> bool:
    """Whether pandas' parser makes of a number what Python and Arrow make of it: it does from 3.1 on."""
    made = pd.read_csv(io.StringIO("x\n" + "\n".join(_HARD_TO_ROUND))).x
    return bool(made.dtype == np.float64) and made.tolist() == [float(text) for text in _HARD_TO_ROUND]


def _types(meta: Any) -> dict[str, pa.DataType] | None:
    """Return the Arrow types of columns; None if a column is of another dtype than these."""
    types: dict[str, pa.DataType] = {}
    for name, dtype in meta.dtypes.items():
        if dtype == np.int64:
            types[name] = pa.int64()
        elif dtype == np.float64:
            types[name] = pa.float64()
        elif isinstance(dtype, pd.StringDtype) and dtype.storage == "pyarrow" and dtype.na_value is np.nan:
            types[name] = pa.large_string()
        else:
            return None
    return types or None


def _is_plain(data: bytes) -> bool:
    """Whether the text is UTF-8 without signs that only one of the parsers gives a meaning, or each its own."""
    if any(sign in data for sign in (b'"', b"\r", b"\0")):
        return False
    if data.isascii():
        return True
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _array(column: Any, dtype: Any, *, is_given: bool) -> Any:
    """Return a column as pandas has it; None if pandas may make something else of it."""
    if pa.types.is_large_string(column.type):
        return dtype.__from_arrow__(column) if is_given or _is_text(column) else None
    values = column.to_numpy()
    if pa.types.is_int64(column.type):
        is_same = not column.null_count
    else:
        is_same = _is_unambiguous(values, column.null_count)
    if not is_same:
        return None
    return values if values.flags.writeable else values.copy()


def _is_unambiguous(values: Any, n_missing: int) -> bool:
    """Whether numbers are finite and not among the large ones, and no zero has a sign."""
    if np.count_nonzero(np.abs(values) < _LARGEST) + n_missing < len(values):
        return False
    zeros = values[values == 0]
    return not zeros.size or not np.signbit(zeros).any()


def _is_text(column: Any) -> bool:
    """Whether in each piece of rows for which pandas infers a dtype there is a value that can't be a number or boolean."""
    if not len(column):
        return True
    places = [*range(0, len(column), _WINDOW_ROWS), len(column) - 1]
    for place, text in zip(places[:-1], column.take(pa.array(places[:-1])).to_pylist(), strict=True):
        if not _is_word(text) and not any(map(_is_word, column.slice(place, _WINDOW_ROWS).to_pylist())):
            return False
    return _is_word(column[len(column) - 1].as_py())


def _is_word(text: str | None) -> bool:
    """Whether a value makes a column one of text."""
    if text is None or text.lower() in ("true", "false"):
        return False
    try:
        float(text)
    except ValueError:
        return True
    return False

"""A block of a CSV file as a frame: pandas' parser and its options, and what tells that rows aren't like those of the sample."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Collection
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from glassloom.backends.pandas_ import columns_of
from glassloom.backends.pandas_version import PANDAS_VERSION
from glassloom.dataframe.io.blocks import (
    Header,
    TextBlock,
    encoded_text,
    first_line,
    has_lines_of_bytes,
)
from glassloom.dataframe.io.common_types import is_text
from glassloom.dataframe.io.compression import chosen_compression
from glassloom.dataframe.io.date_formats import are_numbers, is_number
from glassloom.dataframe.io.dated_columns import is_parsed_in_python
from glassloom.dataframe.io.filesystems import Files
from glassloom.dataframe.io.first_rows import FirstRow, first_row_of
from glassloom.dataframe.io.fitting import (
    fitted,
    fitted_labels,
    kind_of_categories,
    unreadable_value,
)
from glassloom.dataframe.io.path_column import PathColumn
from glassloom.dataframe.io.utf8_bytes import Utf8Bytes, takes_bytes
from glassloom.errors import MetaError, OptionError, ParseError

_ARROW_VERSION = tuple(int(part) for part in pa.__version__.split(".")[:1])
_BAD_LINE = re.compile(r"Expected \d+ fields in line (\d+), saw \d+")
_OF_COLUMNS = frozenset(["usecols", "index_col", "dtype", "converters", "parse_dates", "date_format", "nrows"])
_BY_COLUMN = ("dtype", "converters", "na_values")


@dataclass(frozen=True)
class Parser:
    """How a block becomes a frame: one of pandas' functions and its options.

    Blocks of the files in `headers` lack their first lines, which are there; blocks of others lack `header`.

    What the first row of a text is decides on what pandas makes of the others: which are bad lines, which fields are labels, which columns are
    chosen. So blocks that begin within a file (`begins_within`) are parsed after the file's first row, which is left out of the result then.
    """

    function: Callable[..., Any]
    options: dict[str, Any]
    files: Files
    path_column: PathColumn | None
    header: bytes = b""
    headers: dict[str, bytes] = field(default_factory=dict)
    known_first_rows: dict[str, FirstRow | None] = field(default_factory=dict, compare=False, repr=False)
    times_as_objects: frozenset[Any] = frozenset()
    """Columns of which `parse_dates` makes times, and `dtype` objects."""
    of_all: Parser | None = None
    """The parser of all columns, if this one is of some of them."""

    def __glassloom_tokenize__(self) -> Any:
        return (self.function, self.options, self.header, self.headers, self.files, self.path_column)

    def with_headers(self, headers: dict[str, bytes]) -> Parser:
        """Return the parser for blocks of files that lack these headers."""
        header = next(iter(headers.values()), b"")
        others = {path: one for path, one in headers.items() if one != header}
        return replace(self, header=header, headers=others, known_first_rows={})

    def header_of(self, block: TextBlock) -> bytes:
        """Return the first lines that a block lacks: none if it is a whole file."""
        return b"" if block.end is None else self.headers.get(block.path, self.header)

    def begins_within(self, block: TextBlock) -> bool:
        """Whether a block begins after other rows of its file."""
        return block.end is not None and block.start not in (0, len(self.header_of(block)))

    def has_labels(self, block: TextBlock) -> bool:
        """Whether rows have more fields than the header has names, the first of which are labels then."""
        first = self._first_row(block)
        return first is not None and first.is_labelled and self.options.get("index_col") is not False

    def text_before(self, block: TextBlock) -> bytes:
        """Return the lines of its file after which a block is parsed."""
        first = self._first_row(block) if self.begins_within(block) else None
        return self.header_of(block) + (b"" if first is None else first.text)

    def _first_row(self, block: TextBlock) -> FirstRow | None:
        """Return the first row of a block's file; None if there is none, or it doesn't matter."""
        if self.of_all is not None:
            return self.of_all._first_row(block)
        known = self.known_first_rows
        if block.path not in known:
            plain = {name: value for name, value in self.options.items() if name not in _OF_COLUMNS}
            if self.options.get("index_col") is False:
                plain["index_col"] = False
            if self.options.get("usecols") is not None and is_parsed_in_python(self.function, self.options):
                plain["usecols"] = self.options["usecols"]  # without which it refuses what has more fields than names
            options = _with_safe_engine({**plain, "dtype": str, "compression": None})
            known[block.path] = first_row_of(self.function, options, self.header_of(block), block.path, self.files)
        return known[block.path]

    def for_columns(self, columns: list[Any], known: Collection[Any]) -> Parser:
        """Return a parser that reads these columns alone, of the known ones; all where pandas can't choose them.

        `usecols` takes texts, which are names, or whole numbers, which are places in the file.
        """
        names, before, dates = (self.options.get(option) for option in ("names", "usecols", "parse_dates"))
        in_file = [name for name in columns if not self.is_path(name)]
        chosen = {**self.options, **_choice(in_file, self.options)} if in_file else dict(self.options)
        if isinstance(dates, list):
            chosen["parse_dates"] = [
                one for one in dates if one in columns or (_is_number(one) and not (before is None and one in known))
            ]
        has_places = isinstance(dates, list) and any(map(_is_number, chosen["parse_dates"]))  # among the columns read
        named = columns if names is None else [*columns, *names]
        if isinstance(self.options.get("header"), (list, tuple)) or not all(
            isinstance(name, str) or (names is None and not has_places and _is_number(name)) for name in named
        ):
            return self
        if self._has_moving_places(columns, known):
            return self
        if names is not None and before is not None and is_parsed_in_python(self.function, self.options):
            return self  # which refuses rows with more fields than names, also where it is told which fields those are
        chosen |= _without_numbers(chosen, {*known} - {*columns})
        return replace(self, options=chosen, of_all=self)

    def _has_moving_places(self, columns: list[Any], known: Collection[Any]) -> bool:
        """Whether numbers in the options, or names that are numbers, stand for other columns where fewer are read."""
        options = self.options
        is_named = options.get("names") is None and options.get("header", "infer") is not None
        if options.get("engine") == "pyarrow" and not is_named:
            return options.get("header") is None  # it knows the fields by names of its own
        if callable(options.get("usecols")) and any(map(_is_number, columns)):  # what it leaves out isn't counted
            return True
        keys = [key for option in _BY_COLUMN if isinstance(options.get(option), dict) for key in options[option]]
        are_places = any(_is_number(key) and key not in known for key in keys)
        return are_places and not takes_bytes(self.function, options)  # the C parser takes them for places in the file

    def parse(self, block: TextBlock, **options: Any) -> Any:
        """Return the frame of a block; of all columns if pandas refuses to read some of them, or takes labels without a name for one then."""
        if self.of_all is None:
            return self._parsed(block, options)
        if self._needs_all_columns(block, self.of_all):
            return self.of_all.parse(block, **options)
        try:
            made = self._parsed(block, options)
        except (ValueError, KeyError):  # names of fewer fields than rows have, or of more, or that pandas makes
            return self.of_all.parse(block, **options)
        if not len(made):  # as pandas' parser in C finds no row where the first has none of the chosen fields
            return self.of_all.parse(block, **options)
        return made

    def _needs_all_columns(self, block: TextBlock, of_all: Parser) -> bool:
        """Whether pandas reads some columns rightly only among all: where rows have labels, or the first row lacks fields of those."""
        if of_all.options.get("usecols") is None:
            return is_parsed_in_python(self.function, self.options) and (
                not has_cuttable_lines(block.path, self.options) or self.has_labels(block)
            )
        if not has_cuttable_lines(block.path, self.options) or self.has_labels(block):
            return True
        first, chosen = self._first_row(block), self.options["usecols"]
        if first is None or first.n_fields is None or callable(chosen):
            return False
        return any(_is_number(one) and one >= first.n_fields for one in chosen)

    def _parsed(self, block: TextBlock, options: dict[str, Any]) -> Any:
        with self.files.unchanged(block.state, self.function.__name__):
            before = self.text_before(block)
            frame = self._parse_as_written(block, before, _with_safe_engine({**self.options, **options}))
            if len(before) > len(self.header_of(block)):
                frame = self._without_first_row(frame, block)
        return frame if self.path_column is None else self.path_column.added(frame, block.path)

    def _without_first_row(self, frame: Any, block: TextBlock) -> Any:
        first = self._first_row(block)
        return _without_rows(frame, 1 if first is None else first.n_rows, has_labels=self.has_labels(block))

    def is_path(self, name: Any) -> bool:
        """Whether a column is that of the files' paths."""
        return self.path_column is not None and name == self.path_column.name

    def _parse_as_written(self, block: TextBlock, before: bytes, options: dict[str, Any]) -> Any:
        """Return the frame of a text, with texts as they are written also where PyArrow makes numbers or times of all of them in this text."""
        texts = _texts_unknown_to_arrow(options)
        if not texts:
            return self._parse(block, before, options)
        others = {name: dtype for name, dtype in options["dtype"].items() if name not in texts}
        frame = self._parse(block, before, {**options, "dtype": others or None})
        texts = {name: dtype for name, dtype in texts.items() if name in frame.columns}
        if all(_is_text(frame[name].dtype) for name in texts):
            return frame.astype(texts)
        again = self._parse(block, before, as_text(options))
        for name, dtype in texts.items():
            frame[name] = again[name].astype(dtype)
        return frame

    def _parse(self, block: TextBlock, before: bytes, options: dict[str, Any]) -> Any:
        is_local = self.files.arrow is None
        compression = _compression_of(block.path, options) if block.end is None else None
        if is_local and compression is None and takes_bytes(self.function, options):
            with self.files.open(block.path) as file:
                return self.function(Utf8Bytes(file, before, block.start, block.end), **options)
        if block.end is None and is_local:
            return self.function(block.path, **options)
        data = self.files.read(block.path, block.start, block.end)
        if block.end is None:
            return self.function(io.BytesIO(data), **{"compression": compression, **options})
        return self.function(io.BytesIO(before + data), **options)


def _without_rows(frame: Any, n_rows: int, *, has_labels: bool) -> Any:
    """Return a frame without its first rows, of which they aren't: nor are categories that only these rows have."""
    made = frame.iloc[n_rows:]
    if not has_labels:
        made = made.set_axis(pd.RangeIndex(len(made)), axis=0)
    for place, dtype in enumerate(made.dtypes):
        if not isinstance(dtype, pd.CategoricalDtype):
            continue
        column = made.iloc[:, place]
        first = frame.iloc[:n_rows, place].dropna().cat.codes.unique()
        foreign = [dtype.categories[code] for code in first if not (column.cat.codes == code).any()]
        if foreign:
            made.isetitem(place, column.cat.remove_categories(foreign))
    return made


def _with_safe_engine(options: dict[str, Any]) -> dict[str, Any]:
    """Return the options by which text is read as it is written: before pandas 3.1, PyArrow's engine makes numbers of it, and text of these."""
    if PANDAS_VERSION >= (3, 1) or options.get("engine") != "pyarrow":
        return options
    dtype = options.get("dtype")
    given = dtype.values() if isinstance(dtype, dict) else () if dtype is None else (dtype,)
    if not any(map(pd.api.types.is_string_dtype, given)):
        return options
    return {**options, "engine": "c"}


def as_text(options: dict[str, Any]) -> dict[str, Any]:
    """Return the options by which all fields are text as they are written.

    PyArrow's engine takes the dtypes of single columns, too, only where it knows their names and no number is missing in others.
    """
    made = {**options, "dtype": str}
    if options.get("engine") == "pyarrow" and not (PANDAS_VERSION >= (3, 1) and _ARROW_VERSION >= (25,)):
        made["engine"] = "c"
    return made


def _texts_unknown_to_arrow(options: dict[str, Any]) -> dict[Any, Any]:
    """Return the dtypes of texts that PyArrow isn't told, as it has names of its own for the columns: pandas makes texts of its numbers and times."""
    dtype = options.get("dtype")
    if options.get("engine") != "pyarrow" or not isinstance(dtype, dict):
        return {}
    if options.get("names") is None and options.get("header", "infer") is not None:
        return {}
    return {
        name: one
        for name, one in dtype.items()
        if pd.api.types.is_string_dtype(one) or pd.api.types.is_object_dtype(one)
    }


def _choice(columns: list[Any], options: dict[str, Any]) -> dict[str, Any]:
    """Return the options that choose columns: by their numbers where the names that are given stand for some of them."""
    names, chosen_before = options.get("names"), options.get("usecols")
    if names is None or chosen_before is None or callable(chosen_before):
        return {"usecols": columns}
    numbers = sorted(filter(_is_number, chosen_before))
    if len(numbers) < len(chosen_before) or len(set(numbers)) < len(numbers):  # names, which stand for themselves
        return {"usecols": columns}
    number_of = dict(zip(names, numbers if len(names) == len(numbers) else range(len(names)), strict=True))
    kept = sorted(columns, key=number_of.__getitem__)
    return {"names": kept, "usecols": [number_of[name] for name in kept]}


def _without_numbers(options: dict[str, Any], names: Collection[Any]) -> dict[str, Any]:
    """Return the options of single columns without these names, where they are numbers, which would be places.

    Texts stay: the name of a column that isn't read is also that of those that repeat it.
    """
    made = {}
    for option in _BY_COLUMN:
        given = options.get(option)
        if not isinstance(given, dict):
            continue
        left_out = [key for key in given if _is_number(key) and key in names]
        if left_out:
            made[option] = copy(given)  # with the default value that it may have
            for key in left_out:
                del made[option][key]
    return made


def _is_number(one: Any) -> bool:
    return isinstance(one, (int, np.integer)) and not isinstance(one, bool)


def header_of(options: dict[str, Any]) -> Header:
    """Return which lines go before the first row.

    Raises
    ------
    OptionError
        If that can't be known without parsing.
    """
    skipped = skipped_lines(options)
    header = options.get("header", "infer" if options.get("names") is None else None)
    lines = _header_lines(header)
    if skipped is None or lines is None:
        raise OptionError(
            f"with skiprows={options.get('skiprows')!r} and header={header!r} files can't be cut; set blocksize=None"
        )
    labels = options.get("index_col")
    if isinstance(header, (list, tuple)) and labels is not None and labels is not False:
        raise OptionError(
            f"with header={header!r} and index_col={labels!r} files can't be cut, as a line may have the index's names; set blocksize=None, or call "
            "set_index()"
        )
    comment = encoded_text(str(options.get("comment") or ""), options.get("encoding"))
    return Header(skipped, lines, comment, options.get("skip_blank_lines", True))


def _header_lines(header: Any) -> int | None:
    """Return how many lines a header has with those before it; None if that can't be told."""
    if header is None:
        return 0
    if header == "infer":
        return 1
    numbers = header if isinstance(header, (list, tuple)) else [header]
    return 1 + max(numbers) if numbers and all(map(_is_number, numbers)) else None


def skipped_lines(options: dict[str, Any]) -> int | None:
    """Return how many lines are skipped at the beginning; None if single ones are chosen."""
    skipped = options.get("skiprows")
    return 0 if skipped is None else skipped if isinstance(skipped, int) else None


def is_compressed(path: str, options: dict[str, Any]) -> bool:
    """Whether a file is compressed, by its options or its name."""
    return _compression_of(path, options) is not None


def has_cuttable_lines(path: str, options: dict[str, Any]) -> bool:
    """Whether lines end where the bytes of a file do that are a line feed: then a block or a first row is found without parsing all of it."""
    if is_compressed(path, options) or options.get("skipfooter"):
        return False
    plain = options.get("escapechar") is None and options.get("lineterminator") is None
    return plain and has_lines_of_bytes(options.get("encoding"))


def _compression_of(path: str, options: dict[str, Any]) -> Any:
    compression = options.get("compression", "infer")
    if compression != "infer":
        return compression
    return chosen_compression(path.lower(), compression)


def read_block(block: TextBlock, parser: Parser, meta: Any, are_chosen: bool = False) -> Any:
    """Return the frame of a block, with the columns and dtypes of the sample. `are_chosen`: others that the file has don't matter.

    Raises
    ------
    ParseError, MetaError
        If it can't be parsed, or hasn't those.
    """
    where = f"{block.path!r}, bytes {block.start} to {block.end or 'end'}"
    try:
        frame = parser.parse(block)
        if texts := _texts_read_as_others(frame, meta):
            dtypes = parser.options.get("dtype") or {}
            numbers = [name for name in texts if is_number(dtypes or None, name)]
            _require_numbers(frame, numbers, block, parser)
            frame = frame.astype({name: texts.pop(name) for name in numbers})
        if texts:
            given = dtypes if isinstance(dtypes, dict) else dict.fromkeys(frame.columns, dtypes)
            again = parser.parse(block, **_text_options({**given, **texts}, texts, parser.options))
            for name in texts:
                column = again[name]
                if _is_category(meta[name].dtype):
                    frame[name] = column.astype("category")
                elif _is_text(column.dtype):  # else the caller's options make something else of it
                    frame[name] = column.astype(texts[name])
    except pd.errors.EmptyDataError:  # no line, not even a header: as some programs write a partition without rows
        return meta
    except ParseError:
        raise
    except (pd.errors.ParserError, UnicodeDecodeError, EOFError) as error:
        raise ParseError(f"{block.path!r} can't be read as CSV: {_said(error, block, parser)}") from error
    except ValueError as error:
        raise MetaError(f"{where}: {_reason(block, parser)}{error}") from error
    missing = [name for name in meta.columns if name not in frame.columns]
    if missing:
        raise MetaError(f"{block.path!r} lacks the columns {missing}, which the first file has")
    others = [name for name in frame.columns if name not in meta.columns and not parser.is_path(name)]
    if others and not are_chosen and not all(parser.is_path(name) for name in meta.columns):
        raise MetaError(
            f"{block.path!r} has the columns {others}, which the first file lacks: give usecols={list(meta.columns)}, or read "
            "the files by themselves and put them together with concat()"
        )
    if not frame.columns.equals(meta.columns):
        frame = columns_of(frame, list(meta.columns))
    if parser.options.get("engine") == "pyarrow":
        frame = _with_missing_objects(frame, meta, parser.options.get("dtype"))
    formats = parser.options.get("date_format")
    _require_times(frame, parser, where)
    if not isinstance(meta.index, pd.RangeIndex):
        has_labels = block.end is not None and parser.has_labels(block)
        frame = fitted_labels(frame, meta, where, lambda: _first_row_line(block, parser), has_labels=has_labels)
    if isinstance(formats, str):
        formats = dict.fromkeys(meta.columns, formats)
    return fitted(frame, meta, where, lambda: _first_row_line(block, parser), formats or {})


def _with_missing_objects(frame: Any, meta: Any, dtype: Any) -> Any:
    """Return a frame whose missing values are None in columns of PyArrow's days and times of day, also where there are no others."""
    given = meta.columns if dtype is not None and not isinstance(dtype, dict) else dtype or ()
    for name, expected in meta.dtypes.items():
        is_object = pd.api.types.is_object_dtype(expected) and not pd.api.types.is_object_dtype(frame[name].dtype)
        if is_object and name not in given and frame[name].isna().all():
            frame[name] = pd.Series([None] * len(frame), frame.index, dtype=object)
    return frame


def _require_times(frame: Any, parser: Parser, where: str) -> None:
    """Check that objects are times where those of the sample are.

    Raises
    ------
    MetaError
        If they aren't.
    """
    for name in parser.times_as_objects:
        texts = [] if name not in frame.columns else [one for one in frame[name] if isinstance(one, str)]
        if texts:
            date_format = (parser.options.get("date_format") or {}).get(name)
            times = pd.to_datetime(pd.Series(texts, dtype=object), format=date_format, errors="coerce")
            wrong = texts[int(times.isna().to_numpy().argmax())]
            raise MetaError(
                f"{where}: column {name!r} holds {wrong!r}, which isn't a time of the sample's format; give date_format= with one that all "
                "values have, or 'ISO8601' or 'mixed', or read it as text and call to_datetime() on it"
            )


def _said(error: Exception, block: TextBlock, parser: Parser) -> str:
    """Return the text of an error of pandas, with the line's number in the file where it says that of a line in the block."""
    text = str(error)
    if "Too many columns specified" in text and block.end is not None:
        return f"{text.strip()} in bytes {block.start} to {block.end}. Give names= for the fields that rows have, or blocksize=None"
    found = _BAD_LINE.search(text)
    if found is None:
        return text
    if parser.begins_within(block):
        line = first_line(block, parser.files) + int(found[1]) - 1 - parser.text_before(block).count(b"\n")
        text = text[: found.start(1)] + str(line) + text[found.end(1) :]
    return f"{text.strip()}. Give names= for all fields, usecols= to leave some out, or on_bad_lines='skip'"


def _text_options(dtypes: dict[Any, Any], texts: Collection[Any], options: dict[str, Any]) -> dict[str, Any]:
    """Return the options by which columns are read once more for those that are text, of which no times are made."""
    made = as_text({"engine": "pyarrow"}) if options.get("engine") == "pyarrow" else {"dtype": dtypes}
    dates = options.get("parse_dates")
    return {**made, "parse_dates": [one for one in dates if one not in texts]} if isinstance(dates, list) else made


def _texts_read_as_others(frame: Any, meta: Any) -> dict[Any, Any]:
    """Return the dtypes of columns that are text in the sample, and of which this block has numbers, booleans or times alone.

    Codes without letters are such. Categories that are text are read as text, too.
    """
    texts = {name: dtype for name, dtype in meta.dtypes.items() if name in frame.columns and _are_texts(dtype)}
    return {
        name: str if dtype == "str" or _is_category(dtype) else dtype
        for name, dtype in texts.items()
        if not _are_texts(frame[name].dtype) and frame[name].notna().any()
    }


def _require_numbers(frame: Any, names: list[Any], block: TextBlock, parser: Parser) -> None:
    """Raise a ValueError if booleans became numbers, of which the texts are made: pandas leaves the texts of all rows as they are then."""
    names = [name for name in names if frame[name].dtype.kind in "iuf" and frame[name].dropna().isin((0, 1)).all()]
    if not names:
        return
    texts = parser.parse(block, **as_text(parser.options))
    for name in names:
        if not are_numbers(texts[name], name, parser.options):
            raise ValueError(
                f"column {name!r} has booleans, and numbers in the first rows. Give dtype={{{name!r}: str}} without parse_dates for it"
            )


def _are_texts(dtype: Any) -> bool:
    return kind_of_categories(dtype) == "string" if _is_category(dtype) else _is_text(dtype)


def without_categories(meta: Any) -> Any:
    """Return a meta whose categories aren't known before a file is read."""
    names = [name for name, dtype in meta.dtypes.items() if _is_category(dtype)]
    return meta.astype(dict.fromkeys(names, object)).astype(dict.fromkeys(names, "category")) if names else meta


def _is_category(dtype: Any) -> bool:
    return isinstance(dtype, pd.CategoricalDtype)


def _is_text(dtype: Any) -> bool:
    is_arrow = isinstance(dtype, pd.ArrowDtype) and is_text(dtype.pyarrow_dtype)
    return isinstance(dtype, pd.StringDtype) or is_arrow


def _first_row_line(block: TextBlock, parser: Parser) -> int | None:
    if block.end is not None:
        return first_line(block, parser.files)
    try:
        header = header_of(parser.options)
        return 1 + header.skipped + header.lines
    except OptionError:
        return None


def _reason(block: TextBlock, parser: Parser) -> str:
    """Return which value isn't of the dtype that the caller has given, and where; ``""`` if it isn't that."""
    dtypes = parser.options.get("dtype")
    if dtypes is None:
        return ""
    try:
        return unreadable_value(parser.parse(block, dtype=str), dtypes, lambda: _first_row_line(block, parser))
    except ValueError:  # then it isn't the dtype
        return ""

"""CSV files and those with fields of fixed width, as frames; large ones are divided into blocks at line ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pandas as pd

from glassloom.backends.pandas_ import columns_of
from glassloom.config import Configured, chosen
from glassloom.dataframe.arguments import with_function_arguments
from glassloom.dataframe.backend import to_backend
from glassloom.dataframe.call import Block, BlockCall
from glassloom.dataframe.io.blocks import (
    NO_HEADER,
    TextBlock,
    cut_files,
    encoded_text,
    has_lines_of_bytes,
    likely_rows,
)
from glassloom.dataframe.io.compression import ENDINGS
from glassloom.dataframe.io.csv_blocks import (
    Parser,
    as_text,
    has_cuttable_lines,
    header_of,
    is_compressed,
    read_block,
    without_categories,
)
from glassloom.dataframe.io.date_formats import with_date_formats
from glassloom.dataframe.io.dated_columns import is_parsed_in_python, labels_of_booleans, with_dtypes, with_plain_labels
from glassloom.dataframe.io.filesystems import State, locate
from glassloom.dataframe.io.fitting import (
    SAMPLE_ROWS,
)
from glassloom.dataframe.io.path_column import path_column
from glassloom.dataframe.io.paths import PathLike
from glassloom.dataframe.io.read import Read, Source
from glassloom.dataframe.label_nodes import NewLabels
from glassloom.dataframe.wrap import operate, wrap
from glassloom.errors import OptionError, ParseError, UnknownColumn
from glassloom.graph import tokenize
from glassloom.units import parse_bytes

_SUFFIXES = tuple(suffix + ending for suffix in (".csv", ".tsv", ".txt") for ending in ("", *ENDINGS.values()))
_REFUSED = {
    "iterator": "partitions are what a frame is read by; frame.partitions and to_delayed() go through them",
    "chunksize": "set blocksize",
}
_BLOCK_SIZE = Configured("dataframe.csv-block-size")
_SAMPLE_BYTES = 1 << 20


class CsvSource(Source):
    """Blocks of CSV files."""

    form = "pandas"

    def __init__(
        self,
        blocks: list[TextBlock],
        parser: Parser,
        meta: Any,
        token: str,
        likely_rows: tuple[float, ...] | None = None,
    ) -> None:
        self.label = parser.function.__name__.replace("_", "-")
        self.blocks = blocks
        self.parser = parser
        self.meta = meta
        self.divisions = (None,) * (len(blocks) + 1)
        self.token = token
        self.likely_rows = likely_rows
        leaves_out = parser.options.get("on_bad_lines", "error") != "error"
        # With fewer columns pandas takes no line for a bad one, and there would be more rows.
        self.can_project = not leaves_out or parser.options.get("usecols") is not None

    def piece(self, number: int) -> Any:
        return self.blocks[number]

    def reader(self, columns: tuple[Any, ...] | None, condition: Any) -> Callable[[Any], Any]:
        parser = self.parser
        if columns is not None and len(columns) < len(self.meta.columns):
            # Not of all: pandas would take labels without a name for one.
            parser = parser.for_columns(list(columns), self.meta.columns)
        meta = self.meta if columns is None else columns_of(self.meta, list(columns))
        if len(self.blocks) == 1:  # there are no others that its categories must be like
            meta = without_categories(meta)
        return BlockCall(read_block, (Block(0), parser, meta, columns is not None), label=self.label)


@with_function_arguments(pd.read_csv)
def read_csv(
    path: PathLike | Sequence[PathLike],
    *,
    blocksize: int | str | None | Configured = _BLOCK_SIZE,
    assume_missing: bool = False,
    include_path_column: bool | str = False,
    backend: str | Configured = Configured("dataframe.backend"),
    storage_options: dict[str, Any] | None = None,
    filesystem: Any = None,
    **options: Any,
) -> Any:
    """Read CSV files into a frame.

    Columns and dtypes are taken from the first thousand rows of the first file, and so are the formats of times;
    where these have text in a column, so have all partitions. Each partition counts its rows from 0.
    Files must stay as they are until all is computed: one that has changed is an error.

    Parameters
    ----------
    path
        A file, a glob, a folder, or a list of those; or URLs such as ``s3://...``.
    blocksize
        About how many bytes of a file go into a partition, as a number or as text such as ``"64 MiB"``; default
        the option ``dataframe.csv-block-size`` (64 MiB). None: one partition a file, as with compressed files, which
        can't be cut. Cuts are made at line ends, never inside quotes.
    assume_missing
        Whether columns of whole numbers, for which `dtype` says nothing, are read as floats: values may be missing
        further down.
    include_path_column
        Whether to add a categorical column with the path of the file; or its name. Default name: ``"path"``. A function for it
        in ``converters`` makes something else of the path.
    backend, storage_options, filesystem
        As in `read_parquet`.
    options
        Further options of `pandas.read_csv`: ``dtype``, ``usecols``, ``parse_dates``, ``sep``, ``na_values``... The divisions of labels that
        ``index_col`` makes aren't known; ``nrows`` takes one file, and makes one partition.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ParseError
        If the first file can't be understood.
    MetaError
        When computing: if a partition's dtypes don't fit those of the sample. The message names the column and the
        line, and says which ``dtype`` to give.

    Examples
    --------
    >>> import glassloom.dataframe as gd
    >>> from pathlib import Path
    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> _ = Path(folder, "a.csv").write_text("x,y\\n1,2\\n3,4\\n")
    >>> int(gd.read_csv(f"{folder}/*.csv").y.sum().compute())
    6
    """
    where = {"storage_options": storage_options, "filesystem": filesystem}
    read = _read_text(pd.read_csv, "read_csv", path, blocksize, assume_missing, include_path_column, where, options)
    return to_backend(read, chosen(backend))


@with_function_arguments(pd.read_table)
def read_table(
    path: PathLike | Sequence[PathLike],
    *,
    blocksize: int | str | None | Configured = _BLOCK_SIZE,
    assume_missing: bool = False,
    include_path_column: bool | str = False,
    storage_options: dict[str, Any] | None = None,
    filesystem: Any = None,
    **options: Any,
) -> Any:
    """Read files of fields separated by tabs into a frame. See `read_csv`; options are those of `pandas.read_table`."""
    where = {"storage_options": storage_options, "filesystem": filesystem}
    return _read_text(pd.read_table, "read_table", path, blocksize, assume_missing, include_path_column, where, options)


@with_function_arguments(pd.read_fwf)
def read_fwf(
    path: PathLike | Sequence[PathLike],
    *,
    blocksize: int | str | None | Configured = _BLOCK_SIZE,
    assume_missing: bool = False,
    include_path_column: bool | str = False,
    storage_options: dict[str, Any] | None = None,
    filesystem: Any = None,
    **options: Any,
) -> Any:
    """Read files of fields of fixed width into a frame. See `read_csv`; options are those of `pandas.read_fwf`.

    Where fields begin is found in the first lines of the first file, unless ``colspecs`` or ``widths`` say it.
    """
    where = {"storage_options": storage_options, "filesystem": filesystem}
    options = _with_lists(options)
    if options.get("colspecs", "infer") == "infer" and options.get("widths") is None:
        files, names = locate(path, filesystem, storage_options)
        first = files.find(names, _SUFFIXES)[0][0]
        if not is_compressed(first, options):
            fields = _fields(files.read(first, 0, 1 << 18), options)
            _require_name_for_each(fields, options)
            options = {**options, "colspecs": fields}
    return _read_text(pd.read_fwf, "read_fwf", path, blocksize, assume_missing, include_path_column, where, options)


def _read_text(
    function: Callable[..., Any],
    called: str,
    path: PathLike | Sequence[PathLike],
    blocksize: int | str | None | Configured,
    assume_missing: bool,
    include_path_column: bool | str,
    where: dict[str, Any],
    options: dict[str, Any],
) -> Any:
    for name, instead in _REFUSED.items():
        if options.get(name):
            raise OptionError(f"{called} can't take {name}={options[name]!r}: {instead}")
    options = _with_lists(options)
    _require_dates_of_columns(options)
    if options.get("index_col") is True:
        raise ValueError("The value of index_col couldn't be 'True': give the name or the place of a column")
    labels, options = options.get("index_col"), {name: value for name, value in options.items() if name != "index_col"}
    if labels is False or isinstance(options.get("header"), (list, tuple)):  # names of several levels tell no columns
        options, labels = {**options, "index_col": labels}, None
    elif isinstance(labels, (list, tuple)) and not labels:
        labels = None
    is_of_labels = options.get("parse_dates") is True
    if labels is not None and is_of_labels:
        options = {**options, "parse_dates": labels if isinstance(labels, list) else [labels]}
    wanted = chosen(_BLOCK_SIZE if blocksize == "default" else blocksize)
    size = None if wanted is None else parse_bytes(wanted)
    if size is not None and size < 1:
        raise OptionError(f"blocksize={wanted!r} should be at least 1 byte")
    if options.get("memory_map"):  # blocks are read from memory in any case
        options = {name: value for name, value in options.items() if name != "memory_map"}
    files, names = locate(path, **where)
    states = files.find(names, _SUFFIXES)
    converters = dict(options.get("converters") or {})
    of_path = "path" if include_path_column is True else include_path_column
    convert = converters.pop(of_path, None) if of_path else None
    if convert is not None:
        options = {**options, "converters": converters or None}
    parser = Parser(function, options, files, path_column(of_path, (state[0] for state in states), convert))
    sample_path = _path_of_sample(states, parser)
    sample = _read_sample(sample_path, parser)
    _require_unlike_names(sample.columns, sample_path, options)
    if assume_missing:
        options = {**options, "dtype": _with_floats(sample, options)}
        parser = replace(parser, options=options)
        sample = _read_sample(sample_path, parser)
    options = _with_dates_by_name(options, sample_path, parser, sample)
    if labels is not None and _are_first_values(sample_path, parser, labels, sample):
        labels = None
        if is_of_labels:
            options = {**options, "parse_dates": True}
            parser = replace(parser, options=options)
            sample = _read_sample(sample_path, parser)
    keys = [] if labels is None else _label_columns(sample.columns, labels, parser)
    asked = options
    dated = with_plain_labels(
        function, options, keys, lambda given: _first_rows(sample_path, replace(parser, options=given))
    )
    if dated.options is not options:
        options, parser = dated.options, replace(parser, options=dated.options)
        sample = _read_sample(sample_path, parser)
    options, sample = with_date_formats(
        options,
        sample,
        partial(_sample_of_texts, sample_path, parser),
        is_all=lambda rows: len(states) == 1 and len(rows) < SAMPLE_ROWS,
        as_objects=dated.as_objects,
        makes_numbers=not is_parsed_in_python(function, options),
    )
    parser = replace(parser, options=options, times_as_objects=dated.as_objects)
    inferred = labels_of_booleans(function, asked, keys, sample, lambda: _first_rows(sample_path, parser))
    compressed = [is_compressed(state[0], options) for state in states]
    whole = [not has_cuttable_lines(state[0], options) for state in states]
    if options.get("nrows") is not None:
        if len(states) > 1:
            raise OptionError(
                f"{called} can't take nrows={options['nrows']!r} of {len(states)} files: call head() on the frame"
            )
        whole = [True]
    quote = (
        b""
        if options.get("quoting") == 3
        else encoded_text(str(options.get("quotechar", '"')), options.get("encoding"))
    )
    must_cut = any(size is not None and not one and state[1] > size for one, state in zip(whole, states, strict=True))
    header = header_of(options) if must_cut else NO_HEADER
    headers, blocks = cut_files(states, files, size, header, quote, whole=whole)
    parser = parser.with_headers(headers)
    token = tokenize(states, blocks, parser)
    rows = None if any(compressed) or options.get("nrows") is not None else likely_rows(blocks, states, files)
    read = wrap(Read(CsvSource(blocks, parser, sample, token, rows), None, None, None))
    label_dtypes = {**inferred, **dated.label_dtypes}
    return _with_labels(read, keys, parser, [label_dtypes.get(name) for name in keys]) if keys else read


def _are_first_values(path: str, parser: Parser, wanted: Any, sample: Any) -> bool:
    """Whether rows have more values than the header has names: pandas takes the first for their labels, as ``index_col=0`` or ``[0, 1]`` say too.

    Raises
    ------
    UnknownColumn, ValueError
        If others are wanted.
    """
    many = list(wanted) if isinstance(wanted, (list, tuple)) else [wanted]
    named = replace(parser, options={**parser.options, "index_col": 0})
    n_columns, n_more = len(sample.columns), sample.index.nlevels
    if not n_columns or (n_more == 1 and len(_read_sample(path, named).columns) < n_columns):
        return False
    if many == list(range(n_more)):
        return True
    kind = ValueError if all(isinstance(one, int) for one in many) else UnknownColumn
    raise kind(
        f"index_col={wanted!r} of a file whose rows have {'a value' if n_more == 1 else f'{n_more} values'} more than the header has names: the "
        f"first {'ones are' if n_more > 1 else 'one is'} the label; give index_col=False to have columns alone, or names= for all values"
    )


def _label_columns(names: Any, wanted: Any, parser: Parser) -> list[Any]:
    """Return the columns that become labels: by name, or by place among those that are read.

    Raises
    ------
    ValueError
        If there is no such column.
    """
    columns = [name for name in names if not parser.is_path(name)]
    keys = []
    for one in wanted if isinstance(wanted, (list, tuple)) else [wanted]:
        is_place = isinstance(one, int)  # also where names are numbers
        if not (-len(columns) <= one < len(columns) if is_place else one in columns):
            raise ValueError(f"index_col={wanted!r}: Index {one} invalid; the columns are {columns}")
        keys.append(columns[one] if is_place else one)
    return keys


def _with_labels(frame: Any, keys: list[Any], parser: Parser, dtypes: list[Any]) -> Any:
    """Return a frame labelled by some of its columns, with these dtypes of labels that are times or inferred."""
    columns = [name for name in frame.columns if not parser.is_path(name)]
    names = [None if name == f"Unnamed: {columns.index(name)}" else name for name in keys]  # of no name in the header
    known = dtypes if any(one is not None for one in dtypes) else None
    return operate(_labelled, frame, keys, names, known, kind=NewLabels, label="set-index")


def _labelled(block: Any, keys: list[Any], names: list[Any], dtypes: list[Any] | None) -> Any:
    made = block.set_index(keys).rename_axis(index=names if len(names) > 1 else names[0])
    if dtypes is not None:
        made = made.set_axis(with_dtypes(made.index, dtypes), axis=0)
    return made if made.shape[1] else made.set_axis(made.columns.astype(object), axis=1)  # as pandas reads no column


_MOST_WITHOUT_ROWS = 16


def _path_of_sample(states: Sequence[State], parser: Parser) -> str:
    """Return the first file with rows; the first of those with a header if all that are tried have no more."""
    paths = [path for path, nbytes, _ in states if nbytes] or [states[0][0]]
    others = paths[1:_MOST_WITHOUT_ROWS]
    if not others or len(_first_rows(paths[0], parser)):
        return paths[0]
    return next((path for path in others if len(_first_rows(path, parser))), paths[0])


def _read_sample(path: str, parser: Parser) -> Any:
    """Return the first rows' columns and dtypes."""
    return _first_rows(path, parser).iloc[:0]


def _first_rows(path: str, parser: Parser) -> Any:
    try:
        if parser.options.get("skipfooter"):
            return parser.parse(TextBlock(path, 0, None))  # pandas finds the footer in whole files alone
        if parser.options.get("engine") != "pyarrow":
            count = parser.options.get("nrows")
            is_more = count is None or (isinstance(count, (int, float)) and count > SAMPLE_ROWS)
            return parser.parse(TextBlock(path, 0, None), nrows=SAMPLE_ROWS if is_more else count)
        return parser.parse(_first_block(path, parser))  # PyArrow's can't stop after some rows
    except (pd.errors.EmptyDataError, pd.errors.ParserError, UnicodeDecodeError) as error:
        raise ParseError(f"{path!r} can't be read as CSV: {error}") from error


def _first_block(path: str, parser: Parser) -> TextBlock:
    """Return the first lines of a file that can be cut, or all of it."""
    if is_compressed(path, parser.options) or not has_lines_of_bytes(parser.options.get("encoding")):
        return TextBlock(path, 0, None)
    data = parser.files.read(path, 0, _SAMPLE_BYTES)
    end = None if len(data) < _SAMPLE_BYTES else data.rfind(b"\n") + 1  # the last line may have no end
    return TextBlock(path, 0, end or None)


def _with_lists(options: dict[str, Any]) -> dict[str, Any]:
    """Return the options with lists in place of generators, which only one block could go through.

    The ends of lines that Dask's users name for files of Windows are left out: they are found in any case, and pandas takes one character.
    """
    listed = {name: list(value) if isinstance(value, Iterator) else value for name, value in options.items()}
    if listed.get("lineterminator") == "\r\n":
        del listed["lineterminator"]
    return listed


def _require_dates_of_columns(options: dict[str, Any]) -> None:
    """Raise an error if `parse_dates` puts columns together, as pandas 2 does."""
    listed = options.get("parse_dates")
    if isinstance(listed, dict) or (isinstance(listed, list) and any(isinstance(one, (list, tuple)) for one in listed)):
        raise NotImplementedError(
            f"parse_dates={listed!r} makes a column of several; read them as numbers or text, and call to_datetime(): it takes a "
            "frame of columns named year, month and day, and sums of texts"
        )


def _require_unlike_names(columns: pd.Index, path: str, options: dict[str, Any]) -> None:
    """Raise an error if columns have the same name, as PyArrow's engine leaves them before pandas 3.1: other ones number them."""
    if not columns.is_unique:
        raise NotImplementedError(
            f"{path!r} names columns {columns[columns.duplicated()].unique().tolist()} more than once, which engine={options.get('engine')!r} "
            "leaves as they are before pandas 3.1: leave out the engine, or install pandas 3.1"
        )


def _with_dates_by_name(options: dict[str, Any], path: str, parser: Parser, sample: Any) -> dict[str, Any]:
    """Return options whose `parse_dates` has texts in place of numbers of columns, which differ where fewer columns are read."""
    listed = options.get("parse_dates")
    if not isinstance(listed, list) or not any(isinstance(one, int) and one not in sample.columns for one in listed):
        return options
    plain = {name: value for name, value in options.items() if name not in ("parse_dates", "dtype")}
    names = list(_read_sample(path, replace(parser, options=plain)).columns)
    texts = {place: name for place, name in enumerate(names) if isinstance(name, str)}
    found = [one if one in names or not isinstance(one, int) else texts.get(one, one) for one in listed]
    return {**options, "parse_dates": found}


def _sample_of_texts(path: str, parser: Parser, names: list[Any]) -> Any:
    """Return the first rows with some columns as text."""
    plain = {name: value for name, value in parser.options.items() if name not in ("parse_dates", "date_format")}
    dtype = plain.get("dtype")
    if plain.get("engine") == "pyarrow" or not (dtype is None or isinstance(dtype, dict)):
        return _first_rows(path, replace(parser, options=as_text(plain)))
    dtypes = {**(dtype or {}), **dict.fromkeys(names, str)}
    return _first_rows(path, replace(parser, options={**plain, "dtype": dtypes}))


def _with_floats(sample: Any, options: dict[str, Any]) -> Any:
    """Return `dtype` so that columns of whole numbers that it doesn't name are floats."""
    given = options.get("dtype")
    if given is not None and not isinstance(given, dict):
        return given
    numbers = [name for name, dtype in sample.dtypes.items() if getattr(dtype, "kind", "O") in "iu"]
    return {**dict.fromkeys(numbers, "float64"), **(given or {})}


def _require_name_for_each(fields: list[tuple[int, int]], options: dict[str, Any]) -> None:
    """Raise an error if fields that were found have no name: pandas takes the first ones for labels then.

    Raises
    ------
    ValueError
        If `names` and the fields aren't as many.
    """
    names = options.get("names")
    if names is None or options.get("usecols") is not None or len(names) == len(fields):
        return
    raise ValueError(
        f"read_fwf found {len(fields)} fields, {fields}, and names={list(names)!r} has {len(names)} names: give a name for each "
        "field, and index_col= for labels, or say with colspecs= where the fields are"
    )


def _fields(data: bytes, options: dict[str, Any]) -> list[tuple[int, int]]:
    """Return where fields begin and end: at columns of characters that are delimiters in all of the first lines, as pandas looks for them."""
    skipped = options.get("skiprows")
    left_out = range(skipped) if isinstance(skipped, int) else skipped or ()
    lines = data.decode(options.get("encoding") or "utf-8", errors="replace").splitlines()
    used = [line for number, line in enumerate(lines) if number not in left_out][: options.get("infer_nrows", 100)]
    if options.get("comment"):
        used = [line.partition(options["comment"])[0] for line in used]
    delimiters = {*"\r\n", *(options.get("delimiter") or "\t ")}
    width = max(map(len, used), default=0)
    is_used = [any(place < len(line) and line[place] not in delimiters for line in used) for place in range(width)]
    edges = [
        place for place in range(width + 1) if (place < width and is_used[place]) != (place > 0 and is_used[place - 1])
    ]
    return list(zip(edges[::2], edges[1::2], strict=True))

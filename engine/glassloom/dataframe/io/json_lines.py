"""JSON files as frames: with a record a line large ones are divided into blocks."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd

from glassloom.dataframe.arguments import with_function_arguments
from glassloom.dataframe.call import Block, BlockCall
from glassloom.dataframe.io.blocks import NO_HEADER, TextBlock, cut_files, first_line, has_lines_of_bytes, likely_rows
from glassloom.dataframe.io.compression import ENDINGS, beginning_of, chosen_compression
from glassloom.dataframe.io.date_formats import json_formats, with_json_times
from glassloom.dataframe.io.filesystems import Files, State, locate
from glassloom.dataframe.io.fitting import SAMPLE_ROWS, fitted
from glassloom.dataframe.io.path_column import path_column
from glassloom.dataframe.io.paths import PathLike
from glassloom.dataframe.io.read import Read, Source
from glassloom.dataframe.meta import parse_meta
from glassloom.dataframe.wrap import wrap
from glassloom.errors import MetaError, OptionError, ParseError
from glassloom.graph import tokenize
from glassloom.units import parse_bytes

_SAMPLE_BYTES = 1 << 10
_SUFFIXES = tuple(suffix + ending for suffix in (".json", ".jsonl", ".ndjson") for ending in ("", *ENDINGS.values()))


class JsonSource(Source):
    """Blocks of JSON files."""

    label = "read-json"
    can_project = True  # what is wrong in other columns is no matter then
    can_read_index = True

    def __init__(
        self,
        blocks: list[TextBlock],
        options: dict[str, Any],
        files: Files,
        meta: Any,
        token: str,
        likely_rows: tuple[float, ...] | None = None,
    ) -> None:
        self.blocks, self.options, self.files = blocks, options, files
        self.meta = meta
        self.divisions = (None,) * (len(blocks) + 1)
        self.token = token
        self.likely_rows = likely_rows

    def piece(self, number: int) -> Any:
        return self.blocks[number]

    def reader(self, columns: tuple[Any, ...] | None, condition: Any) -> Callable[[Any], Any]:
        meta = self.meta if columns is None else self.meta[list(columns)]
        settings = self.options if columns is None else {**self.options, "chosen": True}
        return BlockCall(_read_block, (Block(0), self.files, settings, meta), label=self.label)


@with_function_arguments(pd.read_json)
def read_json(
    path: PathLike | Sequence[PathLike],
    *,
    orient: str = "records",
    lines: bool | None = None,
    blocksize: int | str | None = None,
    meta: Any = None,
    include_path_column: bool | str = False,
    path_converter: Callable[[str], Any] | None = None,
    storage_options: dict[str, Any] | None = None,
    filesystem: Any = None,
    **options: Any,
) -> Any:
    """Read JSON files into a frame.

    Columns and dtypes are those of the first file, of its first thousand lines with `lines`. Keys that a record lacks
    are missing values; keys that the sample lacks are an error when all columns are computed, unless `meta` chooses columns.

    Parameters
    ----------
    path
        A file, a glob, a folder, or a list of those; or URLs.
    orient
        As in `pandas.read_json`; default ``"records"``.
    lines
        Whether each line is a record. Default: if `orient` is ``"records"``, unless the first file begins with a bracket: it is a list of records then.
    blocksize
        About how many bytes of a file go into a partition, with `lines`. Default: each file is one.
    meta
        An empty frame like the result, or its columns and dtypes: then the first file isn't looked at, and other columns
        are left out.
    include_path_column, storage_options, filesystem
        As in `read_csv`.
    path_converter
        Returns what the column of paths has in place of a path.
    options
        Further options of `pandas.read_json`: ``dtype``, ``convert_dates``... A function as ``engine`` is called in its place, with an open text.

    Raises
    ------
    ParseError
        If a file isn't JSON of that form.
    MetaError
        When computing: if a partition's dtypes don't fit. The message names the column, the value and the line.

    Examples
    --------
    >>> from pathlib import Path
    >>> import tempfile
    >>> import glassloom.dataframe as gd
    >>> file = Path(tempfile.mkdtemp(), "a.json")
    >>> _ = file.write_text('{"x": 1}\\n{"x": 2}\\n')
    >>> gd.read_json(file).x.compute().tolist()
    [1, 2]
    """
    files, names = locate(path, filesystem, storage_options)
    states = files.find(names, _SUFFIXES)
    by_line = lines
    if lines is None:
        by_line = orient == "records" and not _is_list(states, files, options)
    size = None if blocksize is None else parse_bytes(blocksize)
    if size is not None and not by_line:
        raise OptionError(f"blocksize={blocksize!r} needs lines=True: other JSON can't be cut")
    if options.get("chunksize") is not None:
        raise OptionError(f"read_json can't take chunksize={options['chunksize']!r}: set blocksize")
    if options.get("nrows") is not None and len(states) > 1:
        raise OptionError(
            f"read_json can't take nrows={options['nrows']!r} of {len(states)} files: call head() on the frame"
        )
    how = {"orient": orient, "lines": by_line, **options}
    compressed = [
        options.get("compression", "infer") != "infer" or state[0].lower().endswith(tuple(ENDINGS.values()))
        for state in states
    ]
    whole = [
        one or options.get("nrows") is not None or not has_lines_of_bytes(options.get("encoding")) for one in compressed
    ]
    _, blocks = cut_files(states, files, size, NO_HEADER, b"", whole=whole)
    settings: dict[str, Any] = {
        "formats": None,
        "how": how,
        "path_column": path_column(include_path_column, (state[0] for state in states), path_converter),
        "chosen": meta is not None,
    }
    sizes = {state[0]: state[1] for state in states}
    first = next((block for block in blocks if sizes[block.path]), blocks[0])  # files without a byte have no rows
    if files.arrow is None and by_line and not any(whole):  # the first rows may be in several blocks
        first = first._replace(start=0, end=None)
    sample = parse_meta(meta) if meta is not None else _sample(first, files, settings)
    by_pandas = options.get("engine") != "pyarrow" and not callable(options.get("engine"))
    if by_pandas and len(blocks) > 1 and any(getattr(dtype, "kind", "O") == "M" for dtype in sample.dtypes):
        raw = _first_rows(first, files, {**settings, "formats": {}})
        settings["formats"] = json_formats(raw, _first_rows(first, files, settings))
    token = tokenize(states, blocks, settings, files)
    is_plain = by_line and not any(compressed) and options.get("nrows") is None
    rows = likely_rows(blocks, states, files) if is_plain else None
    return wrap(Read(JsonSource(blocks, settings, files, sample, token, rows), None, None, None))


def _is_list(states: Sequence[State], files: Files, options: dict[str, Any]) -> bool:
    """Whether the first file with anything in it begins with a bracket."""
    path = next((path for path, nbytes, _ in states if nbytes), states[0][0])
    start = files.read(path, 0, _SAMPLE_BYTES)
    compression = chosen_compression(path.lower(), options.get("compression", "infer"))
    if compression is not None:
        start = beginning_of(files.read(path), compression, _SAMPLE_BYTES)
    return start.decode(options.get("encoding") or "utf-8", errors="ignore").lstrip("\ufeff \t\r\n").startswith("[")


def _sample(block: TextBlock, files: Files, settings: dict[str, Any]) -> Any:
    return _first_rows(block, files, settings).iloc[:0]


def _first_rows(block: TextBlock, files: Files, settings: dict[str, Any]) -> Any:
    count, engine = settings["how"].get("nrows"), settings["how"].get("engine")
    may_stop = settings["how"]["lines"] and count is None and engine != "pyarrow" and not callable(engine)
    return _parsed(block, files, settings, {"nrows": SAMPLE_ROWS} if may_stop else {})


def _parsed(block: TextBlock, files: Files, settings: dict[str, Any], more: dict[str, Any]) -> Any:
    try:
        with files.unchanged(block.state, "read_json"):
            frame = _parsed_now(block, files, settings, more)
    except (ValueError, UnicodeDecodeError) as error:
        raise ParseError(f"{block.path!r} can't be read as JSON (lines={settings['how']['lines']}): {error}") from error
    column = settings["path_column"]
    return frame if column is None else column.added(frame, block.path)


def _parsed_now(block: TextBlock, files: Files, settings: dict[str, Any], more: dict[str, Any]) -> Any:
    is_whole = block.end is None and files.arrow is None
    source = block.path if is_whole else io.BytesIO(files.read(block.path, block.start, block.end))
    formats = settings["formats"]
    engine = settings["how"].get("engine")
    if callable(engine):
        others = {
            name: value for name, value in settings["how"].items() if name not in ("engine", "encoding", "compression")
        }
        return engine(_text_of(block, files, settings["how"]), **others)
    if formats is None:
        return pd.read_json(source, **{**settings["how"], **more})
    return with_json_times(_without_times(source, {**settings["how"], **more}), formats)


def _text_of(block: TextBlock, files: Files, options: dict[str, Any]) -> io.StringIO:
    """Return a block as an open text, for readers other than pandas'."""
    data = files.read(block.path, block.start, block.end)
    compression = chosen_compression(block.path.lower(), options.get("compression", "infer"))
    if compression is not None and block.end is None:
        data = beginning_of(data, compression, -1)
    return io.StringIO(data.decode(options.get("encoding") or "utf-8", options.get("encoding_errors") or "strict"))


def _without_times(source: Any, options: dict[str, Any]) -> Any:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*convert_dates")  # deprecated, and nothing else does it
        return pd.read_json(source, **{**options, "convert_dates": False})


def _read_block(block: TextBlock, files: Files, settings: dict[str, Any], meta: Any) -> Any:
    frame = _parsed(block, files, settings, {})
    where = f"{block.path!r}, bytes {block.start} to {block.end or 'end'}"
    others = [name for name in frame.columns if name not in meta.columns]
    if others and not settings["chosen"]:
        raise MetaError(
            f"{where}: there are the keys {others}, which the first {SAMPLE_ROWS} rows lack: give meta= with the columns that "
            f"are wanted and their dtypes, or choose others before computing, as in frame[{list(meta.columns)[:2]}]"
        )
    frame = frame.reindex(columns=meta.columns)
    numbers = [name for name, dtype in meta.dtypes.items() if dtype == "float64" and frame[name].dtype == "bool"]
    frame = frame.astype(dict.fromkeys(numbers, "float64"))  # which pandas makes of booleans where some are missing
    return fitted(
        frame,
        meta,
        where,
        lambda: first_line(block, files) if settings["how"]["lines"] else None,
        settings["formats"] or {},
    )

"""CSV files; large ones are divided into blocks at line ends."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pandas as pd

from glassloom.config import Configured, chosen
from glassloom.dataframe.call import Block, BlockCall
from glassloom.dataframe.io.paths import PathLike, file_state, find_files
from glassloom.dataframe.io.read import Read, Source
from glassloom.dataframe.wrap import wrap
from glassloom.errors import MetaError, OptionError, ReadError
from glassloom.graph import tokenize
from glassloom.units import parse_bytes

_SAMPLE_ROWS = 1000
_SCAN_BYTES = 1 << 22
_SUFFIXES = (".csv", ".tsv", ".txt", ".csv.gz", ".csv.bz2", ".csv.xz", ".csv.zst")
_COMPRESSED = (".gz", ".bz2", ".xz", ".zst", ".zip", ".tar")
_REFUSED = {
    "index_col": "read the column and call set_index() on the frame",
    "nrows": "call head() on the frame",
    "skipfooter": "only the last partition would have the footer; use pandas.read_csv with from_map",
    "iterator": "partitions are what a frame is read by",
    "chunksize": "set blocksize",
}


class CsvSource(Source):
    """Blocks of CSV files: (path, first byte, end byte)."""

    label = "read-csv"
    can_project = True

    def __init__(
        self, blocks: list[tuple[str, int, int | None]], header: bytes, meta: Any, options: dict[str, Any], token: str
    ) -> None:
        self.blocks = blocks
        self.header = header
        self.meta = meta
        self.options = options
        self.divisions = (None,) * (len(blocks) + 1)
        self.token = token

    def piece(self, number: int) -> Any:
        return self.blocks[number]

    def reader(self, columns: tuple[Any, ...] | None, condition: Any) -> Callable[[Any], Any]:
        meta = self.meta if columns is None else self.meta[list(columns)]
        options = self.options if not columns else _options_to_read(list(columns), self.options)
        return BlockCall(_read_block, (Block(0), self.header, meta, options), label=self.label)


def read_csv(
    paths: PathLike | Sequence[PathLike],
    *,
    blocksize: int | str | None | Configured = Configured("dataframe.csv-block-size"),
    **options: Any,
) -> Any:
    """Read CSV files into a frame.

    Columns and dtypes are taken from the first thousand rows of the first file. Each partition counts its rows from 0.

    Parameters
    ----------
    paths
        A file, a glob, a folder, or a list of those.
    blocksize
        About how many bytes of a file go into a partition, as a number or as text such as ``"64 MiB"``; default
        the option ``dataframe.csv-block-size`` (64 MiB). None: one partition a file, as with compressed files, which
        can't be cut. Cuts are made at line ends, never inside quotes.
    options
        Further options of `pandas.read_csv`: ``dtype``, ``usecols``, ``parse_dates``, ``sep``, ``na_values``...

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ReadError
        If the first file can't be understood.
    MetaError
        When computing: if a partition's dtypes don't fit those of the sample. The message says which ``dtype`` to give.

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
    for name, instead in _REFUSED.items():
        if options.get(name) not in (None, False):
            raise OptionError(f"read_csv can't take {name}={options[name]!r}: {instead}")
    states = [file_state(path) for path in find_files(paths, _SUFFIXES)]
    files = [state[0] for state in states]
    wanted = chosen(blocksize)
    size = None if wanted is None else parse_bytes(wanted)
    if size is not None and size < 1:
        raise OptionError(f"blocksize={wanted!r} should be at least 1 byte")
    sample = _read_sample(files[0], options)
    cuttable = options.get("escapechar") is None and options.get("lineterminator") is None
    quote = b"" if options.get("quoting") == 3 else str(options.get("quotechar", '"')).encode()

    def cut(path: str) -> tuple[bytes, list[tuple[str, int, int | None]]]:
        whole = size is None or not cuttable or _is_compressed(path, options)
        if whole or os.path.getsize(path) <= (size or 0):
            return b"", [(path, 0, None)]
        return _cut(path, size or 1, _header_lines(options), quote)

    with ThreadPoolExecutor(min(8, len(files))) as pool:
        cuts = list(pool.map(cut, files))
    blocks = [block for _, file_blocks in cuts for block in file_blocks]
    header = next((head for head, _ in cuts if head), b"")
    token = tokenize(states, blocks, options, sample)
    return wrap(Read(CsvSource(blocks, header, sample, options, token), None, None, None))


def _read_sample(path: str, options: dict[str, Any]) -> Any:
    """Return the first rows' columns and dtypes."""
    try:
        return pd.read_csv(path, nrows=_SAMPLE_ROWS, **options)[:0]
    except (pd.errors.EmptyDataError, pd.errors.ParserError, UnicodeDecodeError) as error:
        raise ReadError(f"{path!r} can't be read as CSV: {error}") from error


def _header_lines(options: dict[str, Any]) -> int:
    """Return how many lines go before the first row.

    Raises
    ------
    OptionError
        If that can't be known without parsing.
    """
    skipped = options.get("skiprows") or 0
    header = options.get("header", "infer" if options.get("names") is None else None)
    if not isinstance(skipped, int) or not (header is None or header == "infer" or isinstance(header, int)):
        raise OptionError(f"with skiprows={skipped!r} and header={header!r} files can't be cut; set blocksize=None")
    return skipped + (0 if header is None else 1 + (0 if header == "infer" else header))


def _is_compressed(path: str, options: dict[str, Any]) -> bool:
    compression = options.get("compression", "infer")
    return path.lower().endswith(_COMPRESSED) if compression == "infer" else compression is not None


def _cut(path: str, size: int, header_lines: int, quote: bytes) -> tuple[bytes, list[tuple[str, int, int | None]]]:
    """Return a file's header and the blocks that follow it. Counts the quotes, to cut only where none is open."""
    with open(path, "rb") as file:
        header = b"".join(file.readline() for _ in range(header_lines))
        starts = [len(header)]
        wanted, position, is_open = len(header) + size, len(header), False
        while chunk := file.read(_SCAN_BYTES):
            place = 0
            while wanted < position + len(chunk):
                found, is_open = _next_line(chunk, place, max(wanted - position, place), quote, is_open)
                if found < 0:
                    place = len(chunk)
                    break
                place = found
                starts.append(position + found)
                wanted = position + found + size
            if quote and place < len(chunk):
                is_open ^= chunk.count(quote, place) % 2 == 1
            position += len(chunk)
    if starts[-1] >= position and len(starts) > 1:
        starts.pop()
    ends = [*starts[1:], position]
    return header, [(path, start, end) for start, end in zip(starts, ends, strict=True)]


def _next_line(chunk: bytes, place: int, wanted: int, quote: bytes, is_open: bool) -> tuple[int, bool]:
    """Return where the first line begins after `wanted` (-1: not in this chunk), and whether a quote is open there.

    `is_open` is whether one is open at `place`.
    """
    while True:
        end = chunk.find(b"\n", wanted)
        stop = len(chunk) if end < 0 else end
        if quote:
            is_open ^= chunk.count(quote, place, stop) % 2 == 1
        if end < 0:
            return -1, is_open
        if not is_open:
            return end + 1, False
        place = wanted = end + 1


def _read_block(piece: tuple[str, int, int | None], header: bytes, meta: Any, options: dict[str, Any]) -> Any:
    path, start, end = piece
    try:
        if end is None:
            block = pd.read_csv(path, **options)
        else:
            with open(path, "rb") as file:
                file.seek(start)
                block = pd.read_csv(io.BytesIO(header + file.read(end - start)), **options)
    except (pd.errors.ParserError, UnicodeDecodeError, EOFError) as error:
        raise ReadError(f"{path!r} can't be read as CSV: {error}") from error
    except ValueError as error:
        raise MetaError(f"{path!r}, bytes {start} to {end or 'end'}: {error}") from error
    missing = [name for name in meta.columns if name not in block.columns]
    if missing:
        raise MetaError(f"{path!r} lacks the columns {missing}, which the first file has")
    return _coerce(block[list(meta.columns)], meta, f"{path!r}, bytes {start} to {end or 'end'}")


def _options_to_read(columns: list[Any], options: dict[str, Any]) -> dict[str, Any]:
    """Return options that read these columns alone."""
    narrowed = {**options, "usecols": columns}
    if isinstance(options.get("parse_dates"), list):
        narrowed["parse_dates"] = [name for name in options["parse_dates"] if name in columns]
    return narrowed


def _coerce(block: Any, meta: Any, where: str) -> Any:
    """Return the block with the sample's dtypes, where nothing is lost by that.

    Raises
    ------
    MetaError
        If a column has values that don't fit.
    """
    wanted: dict[Any, Any] = {}
    wrong: dict[Any, Any] = {}
    for name, expected in meta.dtypes.items():
        got = block[name].dtype
        if got == expected or (isinstance(expected, pd.CategoricalDtype) and isinstance(got, pd.CategoricalDtype)):
            continue
        if _fits(block[name], got, expected):
            wanted[name] = expected
        else:
            wrong[name] = (got, expected)
    if wrong:
        found = "; ".join(f"{name!r} holds {got}, the sample {expected}" for name, (got, expected) in wrong.items())
        advice = {name: _common(got, expected) for name, (got, expected) in wrong.items()}
        raise MetaError(
            f"{where}: dtypes differ from those of the first {_SAMPLE_ROWS} rows: {found}. Give dtype={advice}"
        )
    return block.astype(wanted) if wanted else block


def _fits(column: Any, got: Any, expected: Any) -> bool:
    if column.isna().all():
        return getattr(expected, "kind", "O") not in "iub"
    kinds = getattr(got, "kind", "O"), getattr(expected, "kind", "O")
    if kinds in (("i", "f"), ("u", "f"), ("M", "M")):
        return True
    return kinds == ("O", "O")


def _common(got: Any, expected: Any) -> str:
    """Return the dtype to give so that both fit."""
    kinds = {getattr(got, "kind", "O"), getattr(expected, "kind", "O")}
    return "float64" if kinds <= set("iuf") else "str"

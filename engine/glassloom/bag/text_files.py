"""Bags of lines: read from files of text, and written to them."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from glassloom.bag import blocks
from glassloom.bag.collection import Bag
from glassloom.bag.nodes import Numbered, Pieces
from glassloom.dataframe.call import Block, BlockCall
from glassloom.dataframe.io.blocks import NO_HEADER, TextBlock, cut_files
from glassloom.dataframe.io.filesystems import Files, locate
from glassloom.dataframe.io.paths import PathLike
from glassloom.dataframe.io.staging import Publish, Staging, Written, staging_in
from glassloom.errors import OptionError
from glassloom.units import parse_bytes

_SUFFIXES = (".txt", ".log", ".json", ".jsonl", ".csv", ".tsv", ".md")
_OPENERS: dict[str, Callable[..., Any]] = {"gzip": gzip.open, "bz2": bz2.open, "xz": lzma.open}
_COMPRESSION_OF = {".gz": "gzip", ".bz2": "bz2", ".xz": "xz"}


class _Text(NamedTuple):
    """How bytes become lines."""

    encoding: str
    errors: str
    delimiter: str | None
    compression: str | None
    include_path: bool


def read_text(
    urlpath: PathLike | Sequence[PathLike],
    blocksize: int | str | None = None,
    compression: str | None = "infer",
    encoding: str = "utf-8",
    errors: str = "strict",
    linedelimiter: str | None = None,
    storage_options: dict[str, Any] | None = None,
    files_per_partition: int | None = None,
    include_path: bool = False,
) -> Bag:
    """Read files of text into a bag of lines, which keep their line ends.

    Parameters
    ----------
    urlpath
        A file, a glob, a folder, or a list of those; or URLs that fsspec knows.
    blocksize
        About how many bytes of a file go into a partition, such as ``"64 MiB"``: cuts are made at line ends. Default: one
        partition a file, as with compressed files, which can't be cut.
    compression
        ``"gzip"``, ``"bz2"``, ``"xz"`` or None. Default: by the file's name.
    encoding, errors
        As in `open`. Blocks can be cut for encodings whose line ends are one byte, such as UTF-8.
    linedelimiter
        What ends a line. Default: a line feed, a carriage return, or both, which become a line feed.
    storage_options
        Options of fsspec's file system for the URLs.
    files_per_partition
        How many files go into a partition, instead of `blocksize`.
    include_path
        Whether the items are pairs of a line and the path of its file.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    OptionError
        If options don't fit each other.

    Examples
    --------
    >>> import json, tempfile
    >>> from pathlib import Path
    >>> import glassloom.bag as gb
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "a.jsonl").write_text('{"n": 1}\\n{"n": 2}\\n')
    >>> gb.read_text(folder / "*.jsonl").map(json.loads).pluck("n").sum().compute()
    3
    """
    if blocksize is not None and files_per_partition is not None:
        raise OptionError("read_text() takes either blocksize or files_per_partition")
    if compression not in ("infer", None, *_OPENERS):
        raise OptionError(f"compression={compression!r} should be one of infer, {', '.join(_OPENERS)}, or None")
    files, paths = locate(urlpath, None, storage_options)
    states = files.find(paths, (*_SUFFIXES, *[s + c for s in _SUFFIXES for c in _COMPRESSION_OF]))
    text = _Text(encoding, errors, linedelimiter, compression, include_path)
    if files_per_partition is not None:
        if not isinstance(files_per_partition, int) or files_per_partition < 1:
            raise OptionError(f"files_per_partition={files_per_partition!r} should be a whole number, 1 or more")
        whole = [TextBlock(state[0], 0, None, state) for state in states]
        starts = range(0, len(whole), files_per_partition)
        pieces = [tuple(whole[start : start + files_per_partition]) for start in starts]
    else:
        size = None if blocksize is None else parse_bytes(blocksize)
        if size is not None and linedelimiter not in (None, "\n"):
            raise OptionError(f"linedelimiter={linedelimiter!r}: blocks are cut at line feeds; leave out blocksize")
        compressed = [_compression_of(path, compression) is not None for path, _, _ in states]
        _, found = cut_files(states, files, size, NO_HEADER, b"", whole=compressed)
        pieces = [(block,) for block in found]
    versions = tuple(states)  # a file that has changed is another bag
    return Bag(Pieces(pieces, partial(_lines, files, text, versions), "read-text"))


def _lines(files: Files, text: _Text, _versions: Any, pieces: Sequence[TextBlock]) -> list[Any]:
    found: list[Any] = []
    for piece in pieces:
        lines = _lines_of(files, text, piece)
        found += [(line, piece.path) for line in lines] if text.include_path else lines
    return found


def _lines_of(files: Files, text: _Text, piece: TextBlock) -> list[str]:
    kind = _compression_of(piece.path, text.compression) if piece.end is None else None
    with files.unchanged(piece.state, "read_text"):
        data = files.read(piece.path, piece.start, piece.end)
    opened = _OPENERS[kind](io.BytesIO(data)) if kind else io.BytesIO(data)
    newline = None if text.delimiter is None else ""
    with io.TextIOWrapper(opened, text.encoding, text.errors, newline=newline) as file:
        if text.delimiter is None:
            return file.readlines()
        parts = file.read().split(text.delimiter)
    return [part + text.delimiter for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])


def _compression_of(path: str, given: str | None) -> str | None:
    return _COMPRESSION_OF.get(os.path.splitext(path)[1].lower()) if given == "infer" else given


def to_textfiles(
    bag: Bag,
    path: PathLike | Sequence[PathLike],
    name_function: Callable[[int], str] | None = None,
    compression: str | None = "infer",
    encoding: str = "utf-8",
    compute: bool = True,
    storage_options: dict[str, Any] | None = None,
    last_endline: bool = False,
) -> Any:
    """Write one file of lines a partition. The files are there when all are complete; a write that fails leaves none.

    Parameters
    ----------
    bag
        Its items are strings without line ends.
    path
        A folder; a path with a ``*`` for the partition's number; or a list with a path for each partition, all in one folder.
    name_function
        What stands for the ``*``, by the number of the partition: in ascending order. Default: digits, zeros in front.
    compression
        ``"gzip"``, ``"bz2"``, ``"xz"`` or None. Default: by the files' names.
    encoding
        As in `open`.
    compute
        False returns a `Delayed` of the number of lines; the files are written when it is computed.
    storage_options
        Options of fsspec's file system for the URLs.
    last_endline
        Whether the last line of a file has a line end too.

    Returns
    -------
    list of str or Delayed
        The paths of the files, or their URLs.

    Examples
    --------
    >>> import tempfile
    >>> import glassloom.bag as gb
    >>> folder = tempfile.mkdtemp()
    >>> written = gb.from_sequence(["a", "b"], npartitions=2).to_textfiles(f"{folder}/part-*.txt.gz")
    >>> gb.read_text(written).map(str.strip).compute()
    ['a', 'b']
    """
    if compression not in ("infer", None, *_OPENERS):
        raise OptionError(f"compression={compression!r} should be one of infer, {', '.join(_OPENERS)}, or None")
    files, paths = locate(path, None, storage_options)
    targets = _targets(paths, not isinstance(path, (str, os.PathLike)), bag.npartitions, name_function)
    folders = {os.path.dirname(target) or "." for target in targets}
    if len(folders) > 1:
        raise OptionError(f"all files have to be in one folder, got {sorted(folders)[:3]}")
    (folder,) = folders
    names = [os.path.basename(target) for target in targets]
    staging = staging_in(files, folder)
    if compute:
        staging = staging.made()
    write = partial(_write, staging, tuple(names), compression, encoding, last_endline)
    written = Bag(Numbered((bag.expr,), BlockCall(write, (Block(0), Block(1)), label="to-textfiles")))
    done = written._value(blocks.same, blocks.joined, Publish(staging, ()), "written", None)
    if not compute:
        return done
    try:
        done.compute()
    except BaseException:
        staging.remove()
        raise
    first = os.fspath(path if isinstance(path, (str, os.PathLike)) else path[0])
    scheme = first[: first.find("://") + 3] if "://" in first else ""
    return [f"{scheme}{folder}/{name}" if os.path.dirname(targets[0]) else name for name in names]


def _targets(
    paths: Sequence[str], is_list: bool, count: int, name_function: Callable[[int], str] | None
) -> Sequence[str]:
    if is_list:
        if len(paths) != count:
            raise OptionError(f"{len(paths)} paths were given for {count} partitions")
        return paths
    (path,) = paths
    if "*" not in path:
        path = f"{path.rstrip('/')}/*.part"
    if path.count("*") > 1 or "*" in os.path.dirname(path):
        raise OptionError(f"path={path!r} should have one '*', in the file's name")
    digits = len(f"{count - 1}")
    names = [f"{number:0{digits}}" if name_function is None else name_function(number) for number in range(count)]
    if len(set(names)) < count or names != sorted(names):
        raise ValueError(f"name_function should return names in ascending order, each once; got {names[:5]}")
    return [path.replace("*", name) for name in names]


def _write(staging: Staging, names: Sequence[str], compression: str | None, encoding: str, last_endline: bool, lines: list[str], number: int) -> list[Written]:  # fmt: skip
    text = "\n".join(lines) + ("\n" if last_endline and lines else "")
    data = text.encode(encoding)
    kind = _compression_of(names[number], compression)
    if kind:
        buffer = io.BytesIO()
        with _OPENERS[kind](buffer, "wb") as file:
            file.write(data)
        data = buffer.getvalue()
    with staging.open(names[number]) as sink:
        sink.write(data)
    return [Written(len(lines), (names[number],))]

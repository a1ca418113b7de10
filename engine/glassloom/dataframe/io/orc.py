"""ORC files as frames, by stripes. Only the footers are read when the frame is made."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.orc as orc

from glassloom.dataframe.arguments import with_function_arguments
from glassloom.dataframe.call import Block, BlockCall
from glassloom.dataframe.columns import unknown_columns
from glassloom.dataframe.io.filesystems import Files, locate
from glassloom.dataframe.io.parquet_rows import TYPES_MAPPERS
from glassloom.dataframe.io.paths import PathLike
from glassloom.dataframe.io.read import Read, Source
from glassloom.dataframe.wrap import wrap
from glassloom.errors import OptionError, ReadError
from glassloom.graph import tokenize


class Stripes(NamedTuple):
    """Some stripes of a file."""

    path: str
    numbers: tuple[int, ...]


class OrcSource(Source):
    """Stripes of ORC files."""

    label = "read-orc"
    can_project = True

    def __init__(
        self, pieces: list[Stripes], files: Files, index: str | None, dtype_backend: str | None, meta: Any, token: str
    ) -> None:
        self.pieces, self.files, self.index, self.dtype_backend = pieces, files, index, dtype_backend
        self.meta = meta
        self.divisions = (None,) * (len(pieces) + 1)
        self.token = token

    def piece(self, number: int) -> Any:
        return self.pieces[number]

    def reader(self, columns: tuple[Any, ...] | None, condition: Any) -> Callable[[Any], Any]:
        wanted = list(self.meta.columns if columns is None else columns)
        return BlockCall(
            _read_stripes, (Block(0), self.files, wanted, self.index, self.dtype_backend), label=self.label
        )


@with_function_arguments()
def read_orc(
    path: PathLike | Sequence[PathLike],
    *,
    engine: str = "pyarrow",
    columns: Sequence[str] | None = None,
    index: str | None = None,
    split_stripes: bool | int = 1,
    storage_options: dict[str, Any] | None = None,
    filesystem: Any = None,
    dtype_backend: str | None = None,
) -> Any:
    """Read ORC files into a frame. Each partition counts its rows from 0.

    Parameters
    ----------
    path
        A file, a glob, a folder, or a list of those, all of one schema; or URLs.
    engine
        ``"auto"`` or ``"pyarrow"``, which are the same.
    columns
        The columns to read, in this order. Default: all.
    index
        The column to make the index.
    split_stripes
        How many stripes of a file become a partition; False: each file is one.
    storage_options, filesystem, dtype_backend
        As in `read_parquet`.
    """
    if engine not in ("auto", "pyarrow"):
        raise NotImplementedError(f"engine={engine!r}: ORC is read by PyArrow; give engine='pyarrow', or leave it out")
    if dtype_backend not in TYPES_MAPPERS:
        raise OptionError(f"dtype_backend={dtype_backend!r} should be 'numpy_nullable' or 'pyarrow'")
    if split_stripes is not False and split_stripes < 1:
        raise OptionError(f"split_stripes={split_stripes!r} should be 1 or more")
    files, names = locate(path, filesystem, storage_options)
    states = files.find(names, (".orc",))
    opened = [_open(files, state[0]) for state in states]
    schema = opened[0].schema
    for one, state in zip(opened, states, strict=True):
        if not one.schema.equals(schema):
            raise ReadError(f"{state[0]!r} has other columns or types than {states[0][0]!r}")
    unknown = [name for name in [*(columns or ()), *([index] if index else [])] if name not in schema.names]
    if unknown:
        raise unknown_columns(unknown, schema.names)
    pieces = [
        Stripes(state[0], tuple(range(first, min(first + step, one.nstripes))))
        for one, state in zip(opened, states, strict=True)
        for step in [max(one.nstripes, 1) if split_stripes is False else int(split_stripes)]
        for first in range(0, max(one.nstripes, 1), step)
    ]
    wanted = list(columns or [name for name in schema.names if name != index])
    meta = _frame(schema.empty_table(), wanted, index, dtype_backend)
    token = tokenize(states, pieces, files, list(meta.columns), index, dtype_backend)
    return wrap(Read(OrcSource(pieces, files, index, dtype_backend, meta, token), None, None, None))


def _open(files: Files, path: str) -> Any:
    try:
        return orc.ORCFile(files.source(path))
    except (pa.ArrowException, OSError) as error:
        raise ReadError(f"{path!r} can't be read as ORC: {error}") from error


def _read_stripes(
    piece: Stripes, files: Files, columns: list[str], index: str | None, dtype_backend: str | None
) -> Any:
    wanted = list(dict.fromkeys([*columns, *([index] if index else [])]))
    file = _open(files, piece.path)
    try:
        batches = [file.read_stripe(number, columns=wanted) for number in piece.numbers]
    except (pa.ArrowException, OSError) as error:
        raise ReadError(f"{piece.path!r} can't be read: {error}") from error
    table = pa.Table.from_batches(batches) if batches else file.schema.empty_table()
    return _frame(table, columns, index, dtype_backend)


def _frame(table: pa.Table, columns: list[str], index: str | None, dtype_backend: str | None) -> Any:
    wanted = list(dict.fromkeys([*columns, *([index] if index else [])]))
    frame = table.select(wanted).to_pandas(use_threads=False, types_mapper=TYPES_MAPPERS[dtype_backend])
    if index is not None:
        frame = frame.set_index(index)
    return frame[columns]

"""ORC files as frames, by stripes. Only the footers are read when the frame is made."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import pandas as pd
import pyarrow as pa
import pyarrow.orc as orc

from glassloom.dataframe.argument_kinds import one_of, whole_number
from glassloom.dataframe.arguments import with_function_arguments
from glassloom.dataframe.call import Block, BlockCall
from glassloom.dataframe.columns import unknown_columns
from glassloom.dataframe.io.common_types import CommonSchema, cast_column, common_schema
from glassloom.dataframe.io.filesystems import Files, State, locate
from glassloom.dataframe.io.pandas_types import TYPES_MAPPERS, to_pandas
from glassloom.dataframe.io.paths import PathLike
from glassloom.dataframe.io.read import Read, Source
from glassloom.dataframe.wrap import wrap
from glassloom.errors import ReadError
from glassloom.graph import tokenize


class Stripes(NamedTuple):
    """Some stripes of a version of a file."""

    state: State
    numbers: tuple[int, ...]

    @property
    def path(self) -> str:
        """The file."""
        return self.state[0]


class OrcLayout(NamedTuple):
    """How tables become frames: the columns, the index, and the types that all files have together."""

    columns: tuple[str, ...]
    index_column: str | None
    dtype_backend: str | None
    common: CommonSchema
    files: Files

    @property
    def wanted(self) -> list[str]:
        """The columns to read."""
        return list(dict.fromkeys([*self.columns, *([self.index_column] if self.index_column else [])]))


class OrcSource(Source):
    """Stripes of ORC files."""

    label = "read-orc"
    can_project = True
    makes_unlike_dtypes = True

    def __init__(self, pieces: list[Stripes], layout: OrcLayout, token: str) -> None:
        self.pieces, self.layout = pieces, layout
        self.meta = _frame(layout.common.schema.empty_table(), layout)
        self.divisions = (None,) * (len(pieces) + 1)
        self.token = token

    def piece(self, number: int) -> Any:
        return self.pieces[number]

    def reader(self, columns: tuple[Any, ...] | None, condition: Any) -> Callable[[Any], Any]:
        layout = self.layout if columns is None else self.layout._replace(columns=tuple(columns))
        return BlockCall(_read_stripes, (Block(0), layout), label=self.label)


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
        A file, a glob, a folder, or a list of those; or URLs. Files may differ as those of `read_parquet`.
    engine
        ``"auto"`` or ``"pyarrow"``, which are the same.
    columns
        The columns to read, in this order. Default: all.
    index
        The column to make the index, which is none of the columns then.
    split_stripes
        How many stripes of a file become a partition; False: each file is one.
    storage_options, filesystem, dtype_backend
        As in `read_parquet`.
    """
    if engine not in ("auto", "pyarrow"):
        raise NotImplementedError(f"engine={engine!r}: ORC is read by PyArrow; give engine='pyarrow', or leave it out")
    one_of("read_orc", "dtype_backend", dtype_backend, [None, *(name for name in TYPES_MAPPERS if name is not None)])
    if not isinstance(split_stripes, bool):
        whole_number("read_orc", "split_stripes", split_stripes, 1)
    files, names = locate(path, filesystem, storage_options)
    states = files.find(names, (".orc",))
    opened = [_open(files, state[0]) for state in states]
    common = common_schema([state[0] for state in states], [one.schema for one in opened])
    schema = common.schema
    most = max((one.schema.names for one in opened), key=len)  # a file without rows may lack columns
    in_order = [*most, *(name for name in schema.names if name not in most)]
    unknown = [name for name in [*(columns or ()), *([index] if index else [])] if name not in schema.names]
    if unknown:
        raise unknown_columns(unknown, schema.names)
    pieces = [
        Stripes(state, tuple(range(first, min(first + step, one.nstripes))))
        for one, state in zip(opened, states, strict=True)
        for step in [max(one.nstripes, 1) if split_stripes is False else int(split_stripes)]
        for first in range(0, max(one.nstripes, 1), step)
    ]
    wanted = tuple(name for name in (columns or in_order) if name != index)
    layout = OrcLayout(wanted, index, dtype_backend, common, files)
    token = tokenize(states, pieces, files, wanted, index, dtype_backend)
    return wrap(Read(OrcSource(pieces, layout, token), None, None, None))


def _open(files: Files, path: str) -> Any:
    try:
        return orc.ORCFile(files.source(path))
    except (pa.ArrowException, OSError) as error:
        raise ReadError(f"{path!r} can't be read as ORC: {error}") from error


def _read_stripes(piece: Stripes, layout: OrcLayout) -> Any:
    with layout.files.unchanged(piece.state, "read_orc"):
        file = _open(layout.files, piece.path)
        names = [name for name in layout.wanted if name in file.schema.names] or file.schema.names[:1]  # for their rows
        try:
            batches = [file.read_stripe(number, columns=names) for number in piece.numbers]
        except (pa.ArrowException, OSError) as error:
            raise ReadError(f"{piece.path!r} can't be read: {error}") from error
    table = pa.Table.from_batches(batches) if batches else file.schema.empty_table()
    columns = [_column(table, layout.common.schema.field(name), piece.path, layout) for name in layout.wanted]
    if not columns:
        return pd.DataFrame(index=pd.RangeIndex(len(table)))
    return _frame(pa.table(dict(zip(layout.wanted, columns, strict=True))), layout)


def _column(table: pa.Table, field: pa.Field, path: str, layout: OrcLayout) -> pa.ChunkedArray:
    """Return a column of a file with the type of all files; its values are missing if the file lacks it."""
    if field.name not in table.schema.names:
        return pa.chunked_array([pa.nulls(len(table), field.type)])
    column = table[field.name]
    return column if column.type.equals(field.type) else cast_column(column, field, path, layout.common.like)


def _frame(table: pa.Table, layout: OrcLayout) -> Any:
    frame = to_pandas(table.select(layout.wanted), layout.dtype_backend)
    if layout.index_column is not None:
        frame = frame.set_index(layout.index_column)
    return frame[list(layout.columns)]

"""The Arrow table of a partition that is written to Parquet: its schema, and what is noted of its index."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import pandas as pd
import pyarrow as pa

from glassloom.dataframe.columns import require_columns
from glassloom.dataframe.io.common_types import common_schema, pandas_notes, stored_type
from glassloom.dataframe.io.noted_index import MADE_UP
from glassloom.errors import MetaError, OptionError, ReadError

Types: TypeAlias = pa.Schema | dict[str, Any] | None
"""The Arrow types that were asked for: of all columns, of some, or of none."""


def checked_schema(schema: Any, meta: Any, write_index: bool | None, keys: Sequence[str]) -> Types:
    """Return the schema that was given, or the types of some columns; None if partitions have their own.

    Columns that are `keys` are in the names of folders, and left out.

    Raises
    ------
    OptionError
        If it is something else, or lacks the index that is to be written.
    """
    if schema is None or (isinstance(schema, str) and schema == "infer"):
        return None
    if isinstance(schema, pa.Schema):
        if write_index:
            schema = _with_index(schema, meta)
        kept = [field for field in schema if field.name not in keys]
        return schema if len(kept) == len(schema) else pa.schema(kept, metadata=schema.metadata)
    if not isinstance(schema, Mapping) or not all(isinstance(one, pa.DataType) for one in schema.values()):
        raise OptionError(
            f"schema={schema!r} should be a pyarrow.Schema, a dict from columns to types such as "
            "{'x': pyarrow.float32()}, or 'infer'"
        )
    require_columns([name for name in schema if name not in meta.index.names], meta)
    return dict(schema)


def _with_index(schema: pa.Schema, meta: Any) -> pa.Schema:
    """Return a schema with the index that is to be written, whose types are those of its dtypes where the schema has none.

    Raises
    ------
    OptionError
        If dtypes don't tell them.
    """
    lacking = [name for name in _index_fields(meta.index) if name not in schema.names]
    if not lacking:
        return schema
    own = pa.Schema.from_pandas(meta, preserve_index=True)
    if any(pa.types.is_null(own.field(name).type) for name in lacking):
        raise OptionError(f"write_index=True needs {lacking} in schema=, which has {schema.names}")
    return pa.schema([*schema, *(own.field(name) for name in lacking)], metadata=schema.metadata)


def _index_fields(index: pd.Index) -> list[str]:
    made_up = MADE_UP.removesuffix("0__")
    return [f"{made_up}{place}__" if name is None else str(name) for place, name in enumerate(index.names)]


def table_of(part: Any, types: Types, preserve_index: bool | None) -> pa.Table:
    """Return a pandas frame as Arrow's table. An index that is a range is noted, whatever the types, unless it is left out.

    All levels of an index of several are columns: PyArrow notes one that is a range in this partition, and may not be in others.
    """
    if preserve_index is None and isinstance(part.index, pd.MultiIndex):
        preserve_index = True
    schema = _with_types(part, types, preserve_index) if isinstance(types, dict) else types
    table = pa.Table.from_pandas(part, schema=schema, preserve_index=preserve_index)
    if schema is None or preserve_index is False or not isinstance(part.index, pd.RangeIndex):
        return table
    return _with_range_noted(table, part.index)


def _with_types(part: Any, types: dict[str, Any], preserve_index: bool | None) -> pa.Schema:
    """Return the Arrow schema of a pandas frame with other types of some columns."""
    schema = pa.Schema.from_pandas(part, preserve_index=preserve_index)
    for name, dtype in types.items():
        place = schema.get_field_index(name)
        if place >= 0:
            schema = schema.set(place, pa.field(name, dtype))
    return schema


def _with_range_noted(table: pa.Table, index: pd.RangeIndex) -> pa.Table:
    """Return a table with a note of a range of labels: PyArrow notes none where it is given a schema."""
    notes = pandas_notes(table.schema)
    if notes.get("index_columns"):
        return table
    name = None if index.name is None else str(index.name)
    described = {"kind": "range", "name": name, "start": index.start, "stop": index.stop, "step": index.step}
    text = json.dumps({**notes, "index_columns": [described]})
    return table.replace_schema_metadata({**(table.schema.metadata or {}), b"pandas": text.encode()})


def require_common_types(names: Sequence[str], schemas: Sequence[pa.Schema]) -> None:
    """Check that files can be read together.

    Raises
    ------
    MetaError
        If there is no type for all files' values of a column.
    """
    stored = [
        pa.schema([field.with_type(stored_type(field.type)) for field in schema], metadata=schema.metadata)
        for schema in schemas
    ]
    try:
        if stored:
            common_schema(names, stored)
    except ReadError as error:
        raise MetaError(
            f"to_parquet: partitions have values of unlike types: {str(error).partition(': there is no type')[0]}. astype() gives "
            "columns one dtype, schema={column: pyarrow type} one type; schema=None writes files that can only be read one by one"
        ) from error

"""The schema of several files: their columns together, each of a type that holds the values of all of them.

Types are those of pandas' `concat`: numbers of unlike widths, times of unlike units, text of any form. What no such type holds is an
error that names the column and two files. It reads no rows.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa

from glassloom.errors import ReadError

_UNITS = ("s", "ms", "us", "ns")


class CommonSchema(NamedTuple):
    """The schema of several files. `like` names, of columns whose type isn't that of all files, a file that says why."""

    schema: pa.Schema
    like: dict[str, str]


def pandas_notes(schema: pa.Schema) -> dict[str, Any]:
    """Return what pandas noted when it wrote a file. It is kept, and not to be changed."""
    return _parsed((schema.metadata or {}).get(b"pandas", b"{}"))


@lru_cache(maxsize=1024)
def _parsed(text: bytes) -> dict[str, Any]:
    noted: dict[str, Any] = json.loads(text)
    return noted


def is_same_kind(one: pa.DataType, other: pa.DataType) -> bool:
    """Whether columns of two types are one column. Codes of categories may be of any width; without values, a type says nothing."""
    if pa.types.is_dictionary(one) and pa.types.is_dictionary(other):
        return one.ordered == other.ordered and is_same_kind(one.value_type, other.value_type)
    has_values = not pa.types.is_null(one) and not pa.types.is_null(other)
    return one.equals(other) or not has_values or (is_text(one) and is_text(other))


def stored_type(kind: pa.DataType) -> pa.DataType:
    """Return the type that a column of a type has in a file: Parquet knows only categories of text."""
    return kind.value_type if pa.types.is_dictionary(kind) and not is_text(kind.value_type) else kind


def is_text(kind: pa.DataType) -> bool:
    """Whether a type is text of any form."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def common_schema(paths: Sequence[str], schemas: Sequence[pa.Schema]) -> CommonSchema:
    """Return the schema of all files: their columns in the order in which they turn up.

    Raises
    ------
    ReadError
        If there is no type for a column.
    """
    if all(schema.equals(schemas[0], check_metadata=True) for schema in schemas[1:]):
        return CommonSchema(schemas[0], {})
    known = [_with_unknown_types(schema) for schema in schemas]
    if all(schema.equals(known[0]) for schema in known[1:]) and not any(pa.types.is_null(one.type) for one in known[0]):
        return CommonSchema(_with_notes(known[0], known), {})
    fields: list[pa.Field] = []
    like: dict[str, str] = {}
    for name in dict.fromkeys(name for schema in known for name in schema.names):
        having = [(path, schema.field(name)) for path, schema in zip(paths, known, strict=True) if name in schema.names]
        field, path = _common_field(name, having)
        fields.append(field)
        if any(not one.type.equals(field.type) for _, one in having):
            like[name] = path
    return CommonSchema(_with_notes(pa.schema(fields, metadata=known[0].metadata), known), like)


def cast_column(column: pa.ChunkedArray, field: pa.Field, path: str, like: dict[str, str]) -> pa.ChunkedArray:
    """Return a file's column as values of the type that it has in all files. `like` is that of `CommonSchema`.

    Raises
    ------
    ReadError
        If not all values are of that type.
    """
    try:
        return column.cast(field.type)
    except pa.ArrowException as error:
        other = like.get(field.name, "other files")
        raise ReadError(
            f"column {field.name!r} is {column.type} in {path!r} and another type in {other!r}; not all of its values "
            f"are {field.type}, the type for both: {error}. Read the files by themselves, and convert one side with astype()"
        ) from error


def _common_field(name: str, having: Sequence[tuple[str, pa.Field]]) -> tuple[pa.Field, str]:
    """Return the field of a column of some files, and the file whose type is nearest to it."""
    path, field = having[0]
    for other_path, other in having[1:]:
        if other.type.equals(field.type):
            continue
        wider = _wider(field.type, other.type)
        if wider is None:
            raise ReadError(
                f"column {name!r} is {other.type} in {other_path!r}, but {field.type} in {path!r}: there is no type for both. "
                "Read the files by themselves, convert one side with astype(), and put them together with concat()"
            )
        if not wider.equals(field.type):
            path, field = other_path, other.with_type(wider)
    return field, path


def _wider(one: pa.DataType, other: pa.DataType) -> pa.DataType | None:
    """Return the type that holds the values of two types; None: there is none."""
    if pa.types.is_null(one) or pa.types.is_null(other):
        return other if pa.types.is_null(one) else one
    if pa.types.is_dictionary(one) and pa.types.is_dictionary(other):
        return _wider_categories(one, other)
    one, other = (kind.value_type if pa.types.is_dictionary(kind) else kind for kind in (one, other))
    if one.equals(other):
        return one
    if is_text(one) and is_text(other):
        return pa.large_string()
    if _is_number(one) and _is_number(other):
        return pa.from_numpy_dtype(np.result_type(one.to_pandas_dtype(), other.to_pandas_dtype()))
    if pa.types.is_timestamp(one) and pa.types.is_timestamp(other):
        return pa.timestamp(max(one.unit, other.unit, key=_UNITS.index), one.tz) if one.tz == other.tz else None
    if any(is_family(one) and is_family(other) for is_family in _FAMILIES):
        both = [pa.schema([pa.field("", kind)]) for kind in (one, other)]
        return pa.unify_schemas(both, promote_options="permissive").field(0).type
    if _is_list(one) and _is_list(other):
        values = _wider(one.value_type, other.value_type)
        return None if values is None else pa.large_list(values)
    return None


def _wider_categories(one: pa.DictionaryType, other: pa.DictionaryType) -> pa.DataType | None:
    """Return the type of two columns of categories; of the first one's codes, as categories are put together later."""
    values = _wider(one.value_type, other.value_type)
    if values is None or one.ordered != other.ordered:
        return None
    return one if values.equals(one.value_type) else pa.dictionary(one.index_type, values, one.ordered)


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind))


_FAMILIES: tuple[Callable[[pa.DataType], bool], ...] = (
    pa.types.is_decimal,
    pa.types.is_duration,
    pa.types.is_time,
    pa.types.is_date,
    lambda kind: bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind)),
)
"""Types that PyArrow puts together as pandas does."""


def _with_unknown_types(schema: pa.Schema) -> pa.Schema:
    """Return a schema in which categories that there are none of have no type: pandas notes them as numbers."""
    for column in pandas_notes(schema).get("columns", []):
        is_empty = (
            column.get("pandas_type") == "categorical" and (column.get("metadata") or {}).get("num_categories") == 0
        )
        place = schema.get_field_index(column.get("field_name") or "") if is_empty else -1
        if place >= 0 and not pa.types.is_dictionary(schema.field(place).type):
            schema = schema.set(place, pa.field(schema.field(place).name, pa.null()))
    return schema


# What pandas noted.


def _with_notes(common: pa.Schema, schemas: Sequence[pa.Schema]) -> pa.Schema:
    """Return a schema with notes of the columns' dtypes that are those of all files together."""
    noted = pandas_notes(common)
    if not noted and not any(b"pandas" in (schema.metadata or {}) for schema in schemas):
        return common
    are_like = all(schema.names == common.names for schema in schemas)
    if are_like and all(pandas_notes(schema).get("columns") == noted.get("columns") for schema in schemas):
        return common
    by_file = [_noted_columns(schema) for schema in schemas]
    columns = []
    for field in common:
        having = [
            (schema.field(field.name).type, notes.get(field.name))
            for schema, notes in zip(schemas, by_file, strict=True)
            if field.name in schema.names and not pa.types.is_null(schema.field(field.name).type)
        ]
        note = _common_note(field.type, having)
        if note is not None:
            columns.append(note)
    described = {"index_columns": [], **noted, "column_indexes": _noted_labels(schemas), "columns": columns}
    return common.with_metadata({**(common.metadata or {}), b"pandas": json.dumps(described).encode()})


def _noted_labels(schemas: Sequence[pa.Schema]) -> list[Any]:
    """Return what is noted of the names of columns, such as that they are numbers; nothing if the files differ in it."""
    noted = [pandas_notes(schema) for schema in schemas]
    labels = [
        one.get("column_indexes", [])
        for one in noted
        if len(one.get("columns", [])) > len(one.get("index_columns", []))
    ]
    return labels[0] if labels and all(one == labels[0] for one in labels) else []


class ColumnLabels(NamedTuple):
    """The columns' labels where they aren't text, of the columns with these names in the files."""

    names: tuple[str, ...]
    labels: pd.Index

    def of(self, names: Sequence[str]) -> Any:
        """Return the labels of some columns; those in the names of folders are their own."""
        others = [name for name in names if name not in self.names]
        if not others:
            return self.labels.take([self.names.index(name) for name in names])
        empty = [""] * (self.labels.nlevels - 1)
        named: dict[str, Any] = {name: (name, *empty) if empty else name for name in others}
        known = dict(zip(self.names, self.labels, strict=True))
        return pd.Index([known.get(name, named.get(name)) for name in names])


def without_labels(common: CommonSchema) -> tuple[CommonSchema, ColumnLabels | None]:
    """Return a schema whose columns have the names that are in the files, and the labels that pandas noted if those aren't text."""
    noted = pandas_notes(common.schema)
    levels = noted.get("column_indexes", [])
    if len(levels) < 2 and all(one.get("pandas_type") in ("unicode", "string", "empty") for one in levels):
        return common, None
    plain = {**noted, "index_columns": [], "columns": []}
    names = [name for name in common.schema.names if name not in noted.get("index_columns", [])]
    named = pa.schema([pa.field(name, pa.null()) for name in names])
    notes = json.dumps({**noted, "column_indexes": []}).encode()
    schema = common.schema.with_metadata({**(common.schema.metadata or {}), b"pandas": notes})
    try:
        of_files = named.with_metadata({b"pandas": json.dumps(plain).encode()}).empty_table().to_pandas()
    except TypeError:  # PyArrow writes labels that are categories, and can't read them
        return common._replace(schema=schema), None
    return common._replace(schema=schema), ColumnLabels(tuple(names), of_files.columns)


def _noted_columns(schema: pa.Schema) -> dict[str, dict[str, Any]]:
    return {
        column.get("field_name") or column.get("name"): column for column in pandas_notes(schema).get("columns", [])
    }


def _common_note(
    kind: pa.DataType, having: Sequence[tuple[pa.DataType, dict[str, Any] | None]]
) -> dict[str, Any] | None:
    """Return the note of a column; None if its dtype follows from its type."""
    notes = [note for _, note in having]
    first = next((note for note in notes if note is not None), None)
    dtypes = [note and (note.get("numpy_type"), note.get("pandas_type")) for note in notes]
    if first is None or (all(one == dtypes[0] for one in dtypes) and all(own.equals(kind) for own, _ in having)):
        return first
    dtype = _common_dtype([_noted_dtype(own, note) for own, note in having])
    name = str(dtype) if pd.api.types.is_extension_array_dtype(dtype) else "object"
    if isinstance(dtype, pd.CategoricalDtype):
        return (
            first
            if pa.types.is_dictionary(kind)
            else {**first, "numpy_type": "object", "pandas_type": "", "metadata": None}
        )
    return {**first, "numpy_type": name, "pandas_type": "", "metadata": None}


def _noted_dtype(kind: pa.DataType, note: dict[str, Any] | None) -> Any:
    """Return the dtype that a file's column becomes, as far as it is noted or follows from the type."""
    name = (note or {}).get("numpy_type", "object")
    if name != "object" and (note or {}).get("pandas_type") != "categorical":
        try:
            return pd.api.types.pandas_dtype(name)
        except TypeError:  # of a library that isn't imported
            pass
    return np.dtype(kind.to_pandas_dtype()) if _is_number(kind) or pa.types.is_boolean(kind) else np.dtype(object)


def _common_dtype(dtypes: Sequence[Any]) -> Any:
    known = [dtype for dtype in dtypes if not pd.api.types.is_object_dtype(dtype)]
    return pd.concat([pd.Series([], dtype=dtype) for dtype in known]).dtype if known else np.dtype(object)

"""The index of several Parquet files, as pandas noted it in each: a column, or a range of numbers that is in no column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from glassloom.dataframe.columns import unknown_columns
from glassloom.dataframe.io.common_types import pandas_notes
from glassloom.errors import ReadError

MADE_UP = "__index_level_0__"
"""The name of a column that pandas makes for an index without a name."""


class NotedIndex(NamedTuple):
    """The column that becomes the index; if None, rows are numbered from `start` in steps of `step` through all files.

    `ranges` has, for each file that has no such column though others do, the labels of its rows.
    """

    column: str | None
    name: Any
    start: int = 0
    step: int = 1
    ranges: tuple[range | None, ...] = ()
    levels: tuple[str, ...] = ()
    """The columns that are noted as an index in some file."""


class Level(NamedTuple):
    """A level of an index of several: its column in the files, and its name."""

    column: str
    name: Any


def chosen_index(index: Any, paths: Sequence[str], schemas: Sequence[pa.Schema], counts: Sequence[int]) -> Any:
    """Return what `index` chooses; None, for the index that is noted, where that has the name and is in no column of it."""
    name = index[0] if isinstance(index, (list, tuple)) and len(index) == 1 else index
    if not isinstance(name, str) or any(name in schema.names for schema in schemas):
        return index
    if any(len(pandas_notes(schema).get("index_columns", [])) != 1 for schema in schemas):
        return index
    return None if noted_index(paths, schemas, counts).name == name else index


def levels_of(schemas: Sequence[pa.Schema], index: Any) -> tuple[Level, ...]:
    """Return the levels of an index of several, which are chosen by `index` or, where that is None, noted in all files alike.

    Raises
    ------
    UnknownColumn
        If one that is chosen is no column of the first file.
    ReadError
        If one that is noted is in no column.
    """
    if isinstance(index, (list, tuple)) and len(index) > 1:
        unknown = [name for name in index if name not in schemas[0].names]
        if unknown:
            raise unknown_columns(unknown, schemas[0].names)
        return tuple(Level(name, name) for name in index)
    noted = [pandas_notes(schema) for schema in schemas]
    described = [one.get("index_columns", []) for one in noted]
    columns = described[0]
    if index is not None or len(columns) < 2 or any(other != columns for other in described):
        return ()
    if not all(isinstance(column, str) for column in columns):
        raise ReadError(
            f"the index has {len(columns)} levels, of which one is a range that is in no column; choose other columns with index=, or index=False; "
            "pandas.read_parquet() reads it, and writes all levels as columns with to_parquet(index=True)"
        )
    names = {column.get("field_name"): column.get("name") for column in noted[0].get("columns", [])}
    return tuple(Level(column, names.get(column)) for column in columns)


def noted_index(paths: Sequence[str], schemas: Sequence[pa.Schema], counts: Sequence[int]) -> NotedIndex:
    """Return the index of files; `counts` are their numbers of rows.

    Files that count their rows from 0, each by itself, are numbered through.

    Raises
    ------
    ReadError
        If the files have an index of several levels, or unlike ones.
    """
    noted = [pandas_notes(schema) for schema in schemas]
    described = [one.get("index_columns", []) for one in noted]
    most = max(map(len, described))
    if most > 1:
        raise ReadError(
            f"some files have an index of {most} levels, others another; choose one with index=, or index=False"
        )
    levels = tuple(dict.fromkeys(one for many in described for one in many if isinstance(one, str)))
    if len(levels) > 1:
        two = [next(path for path, many in zip(paths, described, strict=True) if level in many) for level in levels[:2]]
        raise ReadError(
            f"the index of {two[0]!r} is column {levels[0]!r}, that of {two[1]!r} column {levels[1]!r}; choose one with index=, "
            "or index=False"
        )
    ranges = [_range(many, count) for many, count in zip(described, counts, strict=True)]
    name = _name(levels, described, noted)
    has_labels = (
        [bool(count) and levels[0] in schema.names for schema, count in zip(schemas, counts, strict=True)]
        if levels
        else []
    )
    if not levels or (any(counts) and not any(has_labels)):  # what files without rows note doesn't count
        numbered = _numbered(ranges, counts, name)
        return numbered._replace(levels=(*numbered.levels, *levels))
    for path, schema, own in zip(paths, schemas, ranges, strict=True):
        if levels[0] not in schema.names and own is None:
            raise ReadError(
                f"{path!r} lacks column {levels[0]!r}, which is the index of other files; choose another one with index=, or index=False"
            )
    has_column = [levels[0] in schema.names for schema in schemas]
    kept = tuple(None if has else own for has, own in zip(has_column, ranges, strict=True))
    return NotedIndex(levels[0], name, 0, 1, () if all(has_column) else kept, levels)


def _numbered(ranges: Sequence[range | None], counts: Sequence[int], name: Any) -> NotedIndex:
    """Return the index of files none of which has a column of labels."""
    filled = [one for one, count in zip(ranges, counts, strict=True) if count]
    known = [one for one in filled if one is not None]
    if len(known) < len(filled) or not known:
        return NotedIndex(None, name)
    if len(known) > 1 and all(one.start == 0 and one.step == 1 for one in known):
        return NotedIndex(None, name)
    step = next((one.step for one in known if len(one) > 1), known[1].start - known[0].start if len(known) > 1 else 1)
    following = known[0].start
    for one in known:
        if step == 0 or one.start != following or (len(one) > 1 and one.step != step):
            return NotedIndex(MADE_UP, name, 0, 1, tuple(own or range(0) for own in ranges), (MADE_UP,))
        following += step * len(one)
    return NotedIndex(None, name, known[0].start, step)


def _range(described: Sequence[Any], count: int) -> range | None:
    """Return the labels that a file notes without a column; None: none that are those of its rows."""
    if not described or isinstance(described[0], str):
        return None
    found = range(described[0]["start"], described[0]["stop"], described[0]["step"])
    return found if len(found) == count else None


def _name(levels: Sequence[str], described: Sequence[Sequence[Any]], noted: Sequence[dict[str, Any]]) -> Any:
    """Return the name of the index."""
    if levels:
        names = [
            column.get("name")
            for one in noted
            for column in one.get("columns", [])
            if column.get("field_name") == levels[0]
        ]
        return names[0] if names else levels[0]
    names = [many[0].get("name") for many in described if many]
    return names[0] if names and all(one == names[0] for one in names) else None

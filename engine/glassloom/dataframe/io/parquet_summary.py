"""The files ``_metadata`` and ``_common_metadata`` of a folder: the footers of its Parquet files together, for readers that take them."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from glassloom.dataframe.io.filesystems import State
from glassloom.dataframe.io.staging import Staging
from glassloom.errors import MetaError

SUMMARY = "_metadata"
SCHEMA = "_common_metadata"
_THREADS = 8


def summaries_there(staging: Staging) -> list[str]:
    """Return the names of such files in a folder."""
    paths = {f"{staging.folder}/{name}": name for name in (SUMMARY, SCHEMA)}
    return [paths[info.path] for info in staging.filesystem.get_file_info(list(paths)) if info.is_file]


def without_summaries(states: Sequence[State]) -> tuple[State, ...]:
    """Return files without those that have no rows, but the footers of others, if there are others."""
    kept = tuple(state for state in states if state[0].replace("\\", "/").rpartition("/")[2] not in (SUMMARY, SCHEMA))
    return kept or tuple(states)


@dataclass(frozen=True)
class Summary:
    """Writes both files for those that were written with PyArrow's `options`, and `kept`, which were there before.

    A column without values in a file, of which nothing tells the type there, is written again with the type that it has in the others.

    Where files of unlike columns have no common footer, that is an error if the summary `is_required`, and otherwise it isn't written.
    """

    kept: tuple[str, ...]
    is_required: bool
    options: dict[str, Any]

    def __call__(self, staging: Staging, names: Sequence[str]) -> list[str]:
        """Write them into the inner folder, and return their names.

        Raises
        ------
        MetaError
            If the files have unlike columns.
        """
        places = {**{name: staging.folder for name in self.kept}, **{name: staging.inside for name in names}}
        if not places:
            return []
        with ThreadPoolExecutor(_THREADS) as pool:
            footers = list(pool.map(lambda one: _footer(staging, one[1], one[0]), sorted(places.items())))
        for place, name in enumerate(sorted(places)):
            found = self._with_types(staging, name, footers[place], footers) if name in names else None
            footers[place] = found or footers[place]
        whole = footers[0]
        for one in footers[1:]:
            if not one.schema.equals(whole.schema):
                if self.is_required:
                    raise _unlike(sorted(places), footers)
                return []
            whole.append_row_groups(one)
        with staging.open(SUMMARY) as sink:
            whole.write_metadata_file(sink)
        with staging.open(SCHEMA) as sink:
            pq.write_metadata(whole.schema.to_arrow_schema(), sink)
        return [SUMMARY, SCHEMA]

    def _with_types(self, staging: Staging, name: str, footer: Any, footers: Sequence[Any]) -> Any:
        """Write a file again whose columns have no types that those of others have, and return its footer; None: it has all."""
        schema = footer.schema.to_arrow_schema()
        untyped = [field.name for field in schema if pa.types.is_null(field.type)]
        others = [other.schema.to_arrow_schema() for other in footers] if untyped else []
        typed = {
            name: other.field(name).type
            for other in others
            for name in untyped
            if name in other.names and not pa.types.is_null(other.field(name).type)
        }
        if not typed:
            return None
        with _opened(staging, staging.inside, name) as file:
            table = pq.read_table(file)
        for place, field in enumerate(schema):
            if field.name in typed:
                table = table.set_column(
                    place, field.with_type(typed[field.name]), table[place].cast(typed[field.name])
                )
        with staging.open(name) as sink:
            pq.write_table(table.replace_schema_metadata(schema.metadata), sink, **self.options)
        return _footer(staging, staging.inside, name)


def _opened(staging: Staging, folder: str, name: str) -> Any:
    """Open a file of a folder; a worker that was lost may have put it in its place."""
    try:
        return staging.filesystem.open_input_file(f"{folder}/{name}")
    except FileNotFoundError:
        return staging.filesystem.open_input_file(f"{staging.folder}/{name}")


def _footer(staging: Staging, folder: str, name: str) -> Any:
    with _opened(staging, folder, name) as file:
        footer = pq.read_metadata(file)
    footer.set_file_path(name)
    return footer


def _unlike(names: Sequence[str], footers: Sequence[Any]) -> MetaError:
    schemas = [footer.schema.to_arrow_schema().remove_metadata() for footer in footers]
    place = next(place for place, schema in enumerate(schemas) if not footers[place].schema.equals(footers[0].schema))
    fields = sorted(set(map(str, schemas[place])) ^ set(map(str, schemas[0])))
    return MetaError(
        f"write_metadata_file=True: {names[0]!r} and {names[place]!r} have unlike columns: {', '.join(fields)}; "
        "schema={column: pyarrow type} gives them one type"
    )

"""Which columns of Parquet files have missing values: their footers say it, or where these don't, what is in the columns.

pandas takes the least number of a time for a missing one, too.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from glassloom.dataframe.io.filesystems import Files, State
from glassloom.dataframe.io.parquet_files import NOT_A_TIME, place_in_group
from glassloom.errors import ReadError


def columns_with_missing(
    places: Mapping[str, int], states: Sequence[State], footers: Sequence[Any], files: Files
) -> set[str]:
    """Return the columns that have missing values in some file.

    Columns of which no footer says so, and some don't say that none is missing, are read, until one is found.

    Parameters
    ----------
    places
        The columns' names, and where each probably is in a file.

    Raises
    ------
    ReadError
        If a file can't be read.
    """
    found: set[str] = set()
    untold = [_untold(one, places, found) for one in footers]
    for state, one, groups in zip(states, footers, untold, strict=True):
        if any(name not in found for names in groups.values() for name in names):
            found |= _found_in(state, one, groups, found, files)
    return found


def columns_with_no_times(places: Mapping[str, int], footers: Sequence[Any]) -> frozenset[str]:
    """Return the columns of times that may have the number by which pandas marks a missing one: a file has a value there.

    Which don't is known of the least value. (Those of 96 bits have no such number.)
    """
    found: set[str] = set()
    for one in footers:
        for group in range(one.num_row_groups):
            row_group = one.row_group(group)
            left = {name: place for name, place in places.items() if name not in found}
            found |= {name for name, place in left.items() if _may_be_no_time(row_group, name, place)}
    return frozenset(found)


def _may_be_no_time(row_group: Any, name: str, probable: int) -> bool:
    place = place_in_group(row_group, name, probable)
    chunk = None if place is None else row_group.column(place)
    if chunk is None or not chunk.num_values or chunk.physical_type != "INT64":
        return False
    known = chunk.statistics if chunk.is_stats_set else None
    if known is None:
        return True
    has_none = known.has_null_count and known.null_count == chunk.num_values
    return not has_none and not (known.has_min_max and known.min_raw > NOT_A_TIME)


def _untold(one: Any, places: Mapping[str, int], found: set[str]) -> dict[int, list[str]]:
    """Return by row group the columns of which a footer doesn't say how many values are missing. Those that miss some are added to `found`."""
    untold: dict[int, list[str]] = {}
    for group in range(one.num_row_groups):
        row_group = one.row_group(group)
        for name, probable in places.items():
            place = None if name in found else place_in_group(row_group, name, probable)
            if place is None or not row_group.num_rows:
                continue
            chunk = row_group.column(place)
            statistics = chunk.statistics if chunk.is_stats_set else None
            if statistics is not None and statistics.has_null_count:
                found.update([name] if statistics.null_count else [])
            elif one.schema.column(place).max_definition_level:  # else the schema says that none is missing
                untold.setdefault(group, []).append(name)
    return untold


def _found_in(
    state: State, one: Any, groups: Mapping[int, Sequence[str]], known: Collection[str], files: Files
) -> set[str]:
    """Return which columns, but for those that are known to, have missing values in row groups of a file."""
    found = set(known)
    try:
        with pq.ParquetFile(files.source(state[0]), metadata=one) as file:
            for group, names in groups.items():
                if left := [name for name in names if name not in found]:
                    table = file.read_row_group(group, columns=left)
                    found |= {name for name in left if table.column(name).null_count}
    except (pa.ArrowException, OSError) as error:
        raise ReadError(f"{state[0]!r} can't be read: {error}") from error
    return found

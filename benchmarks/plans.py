"""How long the 22 queries of TPC-H take to be written and planned, without running a task, and what their plans are.

``python -m benchmarks.plans`` times them; ``python -m benchmarks.plans FILE`` also writes what `explain()` says of each, with
the tokens in names left out, so that a change of the planner can be compared with what was before.
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import mean, median
from typing import Any

import glassloom.dataframe as gd
from glassloom.expr import lower, optimize

from benchmarks.frames import DATA, ROW_GROUP_ROWS
from tests.dataframe.tpch import queries
from tests.dataframe.tpch.tables import Tables, make_tables

ROUNDS = 8
_TOKEN = re.compile("-[0-9a-f]{24}")


def plan(query: Any) -> None:
    """Make the graph of a query as `compute` does on threads."""
    lower(optimize([query.expr], keeps_blocks=False), shares_memory=True)


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Return how many milliseconds a call takes, and what it returns."""
    start_s = time.perf_counter()
    made = work()
    return (time.perf_counter() - start_s) * 1e3, made


@contextmanager
def all_stay_lazy() -> Iterator[None]:
    """Keep queries whose result is one number from computing it."""
    computed, queries._as_frame = queries._as_frame, lambda value, name: value
    try:
        yield
    finally:
        queries._as_frame = computed


def main(arguments: list[str]) -> None:
    tables = Tables(make_tables(DATA / "tpch-1", 1, row_group_rows=ROW_GROUP_ROWS), gd.read_parquet, 1)
    with all_stay_lazy():
        rounds = []
        for _ in range(ROUNDS):
            written, planned = [], []
            for make in queries.QUERIES.values():
                write_ms, query = timed(lambda make=make: make(tables))
                written.append(write_ms)
                planned.append(timed(lambda query=query: plan(query))[0])
            rounds.append((mean(written), mean(planned)))
        first, later = rounds[0], [median(times) for times in zip(*rounds[1:], strict=True)]
        print(f"mean of 22 queries, first time: written in {first[0]:.1f} ms, planned in {first[1]:.1f} ms")
        print(f"later (median of {ROUNDS - 1} rounds): written in {later[0]:.1f} ms, planned in {later[1]:.1f} ms")
        if arguments:
            plans = [f"# {number}\n{make(tables).explain()}\n" for number, make in queries.QUERIES.items()]
            Path(arguments[0]).write_text(_TOKEN.sub("-", "".join(plans)))


if __name__ == "__main__":
    main(sys.argv[1:])

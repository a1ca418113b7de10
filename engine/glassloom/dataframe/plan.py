"""Passes over a whole plan: filters are pushed into reads, and reads of the same rows are merged."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd

from glassloom.dataframe.column_nodes import is_one_value, is_row_by_row
from glassloom.dataframe.derived_meta import names_of
from glassloom.dataframe.io.conditions import Condition
from glassloom.dataframe.io.read import Read
from glassloom.dataframe.nodes import Assign, Filter, FrameExpr, Projection
from glassloom.dataframe.predicates import condition_of, conjuncts, without
from glassloom.dataframe.reduction_nodes import Chunk
from glassloom.expr import Expr, walk

_MOST_FILTERS_IN_A_ROW = 20
LARGE_BYTES = 256 * 2**20
"""Rows that take less are kept until a result is there."""
_MANY_COLUMNS = 3
"""So many more columns aren't read to be kept: others are read twice."""


def filter_while_reading(roots: Sequence[Expr]) -> list[Expr]:
    """Let sources apply what filters have in common, if all that is made of their rows, row by row, ends in a filter.

    If not, the unfiltered rows are needed anyway, and reading them twice would cost more.
    """
    simple = list(roots)
    for _ in range(_MOST_FILTERS_IN_A_ROW):  # each filter may be of what the one before has left
        order = walk(simple)
        new: dict[str, Expr] = {}
        consumers = consumers_of(order)
        root_names = {root.name for root in simple}
        for reads in _reads_by_rows(order).values():
            if reads[0].source.can_filter:
                new.update(_filtered_reads(reads, order, consumers, root_names))
        if not new:
            break
        simple = rebuilt(simple, order, new)
    return simple


def read_once(roots: Sequence[Expr]) -> list[Expr]:
    """Merge reads of different columns of the same rows, but for reads of labels alone by what is over before the others begin, and of few columns
    whose results rows wait for: all that was read would be kept until these are there.
    """
    order = walk(roots)
    new: dict[str, Expr] = {}
    consumers: dict[str, list[Expr]] = {}
    for found in _reads_by_rows(order).values():
        if len(found) < 2:
            continue
        consumers = consumers or consumers_of(order)
        before = _read_before(found, order)
        reads = [
            read
            for read in found
            if read.name not in before and (read.columns != () or not _is_read_apart(read, consumers))
        ]
        if len(reads) < 2:
            continue
        names = [reads[0].source.meta.columns if read.columns is None else read.columns for read in reads]
        wanted = {name for columns in names for name in columns}
        union = tuple(name for name in reads[0].source.meta.columns if name in wanted)
        whole = reads[0].with_columns(union)
        for read, columns in zip(reads, names, strict=True):
            if tuple(columns) != union:
                new[read.name] = Projection(whole, list(columns), origin=read.origin)
            else:
                new[read.name] = whole
    return rebuilt(roots, order, new) if new else list(roots)


def _read_before(reads: Sequence[Read], order: Sequence[Expr]) -> set[str]:
    """Return the names of those of some reads of the same rows that are over, for a filter's results, before wider ones can begin."""
    found: set[str] = set()
    known = {read.name: read for read in reads}
    for node in order:
        results = _results_in(node.predicate) if isinstance(node, Filter) else []
        if not results:
            continue
        rows: Expr = node
        while isinstance(rows, (Filter, Projection, Assign)):
            rows = rows.frame
        if rows.name in known and _is_large(known[rows.name]):
            n_columns = len(names_of(known[rows.name].meta))
            narrow = {read.name for read in reads if len(names_of(read.meta)) + _MANY_COLUMNS <= n_columns}
            found |= {one.name for one in walk(results) if one.name in narrow}
    return found


def _is_large(read: Read) -> bool:
    numbers = read.numbers if read.numbers is not None else range(read.npartitions)
    nbytes = read.source.nbytes(numbers, read.columns)
    return nbytes is None or nbytes >= LARGE_BYTES


def _results_in(predicate: Expr) -> list[Expr]:
    """Return the results that a predicate of rows is computed with."""
    found, stack = [], [predicate]
    while stack:
        node = stack.pop()
        if is_one_value(node):
            found.append(node)
        elif is_row_by_row(node):
            stack.extend(node.dependencies)
    return found


def _is_read_apart(node: Expr, consumers: dict[str, list[Expr]]) -> bool:
    """Whether all that is made of a node is over before what else is computed begins."""
    users = consumers.get(node.name, ())
    return bool(users) and all(
        (isinstance(user, Chunk) and user.reads_apart) or _is_read_apart(user, consumers) for user in users
    )


def consumers_of(order: Sequence[Expr]) -> dict[str, list[Expr]]:
    """Return the nodes that each node is a dependency of, by its name."""
    consumers: dict[str, list[Expr]] = defaultdict(list)
    for node in order:
        for dependency in node.dependencies:
            consumers[dependency.name].append(node)
    return consumers


def _reads_by_rows(order: Sequence[Expr]) -> dict[str, list[Read]]:
    """Return the reads, grouped by the rows that they read."""
    by_rows: dict[str, list[Read]] = defaultdict(list)
    for node in order:
        if isinstance(node, Read) and node.source.can_project:
            by_rows[node.rows].append(node)
    return by_rows


class Region(NamedTuple):
    """Sources of the same rows, such as reads, all that is computed of them row by row, and the filters of that.

    Filters may be of each other, by what is computed of all rows, as in ``x[x.a == 5][x.c > 20]``.
    """

    sources: dict[str, Expr]
    inside: dict[str, Expr]
    filters: dict[str, Filter]


def _filtered_reads(
    reads: list[Read], order: Sequence[Expr], consumers: dict[str, list[Expr]], root_names: set[str]
) -> dict[str, Expr]:
    """Return what replaces the filters of reads of the same rows; nothing unless all that is needed is filtered."""
    region, parts = filtered_region(reads, order, consumers, root_names)
    condition: Condition = ()
    done: set[str] = set()
    for part in parts:
        found = condition_of(part, region.sources, reads[0].source.accept)
        if found is not None:
            condition = (*condition, *found)
            done.add(part.name)
    return _with_condition(region, condition, done) if condition else {}


def filtered_region(
    sources: Sequence[Expr], order: Sequence[Expr], consumers: dict[str, list[Expr]], root_names: set[str]
) -> tuple[Region, list[FrameExpr]]:
    """Return the region of sources of the same rows, and the conditions that all rows fulfil of which something else is made.

    There are none if not all that leaves the region is filtered.
    """
    region = region_of(sources, order)
    if not region.filters or root_names & region.inside.keys():
        return region, []
    known = region.inside.keys() | region.filters.keys()
    if any(user.name not in known for name in region.inside for user in consumers[name]):
        return region, []
    parts = _conditions_of(region, consumers, root_names)
    common = set.intersection(*({part.name for part in found} for found in parts.values()))
    first: list[Any] = next(iter(parts.values()))
    return region, list({part.name: part for part in first if part.name in common}.values())


def _conditions_of(region: Region, consumers: dict[str, list[Expr]], root_names: set[str]) -> dict[str, list[Expr]]:
    """Return what is asked of the rows that leave the region, by the name of the filter by which they do."""
    parts: dict[str, list[Expr]] = {}
    for one in region.filters.values():
        parts[one.name] = [*parts.get(one.frame.name, ()), *conjuncts(one.predicate)]
    passed_on = {one.frame.name for one in region.filters.values()} - root_names
    inner = {name for name in passed_on if all(user.name in parts for user in consumers[name])}
    return {name: found for name, found in parts.items() if name not in inner}


def region_of(sources: Sequence[Expr], order: Sequence[Expr]) -> Region:
    """Return the region of sources of the same rows."""
    inside: dict[str, Expr] = {source.name: source for source in sources}
    filters: dict[str, Filter] = {}
    for node in order:
        if isinstance(node, Filter) and node.predicate.name in inside and _is_filtered_here(node, inside, filters):
            filters[node.name] = node
        elif _is_of_these_rows(node, inside):
            inside[node.name] = node
    return Region({source.name: source for source in sources}, inside, filters)


def _is_filtered_here(node: Filter, inside: dict[str, Expr], filters: dict[str, Filter]) -> bool:
    """Whether a filter chooses among all rows, or among those that filters have left: by their labels, which mustn't occur twice then."""
    if node.frame.name in inside:
        return True
    are_numbered = all(isinstance(one.meta.index, pd.RangeIndex) for one in (node.predicate, _unfiltered(node)))
    return node.frame.name in filters and are_numbered


def _unfiltered(node: FrameExpr) -> FrameExpr:
    while isinstance(node, Filter):
        node = node.frame
    return node


def _is_of_these_rows(node: Expr, inside: dict[str, Expr]) -> bool:
    """Whether each row of a node is computed from the row at the same place of nodes inside, and from scalars."""
    if not is_row_by_row(node) or node.dependencies[0].name not in inside:
        return False
    return all([one.name in inside or is_one_value(one) for one in node.dependencies])


def _with_condition(region: Region, condition: Condition, done: set[str]) -> dict[str, Expr]:
    """Return what replaces the filters, when reads apply a condition that the `done` predicates amount to."""
    reads = {name: read.with_condition(condition) for name, read in region.sources.items()}  # type: ignore[attr-defined]
    return with_less(region, reads, done)


def with_less(region: Region, sources: Mapping[str, Expr], done: set[str]) -> dict[str, Expr]:
    """Return what replaces the filters, when other sources have less rows by the `done` predicates."""
    made: dict[str, Expr] = dict(sources)
    for node in region.inside.values():
        if node.name not in made:
            made[node.name] = node.substitute(lambda child: made.get(child.name, child))
    new: dict[str, Expr] = {}
    for one in region.filters.values():
        left = without(one.predicate, done)
        rows = new[one.frame.name] if one.frame.name in new else made[one.frame.name]
        new[one.name] = rows if left is None else Filter(rows, _moved(left, made), origin=one.origin)
    return new


def _moved(predicate: Expr, made: dict[str, Expr]) -> Expr:
    """Return a predicate, of which `without` may have rebuilt the outer nodes, on the filtered rows."""
    if predicate.name in made:
        return made[predicate.name]
    return predicate.substitute(lambda child: child if is_one_value(child) else _moved(child, made))


def rebuilt(roots: Sequence[Expr], order: Sequence[Expr], new: dict[str, Expr]) -> list[Expr]:
    """Return the roots with nodes replaced by `new` ones."""
    done: dict[str, Expr] = {}
    look_up: Callable[[Expr], Expr] = lambda child: done[child.name]  # noqa: E731
    for node in order:
        done[node.name] = new[node.name] if node.name in new else _once_projected(node.substitute(look_up))
    return [done[root.name] for root in roots]


def _once_projected(node: Expr) -> Expr:
    """Return a choice of columns of a choice of columns, each of them once, as one."""
    if isinstance(node, Projection) and isinstance(node.frame, Projection) and isinstance(node.frame.columns, list):
        inner = node.frame
        return Projection(inner.frame, node.columns, origin=node.origin) if inner.meta.columns.is_unique else node
    return node

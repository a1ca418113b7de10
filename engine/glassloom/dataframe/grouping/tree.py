"""Aggregations by a tree: each partition is grouped, and the groups' partial results are joined by a tree of tasks.

Partial results are flat tables (`tables.py`), with key columns ``k0, k1...`` and part columns ``p0, p1...``, so that neither equal names
nor missing keys need special cases. Distinct values, which are counted at the end, travel in tables of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from glassloom.backends.frames import converted, takes_any_library
from glassloom.backends.pandas_ import concat
from glassloom.backends.sizeof import register_sizeof, sizeof
from glassloom.dataframe import on_device
from glassloom.dataframe.arrow.blocks import ColumnBlock, is_block
from glassloom.dataframe.arrow.forms import takes_blocks
from glassloom.dataframe.arrow.text import is_text
from glassloom.dataframe.grouping.encode import encode, find_groups
from glassloom.dataframe.grouping.groups import Groups, RepeatedGroups, take
from glassloom.dataframe.grouping.kernels import Pair, aggregate, aggregate_again, aggregate_together, are_quick_sums
from glassloom.dataframe.grouping.recipe import BLOCK, COLUMN, Recipe
from glassloom.dataframe.grouping.sums import sums_by_code
from glassloom.dataframe.grouping.tables import (
    CodedKey,
    Table,
    column_of,
    frame_of,
    joined,
    key_of,
    rows_of,
    series_of,
    table_of,
)
from glassloom.dataframe.grouping.wanted import AGAIN, Wanted
from glassloom.dataframe.grouping.wider import NoRows, as_said, no_rows, together
from glassloom.dataframe.reduction_nodes import keeps_no_views, picks_columns
from glassloom.dataframe.value_steps import is_float
from glassloom.dataframe.widening import as_wide_as
from glassloom.graph import tokenize

_VALUE = "v"
_DTYPE_KNOWN = ("count", "size", "nunique", "mean", "var", "std", "sem")
"""Aggregations whose dtype follows from that of the column, whatever the values are."""


@dataclass(frozen=True)
class Partial:
    """The partial results of some rows: a table of all groups, and one of distinct values for each column counted so."""

    table: Table
    distinct: tuple[Any, ...]
    said: NoRows | None = None
    """What partitions without rows say."""


@register_sizeof(Partial)
def _sizeof_partial(partial: Partial) -> int:
    return sum(map(sizeof, (*partial.table.values(), *partial.distinct)))


@dataclass(frozen=True)
class Aggregation:
    """What is computed of the groups of `recipe`: `wanted`, of the value columns with the labels `values`.

    With `of_aggregates`, the columns hold aggregates of some of the rows already, which are aggregated again (see `before_joins.py`).
    `blocks` says of sums of narrow integers which of them are in their dtype only if all of a number fit, as pandas has them of a block of memory.
    """

    recipe: Recipe
    values: tuple[Any, ...]
    wanted: tuple[Wanted, ...]
    of_aggregates: bool = False
    blocks: tuple[int, ...] | None = None

    def __glassloom_tokenize__(self) -> str:
        return self._token

    @cached_property
    def _token(self) -> str:
        return tokenize(self.recipe, self.values, self.wanted, self.of_aggregates, self.blocks)

    @property
    def key_columns(self) -> list[str]:
        return [f"k{number}" for number in range(len(self.recipe.keys))]

    @property
    def parts(self) -> dict[tuple[int, str], str]:
        """The column of each partial result: (place of the value column, part), each once. There is always one."""
        needed = dict.fromkeys((one.place, part) for one in self.wanted for part in one.parts)
        return {part: f"p{number}" for number, part in enumerate(needed or [(-1, "size")])}

    @property
    def distinct(self) -> list[int]:
        """The places of the value columns whose distinct values are counted."""
        return list(dict.fromkeys(one.place for one in self.wanted if one.how == "nunique"))


@takes_blocks
@takes_any_library
@keeps_no_views
@picks_columns
def chunk(plan: Aggregation, block: Any, *blocks: Any) -> Partial | NoRows | None:
    """Return the partial results of a partition; if it has no rows, what that says, or None: nothing."""
    if not len(block):
        return None if on_device.is_on_device(block) else no_rows(plan.recipe, plan.values, block, blocks)
    if on_device.is_on_device(block):
        found = _on_device(plan, block)
        if found is not None:
            return found
        block, blocks = converted(block, "pandas"), tuple(converted(one, "pandas") for one in blocks)
    columns = _keys_and_values(plan, block, blocks)
    if columns is None:
        return NotImplemented
    found = _partial(plan, *columns)
    return found if rows_of(found.table) else no_rows(plan.recipe, plan.values, block, blocks)


def rows(plan: Aggregation, block: Any, *blocks: Any) -> pd.DataFrame:
    """Return the columns that `chunk` needs of a partition: the keys of each row, and its values as ``v0``, ``v1``..."""
    columns = _keys_and_values(plan, block, blocks)
    assert columns is not None  # the block is pandas', or was converted
    keys, values = columns
    named = zip((*plan.key_columns, *(f"v{place}" for place in range(len(values)))), (*keys, *values), strict=True)
    return pd.DataFrame({name: column.array for name, column in named})


def chunk_of_rows(plan: Aggregation, table: pd.DataFrame) -> Partial:
    """Return the partial results of what `rows` returned."""
    n_keys = len(plan.key_columns)
    columns = [table.iloc[:, place] for place in range(table.shape[1])]
    return _partial(plan, columns[:n_keys], columns[n_keys:])


def _partial(plan: Aggregation, keys: Sequence[Any], values: Sequence[Any]) -> Partial:
    recipe = plan.recipe
    order = "runs" if recipe.sort else "appearance"
    columns: dict[Pair, Any] = {}
    pairs: dict[str, Pair] = {}
    for (place, part), name in plan.parts.items():
        column = values[place] if place >= 0 else keys[0]
        how = AGAIN[part] if plan.of_aggregates and place >= 0 else part
        pairs[name] = pair = (place, "sum" if how == "floats" and column.dtype == np.float64 else how)
        columns[pair] = column
    keeps_unobserved = not plan.distinct and are_quick_sums(columns)
    groups = encode(keys, dropna=recipe.drops_early, order=order, arrow=recipe.arrow, keeps_unobserved=keeps_unobserved)
    needs_sizes = groups.has_unobserved or any(how in ("size", "count") for _, how in columns)
    known = aggregate_together(groups, columns, needs_sizes=needs_sizes)
    for pair, column in columns.items():
        if pair not in known:
            known[pair] = aggregate(groups, column, pair[1], arrow=recipe.arrow)
    groups, present = groups.observed_only()
    parts = {id(found): column_of(found if present is None else found[present]) for found in known.values()}
    made = {**_key_table(plan, keys, groups), **{name: parts[id(known[pair])] for name, pair in pairs.items()}}
    distinct = tuple(_distinct(plan, keys, values[place], groups) for place in plan.distinct)
    return Partial(made, distinct)


def _keys_and_values(plan: Aggregation, block: Any, blocks: Sequence[Any]) -> tuple[list[Any], list[Any]] | None:
    """Return the keys and the value columns of a partition; None if pandas' objects have to be made of its blocks."""
    if not is_block(block):
        if any(map(is_block, blocks)):
            return None
        values = [block] if isinstance(block, pd.Series) else [_column(block, label) for label in plan.values]
        return plan.recipe.key_values(block, blocks), values
    keys = []
    for key in plan.recipe.keys:
        own = block.column(key.at) if key.kind == COLUMN else blocks[key.at] if key.kind == BLOCK else None
        if type(own) is not ColumnBlock or own.rows is not block.rows:
            return None
        keys.append(own.key())
    return keys, [block.series()] if type(block) is ColumnBlock else [block.series(label) for label in plan.values]


def _on_device(plan: Aggregation, block: Any) -> Partial | None:
    """Return the partial results that a device's library has grouped; None if it can't group so."""
    recipe = plan.recipe
    if not recipe.sort or plan.of_aggregates or any(key.kind != COLUMN for key in recipe.keys):
        return None
    labels = [key.at for key in recipe.keys]
    found = on_device.group_parts(block, labels, plan.values, plan.parts, plan.distinct, dropna=recipe.drops_early)
    if found is None:
        return None
    table, distinct = found
    return Partial(table_of(table), tuple(_distinct_again(plan, one) for one in distinct))


def combine(plan: Aggregation, partials: Sequence[Partial | NoRows | None]) -> Partial | NoRows | None:
    """Return partial results of partitions as those of all their rows."""
    found = _joined(plan, partials, is_last=False)
    said = _said(partials)
    return said if found is None else replace(found[0], said=said)


def _said(partials: Sequence[Partial | NoRows | None]) -> NoRows | None:
    """Return what partitions without rows say."""
    return together([one.said if isinstance(one, Partial) else one for one in partials])


def finish(plan: Aggregation, meta: Any, run: Callable[..., Any], partials: Sequence[Partial | NoRows | None]) -> Any:
    """Return the result.

    Parameters
    ----------
    plan
        What is computed.
    meta
        An empty object like the result.
    run
        Makes the result of no rows, of which a `NoRows` may say something.
    partials
        The last partial results.
    """
    found, said = _joined(plan, partials, is_last=True), _said(partials)
    return run(said) if found is None else as_said(_with_index(plan, meta, lambda: run(said), *found), run, said)


def finish_as_columns(
    plan: Aggregation,
    meta: Any,
    run: Callable[..., Any],
    reset: Callable[[Any], Any],
    labels: pd.Index,
    partials: Sequence[Partial | NoRows | None],
) -> Any:
    """Return what `reset` makes of the result: the keys as columns. An index, for which all are encoded, is mostly not made.

    Parameters
    ----------
    plan, meta, run, partials
        See `finish`.
    reset
        Makes the index columns.
    labels
        Those of the columns that there are then.
    """
    found, said = _joined(plan, partials, is_last=True, keeps_keys=True), _said(partials)
    if found is None:
        return reset(run(said))
    partial, groups = found
    keys = [series_of(partial.table[name]) for name in plan.key_columns]
    if not groups.count or plan.distinct or not all(map(_is_same_as_column, keys)) or _has_dropped(plan, keys):
        return reset(as_said(_with_index(plan, meta, lambda: run(said), partial, groups), run, said))
    table = {name: series_of(partial.table[name]) for name in plan.parts.values()}
    made = pd.DataFrame(dict(enumerate([*keys, *_columns(plan, meta, None, table, partial)])), copy=False)
    made.columns = labels
    return made if said is None else as_wide_as(made, reset(run(said)))


def _is_same_as_column(key: Any) -> bool:
    """Whether a key keeps its dtype on the way to an index and back, and only values that occur are keys."""
    if isinstance(key.dtype, np.dtype):
        return key.dtype.kind in "iubmM" or key.dtype in (np.float32, np.float64)
    return is_text(key.dtype)


def _has_dropped(plan: Aggregation, keys: Sequence[Any]) -> bool:
    """Whether groups of which a key is missing have still to be left out."""
    return plan.recipe.dropna and not plan.recipe.drops_early and any(key.isna().any() for key in keys)


def _with_index(plan: Aggregation, meta: Any, run: Callable[[], Any], partial: Partial, groups: Groups) -> Any:
    index, table = _arranged(plan, partial.table, groups)
    if not len(index):
        return run()
    columns = _columns(plan, meta, index, table, partial)
    return _result(plan, meta, index, columns)


def _column(block: Any, label: Any) -> Any:
    """Return a column of a frame; the first of those with this label."""
    column = block[label]
    return column.iloc[:, 0] if isinstance(column, pd.DataFrame) else column


def _key_table(plan: Aggregation, keys: Sequence[Any], groups: Groups) -> dict[str, Any]:
    """Return the keys of each group, by the name of their column in a table."""
    return dict(zip(plan.key_columns, groups.key_columns(keys, arrow=plan.recipe.arrow), strict=True))


def _distinct(plan: Aggregation, keys: Sequence[Any], values: Any, groups: Groups | None = None) -> Any:
    """Return the distinct values of each group, as a table."""
    recipe = plan.recipe
    pairs = [*keys, values] if groups is None else [pd.Series(groups.codes), values]
    found = encode(pairs, dropna=False, order="any", arrow=recipe.arrow)
    rows = found.first
    if groups is not None and groups.has_outsiders:
        rows = rows[groups.codes[rows] >= 0]
    made = {name: take(key.array, rows) for name, key in zip(plan.key_columns, keys, strict=True)}
    return pd.DataFrame({**made, _VALUE: take(values.array, rows)}, copy=False)


def _joined(
    plan: Aggregation, partials: Sequence[Partial | NoRows | None], *, is_last: bool, keeps_keys: bool = False
) -> tuple[Partial, Groups] | None:
    """Return partial results as one, whose groups are in order if it is the last. `keeps_keys`: even if they become an index."""
    filled = [one for one in partials if isinstance(one, Partial)]
    if not filled:
        return None
    recipe = plan.recipe
    are_same = len(filled) > 1 and _have_same_keys(plan, filled)
    table = joined(
        [{name: one.table[name] for name in plan.parts.values()} if are_same else one.table for one in filled]
    )
    keys = [key_of((filled[0].table if are_same else table)[name]) for name in plan.key_columns]
    in_order = "sorted" if is_last else "runs"
    own = encode(
        keys,
        dropna=recipe.drops_early,
        order=in_order if recipe.sort else "appearance",
        arrow=recipe.arrow,
    )
    groups = RepeatedGroups(own, len(filled)) if are_same else own
    is_index_made = is_last and recipe.drops_early and not any(isinstance(k.dtype, pd.CategoricalDtype) for k in keys)
    made = {} if is_index_made and not keeps_keys else _key_table(plan, keys, own)
    made.update(_joined_parts(plan, table, groups))
    distinct = tuple(
        _distinct_again(plan, concat(list(many))) for many in zip(*[one.distinct for one in filled], strict=True)
    )
    return Partial(made, distinct), groups


def _have_same_keys(plan: Aggregation, partials: Sequence[Partial]) -> bool:
    """Whether partial results are of the same groups, in the same order, none of which has a missing key."""
    first = partials[0].table
    for name in plan.key_columns:
        key = first[name]
        if isinstance(key, CodedKey):
            if len(key) and key.codes.min() < 0:
                return False
        elif not (isinstance(key, np.ndarray) and key.dtype.kind in "iub"):
            return False
        if not all(_is_same_key(key, one.table[name]) for one in partials[1:]):
            return False
    return True


def _is_same_key(key: Any, other: Any) -> bool:
    if type(other) is not type(key) or len(other) != len(key) or other.dtype != key.dtype:
        return False
    if isinstance(key, CodedKey):
        return np.array_equal(key.codes, other.codes) and (
            key.values is other.values or key.values.equals(other.values)
        )
    return np.array_equal(key, other)


def _distinct_again(plan: Aggregation, table: Any) -> Any:
    return _distinct(plan, [table[name] for name in plan.key_columns], table[_VALUE])


def _joined_parts(plan: Aggregation, table: Table, groups: Groups) -> dict[str, Any]:
    parts = plan.parts
    made: dict[str, Any] = {}
    added = {
        (id(table[name]), AGAIN[part]): series_of(table[name]) for (_, part), name in parts.items() if part in AGAIN
    }
    known = {pair: column_of(found) for pair, found in aggregate_together(groups, added, again=True).items()}
    for (place, part), name in parts.items():
        if part in AGAIN:
            pair = (id(table[name]), AGAIN[part])
            if pair not in known:
                found = aggregate_again(groups, added[pair], AGAIN[part], arrow=plan.recipe.arrow)
                known[pair] = column_of(found)
            made[name] = known[pair]
        elif part == "middle":  # and the squares with it
            squares = parts[place, "squares"]
            columns = [series_of(table[one]) for one in (parts[place, "count"], name, squares)]
            made[name], made[squares] = _join_moments(groups, *map(_floats, columns))
    return made


def _floats(column: Any) -> Any:
    return column.to_numpy(dtype=np.float64, na_value=np.nan)


def _join_moments(groups: Groups, counts: Any, means: Any, squares: Any) -> tuple[Any, Any]:
    """Return the means and the sums of squared distances of the joined groups (see reduce.py for the source)."""
    means = np.where(counts > 0, means, 0.0)
    totals, sums = groups.sums(counts), groups.sums(counts * means)
    joined = np.divide(sums, totals, out=np.zeros(len(sums)), where=totals > 0)
    within = np.where(counts > 0, squares + counts * (means - np.append(joined, 0.0)[groups.codes]) ** 2, 0.0)
    return joined, groups.sums(within)


# The result.


def _arranged(plan: Aggregation, table: Table, groups: Groups) -> tuple[Any, Mapping[str, Any]]:
    """Return the index of the result and the parts in its order, as series; also of combinations of categories without rows."""
    recipe = plan.recipe
    names = [key.name for key in recipe.keys]
    keys = [series_of(table[name]) for name in plan.key_columns if name in table]
    if any(isinstance(key.dtype, pd.CategoricalDtype) for key in keys):
        frame = frame_of(table)
        grouped = frame.groupby(
            [frame[name] for name in plan.key_columns],
            dropna=recipe.dropna,
            sort=recipe.sort,
            observed=recipe.observed,
        )
        parts = {name: _only(grouped[name], part) for (_, part), name in plan.parts.items()}
        index = next(iter(parts.values())).index
        return index.set_names(names), {name: part.reset_index(drop=True) for name, part in parts.items()}
    parts = {name: series_of(table[name]) for name in plan.parts.values()}
    if recipe.dropna and not recipe.drops_early:
        kept = np.flatnonzero(~np.any([key.isna() for key in keys], axis=0))
        parts = {name: part.take(kept).reset_index(drop=True) for name, part in parts.items()}
        return index_of(names, groups, kept), parts
    return index_of(names, groups), parts


def _only(column: Any, part: str) -> Any:
    """Return a part of groups of one row; of groups without rows what pandas gives."""
    made = getattr(column, "first" if part == "middle" else AGAIN.get(part, "sum"))()
    if not is_float(made.dtype) or AGAIN.get(part, "sum") not in ("sum", "prod"):
        return made
    lost = column.size() > column.count()
    return made.mask(lost) if lost.any() else made


def index_of(names: Sequence[Any], groups: Groups, kept: Any = slice(None)) -> pd.Index:
    """Return the index of groups that are in order, or of some of them."""
    if len(names) == 1:
        return _labels(take(groups.distinct(0), groups.key_codes[0][kept])).rename(names[0])
    levels, codes = [], []
    for column, own in zip(groups.columns, groups.key_codes, strict=True):
        chosen = own[kept]
        occurs = _occurring(chosen, len(column.values))
        if occurs.all():
            levels.append(_labels(column.values.view()))  # in an object of its own: those of text are kept
            codes.append(chosen)
        else:
            levels.append(_labels(take(column.values, np.flatnonzero(occurs))))
            codes.append((np.cumsum(occurs) - 1).astype(own.dtype)[chosen])
    return pd.MultiIndex(levels=levels, codes=codes, names=list(names), verify_integrity=False)


def _occurring(codes: Any, size: int) -> Any:
    """Return which codes occur, of 0 to `size`. Where all do, as they mostly do, some of the rows tell."""
    occurs = np.zeros(size, bool)
    step = len(codes) // max(4096, 16 * size)
    if step > 1:
        occurs[codes[::step]] = True
    if step <= 1 or not occurs.all():
        occurs[codes] = True
    return occurs


def _labels(values: Any) -> Any:
    """Return keys as an index. As in pandas, objects that are all numbers or all booleans get their dtype."""
    index = pd.Index(values)
    if index.dtype != object:
        return index
    if len(index) == 1 and index[0] is None:
        return pd.Index([np.nan])
    found = index.infer_objects(copy=False)
    return found if getattr(found.dtype, "kind", "O") in "iufb" else index


def _columns(plan: Aggregation, meta: Any, index: Any, table: Mapping[str, Any], partial: Partial) -> list[Any]:
    """Return the columns of the result, as series in the order of the groups."""
    dtypes = [meta.dtype] if isinstance(meta, pd.Series) else list(meta.dtypes)
    columns = []
    for one, dtype in zip(plan.wanted, dtypes, strict=True):
        if one.how == "nunique":
            made = _count_distinct(plan, one, index, partial.distinct[plan.distinct.index(one.place)])
        else:
            made = one.result({part: table[plan.parts[one.place, part]] for part in one.parts})
        if one.how == "sum" and one.min_count <= 0 and made.dtype == object:
            made = made.where(made.notna(), 0)
        if dtype == np.float16 and one.how in _DTYPE_KNOWN:
            made = _halved(made)
        elif made.dtype != dtype and (one.how in _DTYPE_KNOWN or (made.dtype.kind == dtype.kind == "f")):
            made = made.astype(dtype)
        elif pd.api.types.is_object_dtype(dtype) and (
            pd.api.types.is_string_dtype(made.dtype) or one.how in ("min", "max")
        ):
            made = made.astype(object)  # pandas 3 makes text of objects that all are, and times
        columns.append(_narrowed(made, dtype) if one.how == "sum" else made)
    return columns if plan.blocks is None else _narrow_together(columns, dtypes, plan.blocks)


def _narrow_together(columns: list[Any], dtypes: list[Any], blocks: tuple[int, ...]) -> list[Any]:
    """Return columns of which those of one block are all wider ones if one is."""
    wider = {
        block: made.dtype for made, dtype, block in zip(columns, dtypes, blocks, strict=True) if made.dtype != dtype
    }
    return [made.astype(wider.get(block, made.dtype)) for made, block in zip(columns, blocks, strict=True)]


def _halved(made: Any) -> Any:
    """Return numbers made of 16-bit floats in these, as pandas does, if each of them is one; in others if not, as 16 bits have 3 digits."""
    with np.errstate(over="ignore"):
        narrow = made.astype(np.float16)
    return narrow if ((narrow == made) | made.isna()).all() else made


def _narrowed(sums: Any, dtype: Any) -> Any:
    """Return sums of integers in the values' own dtype, if they fit, as pandas does."""
    if sums.dtype == dtype or not isinstance(dtype, np.dtype) or not sums.dtype.kind == dtype.kind in "iu":
        return sums
    narrow = sums.astype(dtype)
    return narrow if (narrow == sums).all() else sums


def _count_distinct(plan: Aggregation, one: Wanted, index: Any, table: Any) -> Any:
    """Return the number of distinct values of each group."""
    counted = table if not one.dropna else table[table[_VALUE].notna()]
    codes = find_groups(index, [counted[name] for name in plan.key_columns], arrow=plan.recipe.arrow)
    return pd.Series(sums_by_code(codes, 1, len(index), np.intp))


def _result(plan: Aggregation, meta: Any, index: Any, columns: list[Any]) -> Any:
    if isinstance(meta, pd.Series):
        return columns[0].set_axis(index).rename(meta.name)
    result = pd.DataFrame(dict(enumerate(columns)))
    result.index = index
    result.columns = meta.columns
    return result

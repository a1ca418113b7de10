"""`groupby(...).agg(...)`: each partition is grouped, the groups' partial results are joined by a tree of tasks.

Partial results travel as flat tables, with key columns ``k0, k1...`` and part columns ``p0, p1...``, so that neither
equal names nor missing keys need special cases. What pandas decides (the structure of the columns, which keys count) is
decided by calling pandas with a synthetic sample of two rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from glassloom.backends.pandas_ import HAS_COPY_ON_WRITE, concat, sample
from glassloom.dataframe.columns import require_columns, unknown_columns
from glassloom.dataframe.nodes import FrameExpr, Projection, empty, require_aligned
from glassloom.dataframe.reduce import Operation, tree
from glassloom.dataframe.wrap import is_node, wrap

SIMPLE = {
    "sum": "sum", "prod": "prod", "min": "min", "max": "max", "first": "first", "last": "last", "any": "any",
    "all": "all", "count": "sum", "size": "sum",
}  # fmt: skip
"""Aggregations that are joined by repeating one, and which."""
SUPPORTED = sorted([*SIMPLE, "mean", "var", "std", "nunique"])


@dataclass(frozen=True)
class Wanted:
    """One column of the result: an aggregation of the value column at `place`."""

    place: int
    how: str
    ddof: int = 1

    @property
    def parts(self) -> tuple[str, ...]:
        """The partial results that an aggregation needs of each group."""
        if self.how == "mean":
            return ("sum", "count")
        if self.how in ("var", "std"):
            return ("count", "middle", "squares")
        return (self.how,)


@dataclass(frozen=True)
class Plan:
    """A grouping. `keys` are ("column", label), ("index", label) or ("block", number); `values` are column labels."""

    keys: tuple[tuple[str, Any], ...]
    key_names: tuple[Any, ...]
    values: tuple[Any, ...]
    wanted: tuple[Wanted, ...]
    dropna: bool
    sort: bool
    observed: bool

    @property
    def drops_early(self) -> bool:
        """Whether partitions may leave out rows with a missing key. Not if pandas lists all combinations of keys: then
        the other keys of such a row count too.
        """
        return self.dropna and (self.observed or len(self.keys) == 1)

    @property
    def key_columns(self) -> list[str]:
        return [f"k{number}" for number in range(len(self.keys))]

    @property
    def parts(self) -> list[tuple[int, str]]:
        """What each partition computes: (place of the value column, part), each once."""
        needed = [(one.place, part) for one in self.wanted for part in one.parts if part != "nunique"]
        return list(dict.fromkeys([*needed, (-1, "size")]))

    @property
    def distinct(self) -> list[int]:
        """The places of the value columns whose distinct values are counted."""
        return list(dict.fromkeys(one.place for one in self.wanted if one.how == "nunique"))


class GroupBy:
    """A grouped frame or series, to be aggregated. Made by `DataFrame.groupby`."""

    def __init__(
        self, frame: Any, by: Any, *, dropna: bool, sort: bool, observed: bool | None, selection: Any = None
    ) -> None:
        self._frame = frame
        self._by = by
        self._dropna = dropna
        self._sort = sort
        self._observed = HAS_COPY_ON_WRITE if observed is None else observed  # pandas' default changed with version 3
        self._selection = selection
        self._keys = [self._key(one) for one in (by if isinstance(by, list) else [by])]

    def __repr__(self) -> str:
        keys = [name if kind != "block" else "<series>" for kind, name in self._keys]
        return f"GroupBy(by={keys!r}, selection={self._selection!r})"

    def __getitem__(self, columns: Any) -> GroupBy:
        labels = columns if isinstance(columns, list) else [columns]
        if self._is_series:
            raise TypeError("the grouped values are one series; there is no column to choose")
        require_columns(labels, self._frame)
        return GroupBy(
            self._frame, self._by, dropna=self._dropna, sort=self._sort, observed=self._observed, selection=columns
        )

    def __getattr__(self, name: str) -> GroupBy:
        if not name.startswith("_") and not self._is_series and name in self._frame.columns:
            return self[name]
        raise AttributeError(f"GroupBy has no attribute {name!r}; it can aggregate by {', '.join(SUPPORTED)}")

    @property
    def _is_series(self) -> bool:
        return isinstance(self._frame.expr.meta, pd.Series)

    def _key(self, by: Any) -> tuple[str, Any]:
        """Return how to find a key in a partition."""
        if is_node(by):
            node = by.expr
            if isinstance(node, Projection) and node.frame.name == self._frame.expr.name and not _is_list(node.columns):
                return ("column", node.columns)
            return ("block", by)
        if isinstance(by, (pd.Series, pd.Index)) or callable(by):
            raise TypeError(f"groupby takes column names and lazy series, not a {type(by).__name__}")
        if not self._is_series and by in self._frame.columns:
            return ("column", by)
        if by is not None and by == self._frame.expr.meta.index.name:
            return ("index", by)
        raise unknown_columns([by], [] if self._is_series else self._frame.columns)

    def agg(self, spec: Any = None, *, split_every: int | None = None, split_out: int = 1, **named: Any) -> Any:
        """Aggregate each group.

        Parameters
        ----------
        spec
            A name (``"mean"``), a list of names, or a dict from columns to names or lists of names. Names are
            all, any, count, first, last, max, mean, min, nunique, prod, size, std, sum and var.
        split_every
            How many partial results are joined at a time. Default 8.
        split_out
            Number of partitions of the result: only 1 is possible.
        named
            Instead of `spec`: ``result=("column", "name")``.

        Returns
        -------
        DataFrame or Series
            Of one partition, with the structure that pandas' result has.

        Examples
        --------
        >>> import pandas as pd
        >>> import glassloom.dataframe as gd
        >>> frame = gd.from_pandas(pd.DataFrame({"k": ["a", "b", "a"], "x": [1, 2, 3]}), npartitions=2)
        >>> result = frame.groupby("k").agg({"x": ["sum", "mean"]}).compute()
        >>> result.columns.tolist(), result.to_numpy().tolist()
        ([('x', 'sum'), ('x', 'mean')], [[4.0, 2.0], [2.0, 2.0]])
        """
        if split_out != 1:
            raise NotImplementedError(f"split_out={split_out!r}: the result of groupby has one partition")
        return self._aggregate(spec, named, {}, split_every)

    aggregate = agg

    def _aggregate(self, spec: Any, named: dict[str, Any], options: dict[str, Any], split_every: int | None) -> Any:
        values = self._value_columns(spec, named, options)
        how = _named_functions(spec)
        named = {name: _named_functions(one) for name, one in named.items()}
        wanted, labels = self._wanted(how, named, values, options)
        blocks = [key for kind, key in self._keys if kind == "block"]
        numbers = iter(range(len(blocks)))
        keys = tuple(("block", next(numbers)) if kind == "block" else (kind, key) for kind, key in self._keys)
        names = tuple(key.expr.meta.name if kind == "block" else key for kind, key in self._keys)
        plan = Plan(keys, names, labels, wanted, self._dropna, self._sort, self._observed)
        node = self._narrowed(plan)
        others = tuple(block.expr for block in blocks)
        if others:
            require_aligned([self._frame.expr, *others], "groupby")
        run = partial(_run_pandas, plan, self._result_selection(spec, values), how, named, options)
        meta = run(sample(self._frame.expr.meta), *[sample(other.meta) for other in others])
        steps = Operation(
            partial(_chunk, plan),
            partial(_combine, plan),
            partial(_finish, plan, empty(meta), run, self._frame.expr.meta, tuple(other.meta for other in others)),
        )
        title = "groupby-" + (how if isinstance(how, str) else "agg")
        return wrap(tree(node, steps, empty(meta), title, others=others, split_every=split_every))

    def _value_columns(self, spec: Any, named: dict[str, Any], options: dict[str, Any]) -> list[Any]:
        """Return the labels of the columns that the aggregation is of, in order."""
        if self._is_series:
            return [self._frame.expr.meta.name]
        if self._selection is not None:
            return list(self._selection) if isinstance(self._selection, list) else [self._selection]
        if isinstance(spec, dict):
            require_columns(spec, self._frame)
            return list(spec)
        if named:
            require_columns([column for column, _ in named.values()], self._frame)
            return list(dict.fromkeys(column for column, _ in named.values()))
        grouped = {key for kind, key in self._keys if kind == "column"}
        dtypes = self._frame.expr.meta.dtypes
        return [
            name
            for name, dtype in dtypes.items()
            if name not in grouped and (not options.get("numeric_only") or pd.api.types.is_numeric_dtype(dtype))
        ]

    def _wanted(
        self, how: Any, named: dict[str, Any], values: list[Any], options: dict[str, Any]
    ) -> tuple[tuple[Wanted, ...], tuple[Any, ...]]:
        """Return the columns of the result, and the labels of the value columns."""
        single = self._is_series or (self._selection is not None and not isinstance(self._selection, list))
        if named and single:
            pairs = [(values[0], one) for one in named.values()]
        elif named:
            pairs = list(named.values())
        elif isinstance(how, dict):
            if single:
                raise TypeError("a dict of aggregations needs a frame; the grouped values are one column")
            if self._selection is not None:
                require_columns(how, self._frame[self._selection])
            pairs = [(column, one) for column, many in how.items() for one in (many if _is_list(many) else [many])]
        elif how == "size":
            pairs = [(None, "size")]
        else:
            pairs = [(column, one) for column in values for one in (how if isinstance(how, list) else [how])]
        labels = tuple(dict.fromkeys(column for column, one in pairs if one != "size"))
        ddof = options.get("ddof", 1)
        return tuple(Wanted(-1 if one == "size" else labels.index(c), one, ddof) for c, one in pairs), labels

    def _result_selection(self, spec: Any, values: list[Any]) -> Any:
        """Return what to take from the grouped sample before aggregating it: a label, a list, or None for all."""
        if self._is_series:
            return None
        return self._selection

    def _narrowed(self, plan: Plan) -> FrameExpr:
        """Return the frame with the columns that are needed."""
        node: FrameExpr = self._frame.expr
        if self._is_series:
            return node
        needed = {key for kind, key in self._keys if kind == "column"} | set(plan.values)
        if plan.wanted[0].how == "size" and not needed:
            return node
        columns = [name for name in node.meta.columns if name in needed]
        return node if len(columns) == len(node.meta.columns) else Projection(node, columns)

    # One method for each aggregation, as pandas has.

    def size(self, *, split_every: int | None = None) -> Any:
        """Return the number of rows of each group."""
        return self._aggregate("size", {}, {}, split_every)

    def count(self, *, split_every: int | None = None) -> Any:
        """Return the number of values of each group that aren't missing."""
        return self._aggregate("count", {}, {}, split_every)

    def sum(self, numeric_only: bool = False, *, split_every: int | None = None) -> Any:
        """Return the sum of each group."""
        return self._aggregate("sum", {}, {"numeric_only": numeric_only}, split_every)

    def prod(self, numeric_only: bool = False, *, split_every: int | None = None) -> Any:
        """Return the product of each group."""
        return self._aggregate("prod", {}, {"numeric_only": numeric_only}, split_every)

    def mean(self, numeric_only: bool = False, *, split_every: int | None = None) -> Any:
        """Return the mean of each group."""
        return self._aggregate("mean", {}, {"numeric_only": numeric_only}, split_every)

    def min(self, numeric_only: bool = False, *, split_every: int | None = None) -> Any:
        """Return the smallest value of each group."""
        return self._aggregate("min", {}, {"numeric_only": numeric_only}, split_every)

    def max(self, numeric_only: bool = False, *, split_every: int | None = None) -> Any:
        """Return the largest value of each group."""
        return self._aggregate("max", {}, {"numeric_only": numeric_only}, split_every)

    def first(self, numeric_only: bool = False, *, split_every: int | None = None) -> Any:
        """Return the first value of each group that isn't missing."""
        return self._aggregate("first", {}, {"numeric_only": numeric_only}, split_every)

    def last(self, numeric_only: bool = False, *, split_every: int | None = None) -> Any:
        """Return the last value of each group that isn't missing."""
        return self._aggregate("last", {}, {"numeric_only": numeric_only}, split_every)

    def any(self, *, split_every: int | None = None) -> Any:
        """Return whether any value of each group is true."""
        return self._aggregate("any", {}, {}, split_every)

    def all(self, *, split_every: int | None = None) -> Any:
        """Return whether all values of each group are true."""
        return self._aggregate("all", {}, {}, split_every)

    def nunique(self, *, split_every: int | None = None) -> Any:
        """Return the number of distinct values of each group, missing ones not counted."""
        return self._aggregate("nunique", {}, {}, split_every)

    def var(self, ddof: int = 1, numeric_only: bool = False, *, split_every: int | None = None) -> Any:
        """Return the variance of each group, with divisor ``n - ddof``."""
        return self._aggregate("var", {}, {"ddof": ddof, "numeric_only": numeric_only}, split_every)

    def std(self, ddof: int = 1, numeric_only: bool = False, *, split_every: int | None = None) -> Any:
        """Return the standard deviation of each group, with divisor ``n - ddof``."""
        return self._aggregate("std", {}, {"ddof": ddof, "numeric_only": numeric_only}, split_every)


def _is_list(value: Any) -> bool:
    return isinstance(value, list)


def _named_functions(spec: Any) -> Any:
    """Return the aggregations by name.

    Raises
    ------
    NotImplementedError
        If one isn't supported.
    """
    if spec is None:
        return None
    if isinstance(spec, dict):
        return {column: _named_functions(one) for column, one in spec.items()}
    if isinstance(spec, list):
        return [_named_functions(one) for one in spec]
    if isinstance(spec, tuple) and len(spec) == 2:
        return (spec[0], _named_functions(spec[1]))
    name = spec if isinstance(spec, str) else getattr(spec, "__name__", repr(spec))
    if name not in SUPPORTED:
        raise NotImplementedError(f"groupby can't aggregate by {name!r}; it can by {', '.join(SUPPORTED)}")
    return name


def _key_values(plan: Plan, block: Any, blocks: tuple[Any, ...]) -> list[Any]:
    """Return the keys of a partition, as series named k0, k1..."""
    found = []
    for number, (kind, key) in enumerate(plan.keys):
        if kind == "column":
            values = block[key]
        elif kind == "index":
            values = pd.Series(block.index, index=block.index)
        else:
            values = blocks[key]
        found.append(values.rename(f"k{number}"))
    return found


def _run_pandas(
    plan: Plan, selection: Any, how: Any, named: dict[str, Any], options: dict[str, Any], block: Any, *blocks: Any
) -> Any:
    """Return what pandas makes of a whole object."""
    keys = [
        key if kind == "column" else values
        for (kind, key), values in zip(plan.keys, _key_values(plan, block, blocks), strict=True)
    ]
    for place, (kind, name) in enumerate(zip([kind for kind, _ in plan.keys], plan.key_names, strict=True)):
        if kind != "column":
            keys[place] = keys[place].rename(name)
    grouped = block.groupby(
        keys if len(keys) > 1 else keys[0], dropna=plan.dropna, sort=plan.sort, observed=plan.observed
    )
    if selection is not None:
        grouped = grouped[selection]
    if isinstance(how, str):
        chosen = {name: value for name, value in options.items() if name == "ddof" or value}
        return getattr(grouped, how)(**chosen)
    return grouped.agg(how, **named) if how is not None else grouped.agg(**named)


def _chunk(plan: Plan, block: Any, *blocks: Any) -> Any:
    """Return the partial results of a partition, or None if it has no rows."""
    if not len(block):
        return None
    keys = _key_values(plan, block, blocks)
    values = block.to_frame() if isinstance(block, pd.Series) else block[list(plan.values)]
    values = values.set_axis(range(values.shape[1]), axis=1)
    grouped = values.groupby(keys, dropna=plan.drops_early, sort=False, observed=True)
    parts = {f"p{number}": _part(grouped, place, part) for number, (place, part) in enumerate(plan.parts)}
    table = pd.DataFrame(parts)
    table.index.names = plan.key_columns
    distinct = [
        pd.concat(
            [*[key.reset_index(drop=True) for key in keys], values[place].reset_index(drop=True).rename("v")], axis=1
        ).drop_duplicates()
        for place in plan.distinct
    ]
    return (table.reset_index(), distinct)


def _part(grouped: Any, place: int, part: str) -> Any:
    if part == "size":
        return grouped.size()
    column = grouped[place]
    if part == "middle":
        return column.mean().astype("float64")
    if part == "squares":
        return column.var(ddof=0).astype("float64") * column.count()
    return getattr(column, part)()


def _joined(plan: Plan, partials: list[Any], *, is_last: bool) -> tuple[Any, list[Any]] | None:
    """Return the parts of all groups, indexed by their keys, and the distinct values."""
    filled = [one for one in partials if one is not None]
    if not filled:
        return None
    table = concat([main for main, _ in filled])
    distinct = [concat(list(many)).drop_duplicates() for many in zip(*[d for _, d in filled], strict=True)]
    if not len(table) and not is_last:
        return filled[0]
    grouped = table.groupby(
        plan.key_columns,
        dropna=plan.dropna if is_last else plan.drops_early,
        sort=plan.sort and is_last,
        observed=plan.observed or not is_last,
    )
    numbers = {part: f"p{number}" for number, part in enumerate(plan.parts)}
    joined = {}
    for (_, part), column in numbers.items():
        if part in ("middle", "squares"):
            continue
        joined[column] = getattr(grouped[column], SIMPLE.get(part, part))()
    for place in {place for place, part in numbers if part == "middle"}:
        columns = [numbers[place, part] for part in ("count", "middle", "squares")]
        joined[columns[1]], joined[columns[2]] = _join_moments(plan, table, grouped, columns)
    return pd.DataFrame(joined)[list(numbers.values())], distinct


def _join_moments(plan: Plan, table: Any, grouped: Any, columns: list[str]) -> tuple[Any, Any]:
    """Return the means and the sums of squared distances of the joined groups (see reduce.py for the source)."""
    count, middle, squares = (table[column].to_numpy(dtype="float64", na_value=0.0) for column in columns)
    group = table.groupby(plan.key_columns, dropna=False, sort=False, observed=True).ngroup().to_numpy()
    totals = np.bincount(group, weights=count)
    sums = np.bincount(group, weights=count * middle)
    means = np.divide(sums, totals, out=np.zeros(len(sums)), where=totals > 0)[group]
    within = squares + count * (middle - means) ** 2
    again = table.assign(_m=means, _s=within).groupby(
        plan.key_columns, dropna=grouped.dropna, sort=grouped.sort, observed=grouped.observed
    )
    return again["_m"].first(), again["_s"].sum()


def _combine(plan: Plan, partials: list[Any]) -> Any:
    joined = _joined(plan, partials, is_last=False)
    if joined is None:
        return None
    table, distinct = joined
    return (table.reset_index() if "k0" not in table.columns else table, distinct)


def _finish(
    plan: Plan, meta: Any, run: Callable[..., Any], empty_frame: Any, empty_keys: tuple[Any, ...], partials: list[Any]
) -> Any:
    """Return the result, with the columns of `meta`."""
    joined = _joined(plan, partials, is_last=True)
    if joined is None:
        return run(empty_frame, *empty_keys)
    table, distinct = joined
    table.index.names = list(plan.key_names)
    numbers = {part: f"p{number}" for number, part in enumerate(plan.parts)}
    is_series = isinstance(meta, pd.Series)
    dtypes = [meta.dtype] if is_series else list(meta.dtypes)
    columns = []
    for one, dtype in zip(plan.wanted, dtypes, strict=True):
        parts = {part: table[numbers[one.place, part]] for part in one.parts if part != "nunique"}
        made = _result(one, parts) if parts else _n_distinct(plan, one, distinct, table.index)
        if getattr(dtype, "kind", "O") == "f" and made.dtype != dtype:
            made = made.astype(dtype)
        columns.append(made)
    if is_series:
        return columns[0].rename(meta.name)
    result = pd.DataFrame(dict(enumerate(columns)), index=table.index)
    result.columns = meta.columns
    return result


def _result(one: Wanted, parts: dict[str, Any]) -> Any:
    if one.how == "mean":
        return parts["sum"] / parts["count"].where(parts["count"] > 0)
    if one.how in ("var", "std"):
        free = (parts["count"] - one.ddof).astype("float64")
        variance = parts["squares"] / free.where(free > 0)
        return variance**0.5 if one.how == "std" else variance
    return parts[one.how]


def _n_distinct(plan: Plan, one: Wanted, distinct: list[Any], index: Any) -> Any:
    table = distinct[plan.distinct.index(one.place)]
    grouped = table.groupby(plan.key_columns, dropna=plan.dropna, sort=plan.sort, observed=plan.observed)
    return pd.Series(grouped["v"].nunique().array, index=index)

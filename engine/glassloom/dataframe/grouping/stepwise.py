"""`Aggregation`: an aggregation of groups in steps of the user's, which are joined by a tree as our own are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import pandas as pd

from glassloom.backends.pandas_ import guarded
from glassloom.dataframe.assembled import assembled
from glassloom.dataframe.call import Method
from glassloom.dataframe.grouping.recipe import Recipe
from glassloom.dataframe.grouping.spec import Call, pairs_of
from glassloom.dataframe.grouping.wholes import Grouping
from glassloom.dataframe.nodes import FrameExpr
from glassloom.dataframe.numbered_levels import unnamed
from glassloom.dataframe.options import require_one_output
from glassloom.dataframe.reduce import Operation, tree
from glassloom.dataframe.wrap import operate
from glassloom.errors import MetaError


class Aggregation:
    """An aggregation for ``groupby(...).agg``, in steps: of each partition's groups, of several partial results, and at the end.

    Parameters
    ----------
    name
        What columns of the result are called where `agg` calls them by functions.
    chunk
        Gets a partition's groups of a column, as pandas has them, and returns a series of one value a group, or a tuple of those.
    agg
        Gets the groups of each series that `chunk` returned, of several partitions, and returns as many series.
    finalize
        Gets the series that `agg` returned at last, and returns one. Default: the only one.

    Examples
    --------
    >>> import pandas as pd
    >>> import glassloom.dataframe as gd
    >>> spread = gd.Aggregation(
    ...     "spread",
    ...     lambda groups: (groups.min(), groups.max()),
    ...     lambda low, high: (low.min(), high.max()),
    ...     lambda low, high: high - low,
    ... )
    >>> frame = gd.from_pandas(pd.DataFrame({"k": ["a", "b", "a"], "x": [1, 2, 5]}), npartitions=2)
    >>> frame.groupby("k").agg({"x": ["sum", spread]}).compute().x.spread.to_dict()
    {'a': 4, 'b': 0}
    """

    def __init__(
        self, name: str, chunk: Callable[..., Any], agg: Callable[..., Any], finalize: Callable[..., Any] | None = None
    ) -> None:
        self.__name__ = name
        self.chunk, self.agg, self.finalize = chunk, agg, finalize

    def __repr__(self) -> str:
        return f"Aggregation({self.__name__!r})"


def is_stepwise(one: Any) -> bool:
    """Whether something is an `Aggregation`, or Dask's."""
    return all(hasattr(one, name) for name in ("chunk", "agg", "finalize", "__name__"))


def has_stepwise(spec: Any) -> bool:
    """Whether there is an `Aggregation` in what `agg` is asked for."""
    if isinstance(spec, Mapping):
        return any(map(has_stepwise, spec.values()))
    if isinstance(spec, (list, tuple)):
        return any(map(has_stepwise, spec))
    return is_stepwise(getattr(spec, "aggfunc", spec))


def aggregated(groups: Any, spec: Any, named: Mapping[str, Any], split_every: int | None, split_out: Any) -> Any:
    """Return the result of an `agg` with an `Aggregation` in it, in one partition.

    Parameters
    ----------
    groups
        The lazy groups, with their keys as index.
    spec, named
        What `agg` is asked for; named aggregations, if `spec` is None.
    split_every, split_out
        See `GroupBy.agg`.
    """
    require_one_output("agg", split_out, "repartition() of it")
    if named:
        known = {name: _stand_in(one) for name, one in named.items()}
        meta = groups._grouping.sampled(Call("agg", (), known), is_users=True, as_index=True)
    else:
        meta = groups._grouping.sampled(Call("agg", (_stand_in(spec),)), is_users=True, as_index=True)
    pairs = pairs_of(spec, named, groups._value_columns(spec, {}), is_single=groups._is_single)
    parts = [_part(groups, column, how, split_every) for column, how in pairs]
    labels = meta.columns if isinstance(meta, pd.DataFrame) else meta.name
    made = assembled(partial(_side_by_side, labels), parts, "groupby-agg")
    return made if groups._recipe.as_index else operate(Method("reset_index"), made, label="reset-index")


def _stand_in(spec: Any) -> Any:
    """Return a specification with functions of the same names, which pandas knows how to call."""
    if isinstance(spec, Mapping):
        return {column: _stand_in(one) for column, one in spec.items()}
    if isinstance(spec, (list, tuple)):
        return type(spec)(map(_stand_in, spec)) if type(spec) in (list, tuple) else spec
    if not is_stepwise(spec):
        return spec

    def nothing(column: Any) -> int:
        return 0

    nothing.__name__ = spec.__name__
    return nothing


def _part(groups: Any, column: Any, how: Any, split_every: int | None) -> FrameExpr:
    """Return the node of one column of the result: a series by group, in one partition."""
    selection = groups._recipe.selection if groups._is_single else column
    chosen = groups._with(selection=selection, as_index=True)
    if not is_stepwise(how):
        node: FrameExpr = chosen.agg(how, split_every=split_every).expr
        return node
    grouping: Grouping = chosen._needing(None, {})
    steps = (how.chunk, how.agg, how.finalize)
    recipe = grouping.recipe
    try:
        meta = grouping.sampled(partial(_all_steps, steps, recipe), is_users=True)
    except Exception as error:  # the user's functions may raise anything
        raise MetaError(
            f"{how!r} was tried on two made-up rows to find out what it returns, and raised {type(error).__name__}: {error}"
        ) from error
    operation = Operation(
        partial(_chunk, how.chunk, recipe),
        partial(_combined, how.agg, replace(recipe, observed=True)),
        partial(_finished, steps, recipe, meta),
    )
    return tree(
        grouping.node, operation, meta, f"groupby-{how.__name__}", others=grouping.blocks, split_every=split_every
    )


def _all_steps(steps: tuple[Any, ...], recipe: Recipe, groups: Any) -> Any:
    return _last(steps, _combined(steps[1], recipe, [_as_frame(steps[0](groups))]))


def _chunk(function: Callable[..., Any], recipe: Recipe, block: Any, *blocks: Any) -> Any:
    if not len(block):
        return None
    return _as_frame(function(recipe.grouped(guarded(block), *blocks, observed=True)))


def _combined(function: Callable[..., Any], recipe: Recipe, parts: list[Any]) -> Any:
    filled = [part for part in parts if part is not None and len(part)]
    if not filled:
        return None
    table = pd.concat(filled)
    levels, names = list(range(table.index.nlevels)), table.index.names
    table = table.set_axis(unnamed(table.index), axis=0)
    options = {"sort": recipe.sort, "observed": recipe.observed, "dropna": recipe.dropna}
    groups = table.groupby(level=levels if len(levels) > 1 else 0, **options)
    made = _as_frame(function(*[groups[place] for place in table.columns]))
    made.index.names = names
    return made


def _finished(steps: tuple[Any, ...], recipe: Recipe, meta: Any, parts: list[Any]) -> Any:
    found = _combined(steps[1], recipe, parts)
    return meta if found is None else _last(steps, found).rename(meta.name)


def _last(steps: tuple[Any, ...], table: Any) -> Any:
    columns = [table[place] for place in table.columns]
    finalize = steps[2]
    if finalize is not None:
        return finalize(*columns)
    if len(columns) != 1:
        raise ValueError(f"agg= returned {len(columns)} series, of which finalize= should make one")
    return columns[0]


def _as_frame(made: Any) -> Any:
    """Return what a step returned as a frame with numbered columns."""
    series = list(made) if isinstance(made, (tuple, list)) else [made]
    for one in series:
        if not isinstance(one, pd.Series):
            raise TypeError(
                f"a step of an Aggregation should return a series, or a tuple of those, not {type(one).__name__}"
            )
    return pd.concat(series, axis=1).set_axis(range(len(series)), axis=1)


def _side_by_side(labels: Any, *columns: Any) -> Any:
    if not isinstance(labels, pd.Index):
        return columns[0].rename(labels)
    made = pd.concat([column.rename(number) for number, column in enumerate(columns)], axis=1)
    return made.set_axis(labels, axis=1).rename_axis(index=columns[0].index.names)

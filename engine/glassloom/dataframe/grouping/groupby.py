"""`GroupBy`: what ``frame.groupby(...)`` returns. It decides how each method is computed; the other modules compute.

Aggregations whose partial results can be joined go by a tree of tasks. What needs whole groups moves rows (`wholes`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from glassloom import config
from glassloom.backends.pandas_version import HAS_COPY_ON_WRITE
from glassloom.dataframe.arguments import with_arguments
from glassloom.dataframe.by_name import with_own_arguments
from glassloom.dataframe.call import Block, BlockCall, Method
from glassloom.dataframe.columns import require_columns, require_distinct
from glassloom.dataframe.derived_meta import names_of
from glassloom.dataframe.grouping import wholes
from glassloom.dataframe.grouping.applying import WITHOUT_KEYS, TriedApply, of_applied, with_labels_found
from glassloom.dataframe.grouping.bins import require_own_keys, with_bins
from glassloom.dataframe.grouping.distinct_rows import of_distinct_rows
from glassloom.dataframe.grouping.edges import rows_by_method
from glassloom.dataframe.grouping.extremes import with_extremes_only
from glassloom.dataframe.grouping.in_place import applied_in_place, may_keep_labels
from glassloom.dataframe.grouping.keys import own_options, require_names_of_columns, resolve_keys
from glassloom.dataframe.grouping.largest import largest
from glassloom.dataframe.grouping.masks import ends_mask, filter_marks, filter_mask
from glassloom.dataframe.grouping.metas import dtype_of, is_numbered, meta_of
from glassloom.dataframe.grouping.methods import Methods
from glassloom.dataframe.grouping.narrow_means import with_narrow_means
from glassloom.dataframe.grouping.not_there import refuse
from glassloom.dataframe.grouping.nth_rows import NthRows
from glassloom.dataframe.grouping.recipe import Recipe
from glassloom.dataframe.grouping.rows import (
    broadcast_groups,
    get_group,
    group_numbers,
    kept_first,
    named_rows,
    named_transforms,
    rows_of_group,
)
from glassloom.dataframe.grouping.spec import (
    Call,
    NamedCall,
    are_named,
    has_functions,
    known_functions,
    named_alike,
    named_pairs,
    names_several,
    pairs_of,
    spec_columns,
)
from glassloom.dataframe.grouping.split_out import Reduction, partitions_of, reduced
from glassloom.dataframe.grouping.stepwise import aggregated, has_stepwise
from glassloom.dataframe.grouping.wanted import Wanted, wanted
from glassloom.dataframe.grouping.wholes import Grouping, OfBlock, group_sizes, in_one_partition, of_groups, of_rows
from glassloom.dataframe.grouping.windows import LABELLED, Windows
from glassloom.dataframe.keys_at_hand import key_at_hand
from glassloom.dataframe.nodes import FrameExpr, Projection
from glassloom.dataframe.wrap import wrap
from glassloom.graph import function_label


@with_arguments("GroupBy")
class GroupBy(Methods):
    """A grouped frame or series. Made by `DataFrame.groupby` and `Series.groupby`."""

    def __init__(
        self,
        frame: Any,
        by: Any = None,
        *,
        level: Any = None,
        as_index: bool = True,
        sort: bool | None = None,
        group_keys: bool = True,
        observed: bool | None = HAS_COPY_ON_WRITE,
        dropna: bool = True,
    ) -> None:
        orders_counts = sort is None or bool(sort)
        sort, dropna = own_options(by, sort, dropna)
        frame, by, self._binned = with_bins(frame, by, dropna=dropna, as_index=as_index)
        keys, blocks, is_single = resolve_keys(frame, by, level)
        if not as_index and isinstance(frame.expr.meta, pd.Series):
            raise TypeError("as_index=False only valid with DataFrame")
        if not as_index:
            require_names_of_columns(frame, keys)
        recipe = Recipe(
            keys, is_single, bool(dropna), sort is None or bool(sort), bool(observed), bool(as_index), bool(group_keys), None,
            bool(config.get("dataframe.arrow")), bool(sort), orders_counts,
        )  # fmt: skip
        self._frame = frame
        self._grouping = Grouping(frame.expr, recipe, blocks)

    def __repr__(self) -> str:
        recipe = self._recipe
        keys = [key.name if key.kind != "block" else f"<series {key.name!r}>" for key in recipe.keys]
        return f"GroupBy(by={keys!r}, selection={recipe.selection!r})"

    def __getitem__(self, columns: Any) -> GroupBy:
        if self._is_series:
            raise TypeError("the grouped values are one series; there is no column to choose")
        if self._recipe.selection is not None:
            raise IndexError(f"Column(s) {self._recipe.selection} already selected")
        columns = key_at_hand(columns)
        if isinstance(columns, tuple) and len(columns) == 1 and columns not in self._frame.columns:
            columns = list(columns)
        chosen = list(columns) if isinstance(columns, (list, pd.Index, pd.Series, np.ndarray)) else columns
        require_own_keys(self._binned, chosen if isinstance(chosen, list) else [chosen])
        require_columns(chosen if isinstance(chosen, list) else [chosen], self._frame)
        if chosen is None:
            raise NotImplementedError(
                "groupby(...)[None]: columns are chosen by a list, groupby(...)[[None]], or renamed before"
            )
        selected = object.__new__(GroupBy)
        selected._frame, selected._binned = self._frame, self._binned
        recipe = replace(self._recipe, selection=chosen)
        selected._grouping = Grouping(self._grouping.node, recipe, self._grouping.blocks)
        return selected

    def __getattr__(self, name: str) -> GroupBy:
        if name.startswith("_"):
            raise AttributeError(name)
        if not self._is_series and (name in self._frame.columns or name in self._binned):
            return self[name]
        refuse(name)

    def __dir__(self) -> list[str]:
        names = (name for name in self.value_names if isinstance(name, str) and name.isidentifier())
        return [*super().__dir__(), *names]

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        """Yield each key, in order, and the lazy rows of its group. Computes the keys.

        To compute the rows of a group, all partitions are read; `persist` the frame before, or use `apply`, which reads
        them once for all groups.
        """
        grouping = self._of_whole_rows()
        sizes = group_sizes(grouping, observed=self._recipe.observed)
        for key in wrap(sizes).compute().index:
            name = key if self._recipe.is_single or isinstance(key, tuple) else (key,)
            yield name, wrap(rows_of_group(grouping, name))

    def __len__(self) -> int:
        """Return the number of groups. Computes them."""
        return self.ngroups

    @property
    def ngroups(self) -> int:
        """The number of groups that have rows (or combinations of categories, with ``observed=False``). Computes them."""
        return len(self.size()) if self._recipe.as_index else len(self._with(as_index=True).size())

    @property
    def _recipe(self) -> Recipe:
        return self._grouping.recipe

    @property
    def _is_series(self) -> bool:
        return self._grouping.is_series

    @property
    def value_names(self) -> list[Any]:
        """The names of the columns that can be chosen, of the groups or of their windows."""
        return [] if self._is_series else self._recipe.selected or list(names_of(self._frame.expr.meta))

    @property
    def _is_single(self) -> bool:
        """Whether one column is grouped."""
        selection = self._recipe.selection
        return self._is_series or (selection is not None and not isinstance(selection, list))

    def _require_several(self, how: str) -> None:
        """Check that it is about groups of several columns.

        Raises
        ------
        NotImplementedError
            If one was chosen.
        """
        if self._is_single:
            raise NotImplementedError(
                f"groupby(...)[column].{how}(other) isn't there: groupby(...)[[column, other]].{how}() holds each of two columns against "
                "the other; assign() another series as a column before"
            )

    def _with(self, **changes: Any) -> GroupBy:
        """Return the same groups with other options."""
        changed = object.__new__(GroupBy)
        changed._frame, changed._binned = self._frame, self._binned
        changed._grouping = replace(self._grouping, recipe=replace(self._recipe, **changes))
        return changed

    # Aggregations.

    def agg(
        self,
        func: Any = None,
        /,
        *args: Any,
        split_every: int | None = None,
        split_out: int | bool | None = None,
        shuffle_method: str | None = None,
        meta: Any = None,
        **kwargs: Any,
    ) -> Any:
        """Aggregate each group.

        Parameters
        ----------
        func
            A name (``"mean"``), a function of a group's column, an `Aggregation`, a list of those, or a dict from columns to
            those or lists of those.
        args, kwargs
            Further arguments of the function. Without `func`, named aggregations: ``result=("column", "name")`` or
            ``result=pandas.NamedAgg(...)``, of one column ``result="name"``.
        split_every
            How many partial results are joined at a time. Default 8.
        split_out
            Number of partitions of the result; True: as many as there are. Default: 1. With more, each has the groups whose
            keys have some hashes, in order; with ``groupby(sort=True)``, functions and other aggregations that need whole groups, the partitions
            follow each other in the order of the groups.
        shuffle_method
            ``"tasks"`` or None: rows and partial results move by tasks.
        meta
            What a function returns, as in `map_partitions`. Default: it is tried on two made-up rows, or on the first ones of the data.

        Returns
        -------
        DataFrame or Series
            With the structure, the dtypes and the order of pandas' result.

        Examples
        --------
        >>> import pandas as pd
        >>> import glassloom.dataframe as gd
        >>> frame = gd.from_pandas(pd.DataFrame({"k": ["a", "b", "a"], "x": [1, 2, 3]}), npartitions=2)
        >>> result = frame.groupby("k").agg({"x": ["sum", "mean"]}).compute()
        >>> result.columns.tolist(), result.to_numpy().tolist()
        ([('x', 'sum'), ('x', 'mean')], [[4.0, 2.0], [2.0, 2.0]])
        """
        if has_stepwise(func) or (func is None and has_stepwise(kwargs)):
            return aggregated(self, func, kwargs if func is None else {}, split_every, split_out)
        if (rows := named_rows(self, func, args, kwargs)) is not None:
            return rows
        out = partitions_of(self._grouping, split_out, shuffle_method)
        if func is None:
            named = named_pairs(kwargs, is_single=self._is_single)
            call = self._quick_call(named) or Call("agg", (), named)
            return self._aggregate(call, None, named, {}, split_every, out, meta)
        func, kwargs = with_own_arguments(func, kwargs)
        spec = (
            func if callable(func) and (args or kwargs) else known_functions(func)
        )  # as pandas: those take the arguments
        if isinstance(spec, str):
            return self._aggregate(Call(spec, args, kwargs), spec, {}, kwargs, split_every, out, meta, args=args)
        if isinstance(spec, Mapping) and self._is_single:
            raise TypeError("a dict of aggregations needs a frame; the grouped values are one column")
        quick = None if args or kwargs else self._quick_call(named_alike(spec))
        call = quick or Call("agg", (spec, *args), kwargs)
        return self._aggregate(call, spec, {}, kwargs, split_every, out, meta, args=args)

    aggregate = agg

    def _quick_call(self, named: Mapping[Any, Any]) -> NamedCall | None:
        """Return the quicker call for named aggregations, if they are of columns, by name; else None."""
        if self._is_single or not self._recipe.as_index or not NamedCall.can_make(named):
            return None
        columns = self._grouping.node.meta.columns
        is_plain = self._recipe.selection is None and columns.nlevels == 1 and columns.name is None
        return NamedCall(named) if is_plain and columns.is_unique else None

    def _aggregate(
        self,
        call: Call | NamedCall,
        spec: Any,
        named: dict[str, Any],
        options: Mapping[str, Any],
        split_every: int | None,
        split_out: int,
        given_meta: Any = None,
        *,
        args: tuple[Any, ...] = (),
    ) -> Any:
        """Return the collection of an aggregation: by a tree if all of it can be, else with whole groups."""
        is_of_rows = spec == "size" and not self._is_single
        grouping = self._needing([] if is_of_rows else None if self._is_single else spec_columns(spec, named), options)
        title = "groupby-" + (spec if isinstance(spec, str) else "agg")
        is_users = has_functions(spec) or has_functions(list(named.values()))
        meta = meta_of(grouping, call.without("min_count"), given_meta, title, is_users=is_users)
        columns = self._value_columns(spec, options)
        pairs = pairs_of(spec, named, columns, is_single=self._is_single)
        is_whole = bool(args) or not are_named(pairs) or names_several(spec, self._frame)
        found = None if is_whole else self._all_wanted(pairs, options)
        if found:
            reduction = Reduction(grouping, call, *found, meta, title)
            return wrap(reduced(reduction, split_every, split_out))
        return self._of_whole_groups(
            grouping, *with_narrow_means(call, meta, pairs, grouping.node.meta), title, split_out
        )

    def _of_whole_groups(
        self, grouping: Grouping, call: Callable[[Any], Any], meta: Any, title: str, split_out: int
    ) -> Any:
        """Return the collection of what pandas makes of whole groups."""
        if split_out == 1 and (node := of_distinct_rows(grouping, call, meta, title)) is not None:
            return wrap(node)
        grouping = with_extremes_only(grouping, call)
        recipe = grouping.recipe
        has_categories = grouping.has_categories
        method = getattr(call, "method", "")
        is_odd = wholes.is_odd(method, recipe, has_categories=has_categories, in_one=split_out == 1)
        # Each partition would list all combinations of categories, or in pandas 2 only those that it has.
        lists_categories = has_categories and (not recipe.observed or wholes.has_categories_met(meta, recipe))
        if is_odd or lists_categories or wholes.counts_categories(method, meta):
            blocks = tuple(in_one_partition(block) for block in grouping.blocks)
            whole = replace(grouping, node=in_one_partition(grouping.node), blocks=blocks)
            return wrap(of_groups(whole, call, meta, title, 1))
        keeps_labels = getattr(call, "method", "") in LABELLED
        renumbers = not recipe.as_index and not keeps_labels and is_numbered(grouping, call, meta)
        if may_keep_labels(call, grouping, meta):
            node = applied_in_place(grouping, call, meta, title)
            return wrap(in_one_partition(node)) if split_out == 1 else wrap(node)
        node = of_applied(grouping, call, meta, title, grouping.node.npartitions if split_out == 1 else split_out)
        if split_out == 1 or renumbers:
            node = in_one_partition(node)
        if renumbers:
            node = OfBlock(node, (), BlockCall(Method("reset_index"), (Block(0),), {"drop": True}, "renumber"), meta)
        return wrap(node)

    def _value_columns(self, spec: Any, options: Mapping[str, Any]) -> list[Any]:
        """Return the labels of the columns that are aggregated if the specification names none, in order."""
        if self._is_series:
            return [self._grouping.node.meta.name]
        selected = self._recipe.selected
        keys = set(self._recipe.key_columns)
        names = names_of(self._frame.expr.meta)
        labels = [name for name in names if name not in keys] if selected is None else list(selected)
        if (
            spec != "size"
            and spec is not None
            and not isinstance(spec, dict)
            and self._frame.columns[self._frame.columns.isin(labels)].has_duplicates
        ):
            require_distinct("groupby", self._frame._meta)
        if not options.get("numeric_only") or self._is_single:
            return labels
        dtypes = self._frame.expr.meta.dtypes
        return [name for name in labels if pd.api.types.is_numeric_dtype(dtypes[name])]

    def _needing(self, named_columns: list[Any] | None, options: Mapping[str, Any]) -> Grouping:
        """Return the grouping of the columns that are needed alone."""
        grouping = self._grouping
        if self._is_series:
            return grouping
        if named_columns is not None:
            require_own_keys(self._binned, named_columns)
            of = self._frame if self._recipe.selected is None else self._frame[self._recipe.selected]
            require_columns(named_columns, of)
        if options.get("skipna") is False:  # missing values of others may raise
            options = {**options, "numeric_only": False}
        labels = self._value_columns(None, options) if named_columns is None else named_columns
        needed = {*self._recipe.key_columns, *labels, *(self._recipe.selected or [])}
        names = list(dict.fromkeys(names_of(grouping.node.meta)))
        columns = [name for name in names if name in needed] or names[:1]  # which brings the rows
        return grouping if columns == names else replace(grouping, node=Projection(grouping.node, columns))

    def _all_wanted(
        self, pairs: list[tuple[Any, str]], options: Mapping[str, Any]
    ) -> tuple[tuple[Any, ...], tuple[Wanted, ...]] | None:
        """Return the labels of the value columns and the aggregations; None if one needs whole groups."""
        labels = list(dict.fromkeys(column for column, how in pairs if how != "size"))
        meta = self._grouping.node.meta
        found = []
        for column, how in pairs:
            dtype = None if how == "size" else (meta.dtype if self._is_series else dtype_of(meta, column))
            one = wanted(-1 if how == "size" else labels.index(column), how, dtype, options)
            if one is None:
                return None
            found.append(one)
        return tuple(labels), tuple(found)

    def _simple(
        self, how: str, options: Mapping[str, Any], split_every: int | None, split_out: Any, shuffle_method: Any
    ) -> Any:
        """Return an aggregation by its name."""
        out = partitions_of(self._grouping, split_out, shuffle_method)
        return self._aggregate(Call(how, (), dict(options)), how, {}, options, split_every, out)

    # Whole groups.

    def apply(
        self,
        func: Callable[..., Any] | str,
        /,
        *args: Any,
        meta: Any = None,
        include_groups: bool = False,
        split_out: int | bool | None = True,
        **kwargs: Any,
    ) -> Any:
        """Call a function with each group, and join what it returns.

        Parameters
        ----------
        func
            Gets a group: a frame without the key columns, or a series. Or the name of a method of groups.
        args, kwargs
            Its further arguments.
        meta
            What all calls together give, as in `map_partitions`. If it says names and dtypes alone, the index is that of the keys: give an
            empty object if the function returns several rows of a group. Default: the function is tried, as in `map_partitions`.
        include_groups
            False: the group has no key columns.
        split_out
            Number of partitions of the result. Default: as many as there are.

        Returns
        -------
        DataFrame or Series
            As pandas' result, in the order of the groups; with ``group_keys=False`` rows are at their places if the function keeps the
            labels of all groups. Rows whose labels are repeated are there too, where pandas puts those of one label together.
        """
        if isinstance(func, str):
            return getattr(self, func)(*args, **kwargs)
        if include_groups:
            raise NotImplementedError(
                "include_groups=True: pandas has no such groups any more; select the key as a column"
            )
        further = {} if self._is_single else WITHOUT_KEYS
        function, kwargs = with_own_arguments(func, kwargs)
        tried = TriedApply("apply", (function, *args), {**kwargs, **further})
        title = f"groupby-apply-{function_label(func)}"
        grouping = self._grouping if self._recipe.selected is None else self._needing([], {})
        found = with_labels_found(grouping, tried, meta_of(grouping, tried, meta, title, is_users=True), title)
        call = tried.settled()
        if meta is not None and isinstance(found, pd.Series) and found.name is not None:
            call = replace(call, chain=Call("rename", (found.name,)))  # as Dask does
        out = partitions_of(grouping, split_out, None)
        return self._of_whole_groups(grouping, call, found, title, out)

    def transform(self, func: Any = None, /, *args: Any, meta: Any = None, **kwargs: Any) -> Any:
        """Return a frame or series with a row for each row: what a function makes of its group.

        Parameters
        ----------
        func
            The name of an aggregation, whose value each row of the group gets, of another method such as ``"cumsum"``, or a
            function of a group's column.
        args, kwargs
            Its further arguments. Without `func`, of a frame, named ones: ``result=("column", "name")``.
        meta
            What it returns, as in `map_partitions`. Default: a function is tried on two made-up rows, or on the first ones of the data.

        Returns
        -------
        DataFrame or Series
            Rows keep their places; divisions stay known.

        Examples
        --------
        >>> import pandas as pd
        >>> import glassloom.dataframe as gd
        >>> frame = gd.from_pandas(pd.DataFrame({"k": ["a", "b", "a"], "x": [1, 2, 3]}), npartitions=2)
        >>> frame.groupby("k").x.transform("sum").compute().tolist()
        [4, 2, 4]
        """
        if func is None and not self._is_series:
            return named_transforms(self, kwargs)
        func, kwargs = with_own_arguments(func, kwargs)
        name = known_functions(func) if not isinstance(func, str) else func
        if name == "ngroup" and not args:
            return self.ngroup(**kwargs)
        grouping = self._needing(None, kwargs)
        title = f"groupby-transform-{name if isinstance(name, str) else function_label(name)}"
        call = Call("transform", (name, *args), kwargs)
        found = meta_of(grouping, call, meta, title, is_users=callable(name))
        if isinstance(name, str) and not args:
            aggregated = self._aggregated_for_rows(name, kwargs)
            if aggregated is not None:
                return self._binned.at_all_rows(wrap(broadcast_groups(grouping, aggregated, found, title)))
        return self._binned.at_all_rows(wrap(of_rows(grouping, call, found, title, keeps_rows=True)))

    def _aggregated_for_rows(self, how: str, options: Mapping[str, Any]) -> FrameExpr | None:
        """Return the node of an aggregation, one row a group, if partial results make it."""
        plain = self._with(as_index=True, observed=True, sort=True)
        pairs = pairs_of(how, {}, plain._value_columns(how, options), is_single=plain._is_single)
        if not are_named(pairs) or plain._all_wanted(pairs, options) is None:
            return None
        return plain._simple(how, options, None, None, None).expr

    def filter(self, func: Callable[..., Any], /, dropna: bool = True, *args: Any, **kwargs: Any) -> Any:
        """Return the rows of the groups for which a function returns True, in their order.

        Parameters
        ----------
        func
            Gets a group, returns a boolean.
        dropna
            Whether to leave out the other rows; with False they stay, with missing values. Whole numbers are floats then.
        args, kwargs
            Further arguments of the function.
        """
        title = f"groupby-filter-{function_label(func)}"
        if not dropna:
            grouping = self._of_whole_rows()
            meta = pd.Series(index=grouping.node.meta.index[:0], dtype=bool)
            marks = of_rows(grouping, partial(filter_marks, func, args, kwargs), meta, title, keeps_rows=True)
            selection = self._recipe.selection
            return (self._frame if selection is None else self._frame[selection]).where(wrap(marks))
        return self._some_rows(partial(filter_mask, func, args, kwargs), title)

    def _some_rows(self, mask: Callable[[Any], Any], title: str) -> Any:
        """Return the rows for which a function of pandas' groups gives True."""
        grouping = self._of_whole_rows()
        meta = grouping.node.meta if self._recipe.selection is None else grouping.node.meta[self._recipe.selection]
        return wrap(of_rows(grouping, mask, meta, title, keeps_rows=False))

    def _of_whole_rows(self) -> Grouping:
        """Return the grouping for a method whose result has rows with their keys: those must be the frame's own."""
        require_own_keys(self._binned, self._recipe.selected)
        return self._grouping

    def _rows(self, method: str, options: Mapping[str, Any], *, numeric_only: bool = False) -> Any:
        """Return what a method of pandas gives for each row, with all rows at their places."""
        grouping = self._needing([] if method == "cumcount" else None, {"numeric_only": numeric_only})
        call = Call(method, (), dict(options))
        meta = grouping.sampled(call)
        return self._binned.at_all_rows(wrap(rows_by_method(grouping, call, meta)))

    def _in_order(self, call: Call, title: str, split_out: Any = True, columns: list[Any] | None = None) -> Any:
        """Return what pandas makes of whole groups, in the order of the groups; `columns`: those it looks at."""
        grouping = self._needing(columns, {})
        if call.method == "value_counts":
            grouping = replace(grouping, recipe=replace(grouping.recipe, sort=grouping.recipe.orders_counts))
        out = partitions_of(grouping, split_out, None)
        return self._of_whole_groups(grouping, call, grouping.sampled(call), title, out)

    def _best(self, method: str, n: int, keep: str, split_out: Any) -> Any:
        """Return the largest or smallest values of each group of a column."""
        if not self._is_single:
            raise AttributeError(f"{method} is of one column: choose it, as in groupby(...)[column].{method}(n)")
        call = Call(method, (n, keep))
        if keep == "first" and partitions_of(self._grouping, split_out, None) == 1:
            grouping = self._needing(None, {})
            node = largest(grouping, method, n, grouping.sampled(call))
            if node is not None:
                return wrap(node)
        return self._in_order(call, f"groupby-{method}", split_out)

    def _windows(self, call: Call) -> Windows:
        """Return the windows in each group that a method of pandas makes."""
        return Windows(GroupBy._in_order, self, call)

    # Rows of groups.

    def head(self, n: int = 5) -> Any:
        """Return the first `n` rows of each group, in one partition, in their order. Negative: all but the last."""
        return self._ends("head", n)

    def tail(self, n: int = 5) -> Any:
        """Return the last `n` rows of each group, in one partition, in their order. Negative: all but the first."""
        return self._ends("tail", n)

    def _ends(self, method: str, n: int) -> Any:
        if n < 0:
            return self._some_rows(partial(ends_mask, method, n), f"groupby-{method}")
        return wrap(kept_first(self._of_whole_rows(), method, n))

    @property
    def nth(self) -> NthRows:
        """Return row `n` of each group, as ``nth(n, dropna=None)``, or several rows, as ``nth[0:2]``. See `NthRows`."""
        return NthRows(self)

    def ngroup(self, ascending: bool = True) -> Any:
        """Return the number of each row's group, in the order of the groups."""
        return self._binned.at_all_rows(wrap(group_numbers(self._grouping, ascending=ascending)))

    def get_group(self, name: Any) -> Any:
        """Return the rows of the group with a key.

        All partitions are looked at before any row is returned, to find out whether the key occurs.

        Parameters
        ----------
        name
            The key; a tuple if the frame is grouped by a list.

        Raises
        ------
        KeyError
            When computing, if the key doesn't occur.
        """
        return wrap(get_group(self._of_whole_rows(), name))

"""`Series`: one lazy column."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from glassloom.dataframe.accessors import Accessor
from glassloom.dataframe.call import Method
from glassloom.dataframe.grouping.groupby import GroupBy
from glassloom.dataframe.io.writers import SeriesWriters
from glassloom.dataframe.meta import infer_meta, parse_meta
from glassloom.dataframe.moving.methods import MovingSeries
from glassloom.dataframe.nodes import Filter, Rowwise, require_aligned
from glassloom.dataframe.reduce import keep_some, value_counts
from glassloom.dataframe.support import not_supported
from glassloom.dataframe.text import frame_html, frame_text
from glassloom.dataframe.values import Reductions
from glassloom.dataframe.wrap import bind, is_node, operate, wrap, wraps
from glassloom.graph import function_label


@wraps("series")
class Series(MovingSeries, Reductions, SeriesWriters):
    """A lazy pandas Series, cut into partitions.

    Examples
    --------
    >>> import pandas as pd
    >>> import glassloom.dataframe as gd
    >>> x = gd.from_pandas(pd.Series([1, 2, 3, 4], name="x"), npartitions=2)
    >>> ((x + 1) * 2).compute().tolist()
    [4, 6, 8, 10]
    """

    def __repr__(self) -> str:
        return frame_text(self)

    def _repr_html_(self) -> str:
        return frame_html(self)

    @property
    def dtype(self) -> Any:
        """The values' dtype."""
        return self._meta.dtype

    @property
    def name(self) -> Any:
        """The name of the column; that of the expression is ``series.expr.name``."""
        return self._meta.name

    @property
    def shape(self) -> tuple[Any]:
        """The number of rows, lazily, in a tuple."""
        return (self.size,)

    @property
    def str(self) -> Accessor:
        """The methods for text, as pandas has them."""
        return Accessor(self, "str")

    @property
    def dt(self) -> Accessor:
        """The methods for times, as pandas has them."""
        return Accessor(self, "dt")

    @property
    def cat(self) -> Accessor:
        """The methods for categories, as pandas has them."""
        return Accessor(self, "cat")

    def __getattr__(self, name: Any) -> Any:
        if hasattr(type(self), name):  # a property such as .str has said what is wrong
            return object.__getattribute__(self, name)
        raise not_supported("Series", name) or AttributeError(f"Series has no attribute {name!r}")

    def __getitem__(self, condition: Any) -> Any:
        if not is_node(condition):
            raise NotImplementedError(f"series[{condition!r}]: only boolean series choose rows; labels do by .loc[a:b]")
        require_aligned([self._expr, condition.expr], "series[condition]")
        return wrap(Filter(self._expr, condition.expr))

    def rename(self, name: Any) -> Any:
        """Return the series under another name."""
        return operate(Method("rename"), self, name)

    def to_frame(self, name: Any = None) -> Any:
        """Return a frame with this column alone."""
        return operate(Method("to_frame"), self, *(() if name is None else (name,)), label="to-frame")

    def between(self, left: Any, right: Any, inclusive: Any = "both") -> Any:
        """Return where values are between two limits."""
        return operate(Method("between"), self, left, right, inclusive)

    def map(self, function: Any, *, na_action: Any = None, meta: Any = None) -> Any:
        """Replace each value by a function's result, or look it up in a dict or pandas series.

        Parameters
        ----------
        function
            A function, dict or series.
        na_action
            ``"ignore"`` to leave missing values as they are, without calling the function.
        meta
            The result's ``("name", dtype)`` or empty series. Default: the function is tried on two made-up values.
        """
        nodes, call = bind(
            Method("map"), (self, function), {"na_action": na_action}, label=f"map-{function_label(function)}"
        )
        found = infer_meta(call, nodes, "map") if meta is None else parse_meta(meta)
        return wrap(WithMeta(nodes[0], tuple(nodes[1:]), call, found))

    def apply(self, function: Callable[..., Any], *, meta: Any = None, **kwargs: Any) -> Any:
        """Replace each value by a function's result. See `map`."""
        nodes, call = bind(Method("apply"), (self, function), kwargs, label=f"apply-{function_label(function)}")
        found = infer_meta(call, nodes, "apply") if meta is None else parse_meta(meta)
        return wrap(WithMeta(nodes[0], tuple(nodes[1:]), call, found))

    def groupby(
        self,
        by: Any = None,
        *,
        level: Any = None,
        as_index: bool = True,
        sort: bool = True,
        group_keys: bool = True,
        observed: bool | None = None,
        dropna: bool = True,
    ) -> GroupBy:
        """Group by other series of the same frame, or index levels. See `DataFrame.groupby`."""
        return GroupBy(
            self, by, level=level, as_index=as_index, sort=sort, group_keys=group_keys, observed=observed, dropna=dropna
        )

    def value_counts(
        self,
        normalize: bool = False,
        *,
        sort: bool = True,
        ascending: bool = False,
        dropna: bool = True,
        split_every: int | None = None,
    ) -> Any:
        """Return how often each value occurs, the most frequent first; equally frequent ones in order of appearance.

        Parameters
        ----------
        normalize
            Whether to return fractions of the total.
        sort, ascending
            Whether to sort by frequency, and in which direction.
        dropna
            Whether to leave missing values out.
        """
        node = value_counts(
            self._expr, sort=sort, ascending=ascending, dropna=dropna, normalize=normalize, split_every=split_every
        )
        return wrap(node)

    def unique(self, *, split_every: int | None = None) -> Any:
        """Return the distinct values in order of appearance, as a lazy series that is numbered from 0."""
        distinct = wrap(keep_some(self._expr, "drop_duplicates", {}, split_every))
        return operate(Method("reset_index"), distinct, kwargs={"drop": True})

    def nlargest(self, n: int = 5, *, split_every: int | None = None) -> Any:
        """Return the `n` largest values, in one partition."""
        return wrap(keep_some(self._expr, "nlargest", {"n": n}, split_every))

    def nsmallest(self, n: int = 5, *, split_every: int | None = None) -> Any:
        """Return the `n` smallest values, in one partition."""
        return wrap(keep_some(self._expr, "nsmallest", {"n": n}, split_every))


class WithMeta(Rowwise):
    """A row-wise operation whose result's dtype was given or tried out."""

    parameters = ("frame", "others", "call", "given_meta")

    given_meta: Any

    @property
    def meta(self) -> Any:
        return self.given_meta

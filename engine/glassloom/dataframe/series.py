"""`Series`: one lazy column."""

from __future__ import annotations

import operator
from datetime import time
from typing import Any, Self

import pandas as pd

from glassloom.backends.pandas_version import HAS_COPY_ON_WRITE
from glassloom.dataframe.accessors import Accessor, Categories, Texts
from glassloom.dataframe.argument_kinds import whole_number
from glassloom.dataframe.arguments import with_arguments
from glassloom.dataframe.at_hand import SeriesAtHand
from glassloom.dataframe.call import Method
from glassloom.dataframe.column_at_hand import is_column, is_lazy_mask, rows_by_lazy_array
from glassloom.dataframe.cutting import counts_of_bins
from glassloom.dataframe.factorizing import Factorizing
from glassloom.dataframe.grouping.bins import only_bins, resampled
from glassloom.dataframe.grouping.groupby import GroupBy
from glassloom.dataframe.io.writers import SeriesWriters
from glassloom.dataframe.kept_rows import keep_some
from glassloom.dataframe.keys_at_hand import key_at_hand
from glassloom.dataframe.keys_of_rows import with_keys_of_its_rows
from glassloom.dataframe.lazy_closures import of_samples_at_hand
from glassloom.dataframe.levels import Levels
from glassloom.dataframe.measuring import SeriesMeasuring
from glassloom.dataframe.method_names import names_without_unfit
from glassloom.dataframe.moving.among_all import SeriesAmongAll
from glassloom.dataframe.moving.methods import MovingSeries
from glassloom.dataframe.moving.numbering import renumber
from glassloom.dataframe.moving.set_index import with_divisions
from glassloom.dataframe.moving.shape import Repartition
from glassloom.dataframe.moving.shuffle import require_shuffle_method
from glassloom.dataframe.moving.values_by_hash import unique_by_hash, value_counts_by_hash
from glassloom.dataframe.moving.with_other import WithOther
from glassloom.dataframe.nodes import SomeRows
from glassloom.dataframe.operators import SeriesOperators, divided_by_method
from glassloom.dataframe.options import is_of_positions, number_of_outputs, refused
from glassloom.dataframe.order_checks import OrderChecks
from glassloom.dataframe.renamed_labels import with_renamed_labels
from glassloom.dataframe.repeated_labels import filtered
from glassloom.dataframe.rowwise import SeriesRowByRow
from glassloom.dataframe.setting_rows import is_mask, mask_of_rows
from glassloom.dataframe.setting_values import is_series
from glassloom.dataframe.statistics import SeriesStatistics
from glassloom.dataframe.support import did_you_mean, not_supported
from glassloom.dataframe.text import frame_html, frame_text
from glassloom.dataframe.time_labels import require_rows
from glassloom.dataframe.values import Reductions
from glassloom.dataframe.wrap import is_node, operate, wrap, wraps
from glassloom.reprs.live_blocks import show_blocks

_LIMITS = {
    "both": (operator.ge, operator.le),
    "left": (operator.ge, operator.lt),
    "right": (operator.gt, operator.le),
    "neither": (operator.gt, operator.lt),
}
"""How values between two limits are compared with these."""


@wraps("series")
@with_arguments("Series")
class Series(
    SeriesOperators,
    MovingSeries,
    SeriesAmongAll,
    WithOther,
    Levels,
    SeriesRowByRow,
    SeriesStatistics,
    Factorizing,
    SeriesMeasuring,
    SeriesAtHand,
    OrderChecks,
    Reductions,
    SeriesWriters,
):
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

    def _ipython_display_(self) -> None:
        show_blocks(self, frame_html)

    @property
    def dtype(self) -> Any:
        """The values' dtype."""
        return self._meta.dtype

    @property
    def name(self) -> Any:
        """The name of the column; that of the expression is ``series.expr.name``."""
        return self._meta.name

    @name.setter
    def name(self, name: Any) -> None:
        self._expr = self.rename(name).expr

    @property
    def shape(self) -> tuple[Any]:
        """The number of rows, lazily, in a tuple."""
        return (self.size,)

    @property
    def str(self) -> Texts:
        """The methods for text, as pandas has them."""
        return Texts(self)

    @property
    def dt(self) -> Accessor:
        """The methods for times, as pandas has them."""
        return Accessor(self, "dt")

    @property
    def cat(self) -> Categories:
        """The methods for categories, as pandas has them."""
        return Categories(self, "cat")

    def __dir__(self) -> list[Any]:
        return names_without_unfit(self, super().__dir__())

    def __getattr__(self, name: Any) -> Any:
        if hasattr(type(self), name):  # a property such as .str has said what is wrong
            return object.__getattribute__(self, name)
        raise not_supported("Series", name) or AttributeError(
            f"Series has no attribute {name!r}{did_you_mean(name, self)}"
        )

    def __setattr__(self, name: Any, value: Any) -> None:
        is_own = type(self) is not Series or name.startswith("_") or name == "attrs"
        if not is_own and not hasattr(type(self), name):
            raise AttributeError(
                f"Series has no attribute {name!r}{did_you_mean(name, self)}. The value of a label is set by series.loc[{name!r}] = ..."
            )
        super().__setattr__(name, value)

    def __getitem__(self, condition: Any) -> Any:
        if callable(condition) and not is_node(condition):
            condition = condition(self)
        condition = slice(None) if condition is Ellipsis else key_at_hand(condition)
        if isinstance(condition, slice):
            return self.iloc[condition] if is_of_positions(condition, self._meta.index) else self.loc[condition]
        if self._meta.index.nlevels > 1 and (isinstance(condition, tuple) or pd.api.types.is_scalar(condition)):
            return self.loc[condition]
        if not is_node(condition) and pd.api.types.is_scalar(condition):
            return self.loc[condition] if isinstance(condition, time) else self.at[condition]
        if is_lazy_mask(condition):
            return wrap(rows_by_lazy_array(self, condition))
        if is_mask(condition):
            condition = wrap(mask_of_rows(self, condition, "series[...]"))
        if isinstance(condition, (list, pd.Index)):
            return self.loc[condition]
        if not is_node(condition):
            raise TypeError(
                f"series[{condition!r}]: labels, lists of them, booleans and slices choose values; .iloc[...] takes positions"
            )
        return wrap(filtered(self._expr, condition.expr, "series[condition]"))

    def __setitem__(self, condition: Any, value: Any) -> None:
        condition = key_at_hand(condition)
        if isinstance(condition, slice) and is_of_positions(condition, self._meta.index):
            self.iloc[condition] = value
        else:
            is_label = pd.api.types.is_scalar(condition)
            if is_label and is_series(value):
                raise ValueError(f"series[{condition!r}] = a series: setting an array element with a sequence")
            self.loc.set(condition, value, by_label=is_label or is_node(condition) or is_mask(condition))

    def __delitem__(self, label: Any) -> None:
        self._expr = self.drop(label).expr

    def pop(self, item: Any) -> Any:
        """Remove the row of a label from this series, and return its value as a lazy scalar."""
        value = self.loc[item]
        del self[item]
        return value

    def rename(
        self,
        index: Any = None,
        *,
        axis: Any = None,
        inplace: bool = False,
        level: Any = None,
        errors: Any = "ignore",
        sorted_index: bool = False,
    ) -> Any:
        """Return the series under another name; a function, dict or series renames the labels of rows.

        Parameters
        ----------
        index
            The name, or what makes new labels of the old. All rows of a lazy series are brought together.
        level
            Not supported: divisions are of one level.
        sorted_index
            Whether new labels are in order: then the divisions are found out, now.

        Raises
        ------
        DivisionError
            If labels aren't in order though `sorted_index` says so.
        """
        if level is not None:
            raise refused("rename", "level", level, "divisions are of one level")
        if callable(index):
            of_samples_at_hand(lambda some: some.rename(index), self._meta, who="rename", users=index)
        if callable(index) or isinstance(index, (dict, pd.Series)) or is_node(index):
            made = with_renamed_labels(self, index)
            return wrap(with_divisions(made) if sorted_index else made)
        return operate(Method("rename"), self, index)

    def to_frame(self, name: Any = pd.api.extensions.no_default) -> Any:
        """Return a frame with this column alone, under another name if one is given; None is one too."""
        is_given = name is not pd.api.extensions.no_default
        return operate(Method("to_frame"), self, *((name,) if is_given else ()), label="to-frame")

    def between(self, left: Any, right: Any, inclusive: Any = "both") -> Any:
        """Return where values are between two limits: constants, or lazy series, arrays or lists with one for each row."""
        if is_column(left) or is_column(right):
            if inclusive not in _LIMITS:
                raise ValueError(f"between: inclusive={inclusive!r} should be 'both', 'neither', 'left' or 'right'")
            above, below = _LIMITS[inclusive]
            return above(self, left) & below(self, right)
        return operate(Method("between"), self, left, right, inclusive)

    def groupby(
        self,
        by: Any = None,
        level: Any = None,
        *,
        as_index: bool = True,
        sort: bool | None = None,
        group_keys: bool = True,
        observed: bool | None = HAS_COPY_ON_WRITE,
        dropna: bool = True,
    ) -> Any:
        """Group by other series of the same frame, or index levels. See `DataFrame.groupby`."""
        if (bins := only_bins(by)) is not None:
            return resampled(self, bins, as_index=as_index, group_keys=group_keys)
        frame, by = with_keys_of_its_rows(self, by)
        return GroupBy(
            frame,
            by,
            level=level,
            as_index=as_index,
            sort=sort,
            group_keys=group_keys,
            observed=observed,
            dropna=dropna,
        )

    def value_counts(
        self,
        normalize: bool = False,
        sort: bool = True,
        ascending: bool = False,
        bins: Any = None,
        dropna: bool = True,
        *,
        split_every: int | None = None,
        split_out: Any = 1,
    ) -> Any:
        """Return how often each value occurs, the most frequent first; equally frequent ones in order of appearance.

        Parameters
        ----------
        normalize
            Whether to return fractions of the total.
        sort, ascending
            Whether to sort by frequency, and in which direction.
        bins
            How many intervals of equal length, or their edges: returned is how many values are in each. See `cut`.
        dropna
            Whether to leave missing values out.
        split_out
            Number of partitions of the result; True for as many as this series has. They follow each other in order. Counts
            of objects, categories and bins are joined in one partition before.
        """
        count = number_of_outputs(split_out, self.npartitions)
        if bins is not None:
            made = counts_of_bins(self, bins, normalize=normalize, sort=sort, ascending=ascending, dropna=dropna)
            return made if count == 1 else wrap(Repartition(made.expr, count))
        node = value_counts_by_hash(
            self._expr,
            count,
            sorts=sort,
            ascending=ascending,
            dropna=dropna,
            normalize=normalize,
            split_every=split_every,
        )
        return wrap(node)

    def unique(self, *, split_every: int | None = None, split_out: Any = 1, shuffle_method: Any = None) -> Any:
        """Return the distinct values in order of appearance, as a lazy series that is numbered from 0.

        ``value in series.unique()`` says whether it is one of the values, as of pandas' array.

        Parameters
        ----------
        split_out
            Number of partitions of the result; True for as many as this series has.
        """
        require_shuffle_method(shuffle_method)
        return DistinctValues(unique_by_hash(self._expr, number_of_outputs(split_out, self.npartitions), split_every))

    def dropna(self, *, axis: Any = 0, inplace: bool = False, how: Any = None, ignore_index: bool = False) -> Any:
        """Return the values that aren't missing; with `ignore_index` numbered from 0."""
        require_rows("dropna", axis)
        made = operate(Method("dropna"), self, kind=SomeRows)
        return wrap(renumber(made.expr)) if ignore_index else made

    def nlargest(self, n: int = 5, keep: Any = "first", *, split_every: int | None = None) -> Any:
        """Return the `n` largest values, in one partition."""
        return wrap(
            keep_some(self._expr, "nlargest", {"n": whole_number("nlargest", "n", n), "keep": keep}, split_every)
        )

    def nsmallest(self, n: int = 5, keep: Any = "first", *, split_every: int | None = None) -> Any:
        """Return the `n` smallest values, in one partition."""
        return wrap(
            keep_some(self._expr, "nsmallest", {"n": whole_number("nsmallest", "n", n), "keep": keep}, split_every)
        )

    @property
    def T(self) -> Any:
        """The series itself, as in pandas."""
        return self

    def transpose(self) -> Any:
        """Return the series itself, as in pandas."""
        return self

    def divmod(self, other: Any, *, fill_value: Any = None) -> Any:
        """Return quotient and remainder, with `fill_value` for what only one side has."""
        return divided_by_method(self, "divmod", other, fill_value)

    def rdivmod(self, other: Any, *, fill_value: Any = None) -> Any:
        """Return quotient and remainder of the other by this one, with `fill_value` for what only one side has."""
        return divided_by_method(self, "rdivmod", other, fill_value)


class DistinctValues(Series):
    """The lazy distinct values of a series. pandas has an array of them: what is in it is one of the values, not of the labels."""

    def __contains__(self, value: object) -> bool:
        """Compute whether a value is one of them."""
        return value in self._computed_by_pandas().unique()

    def _with_expr(self, expr: Any) -> Self:
        """Return the same values, such as persisted ones, as distinct ones."""
        return type(self)(super()._with_expr(expr).expr)

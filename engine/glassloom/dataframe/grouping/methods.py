"""`Methods`: the methods of groups that differ by name and arguments alone. Each leads to one of three ways to compute."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import pandas as pd

from glassloom.dataframe.argument_kinds import whole_number
from glassloom.dataframe.grouping.columns_apart import column_by_column
from glassloom.dataframe.grouping.groups_at_hand import GroupsAtHand
from glassloom.dataframe.grouping.masks import sample_mask
from glassloom.dataframe.grouping.ohlc import ohlc
from glassloom.dataframe.grouping.spec import Call
from glassloom.dataframe.grouping.windows import Windows
from glassloom.dataframe.options import FILL_METHOD, piped, refused
from glassloom.dataframe.sampling import seed_of

_SPLITTING = """
        split_every
            How many partial results are joined at a time. Default 8.
        split_out
            Number of partitions of the result; see `agg`.
        shuffle_method
            ``"tasks"`` or None."""
_NUMERIC = """
        numeric_only
            Whether to leave out columns that aren't numbers."""
_SKIPNA = """
        skipna
            Whether missing values are left out; if not, one makes the result missing."""


def _given(values: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that differ from pandas' defaults: older versions of pandas lack some."""
    return {name: value for name, value in values.items() if value is not defaults[name] and value != defaults[name]}


def _fraction(value: Any) -> float:
    """Return what part of its rows `sample` draws of a group."""
    if not isinstance(value, numbers.Real):
        raise TypeError(f"groupby.sample(frac={value!r}): it is a number between 0 and 1")
    return float(value)


class Methods(GroupsAtHand):
    """The methods of groups that differ by name and arguments alone."""

    _simple: Callable[..., Any]
    _require_several: Callable[[str], None]
    _rows: Callable[..., Any]
    _in_order: Callable[..., Any]
    _some_rows: Callable[..., Any]
    _windows: Callable[..., Windows]
    _best: Callable[..., Any]

    if TYPE_CHECKING:  # groups have it

        @property
        def _is_single(self) -> bool: ...

    def size(self, *, split_every: int | None = None, split_out: Any = None, shuffle_method: Any = None) -> Any:
        """Return the number of rows of each group. See `agg` for the arguments."""
        return self._simple("size", {}, split_every, split_out, shuffle_method)

    def count(self, *, split_every: int | None = None, split_out: Any = None, shuffle_method: Any = None) -> Any:
        """Return the number of values of each group that aren't missing. See `agg` for the arguments."""
        return self._simple("count", {}, split_every, split_out, shuffle_method)

    def nunique(
        self,
        dropna: bool = True,
        *,
        split_every: int | None = None,
        split_out: Any = None,
        shuffle_method: Any = None,
    ) -> Any:
        """Return the number of distinct values of each group; `dropna` leaves out missing ones. See `agg`."""
        return self._simple(
            "nunique", _given({"dropna": dropna}, {"dropna": True}), split_every, split_out, shuffle_method
        )

    def quantile(
        self,
        q: Any = 0.5,
        interpolation: str = "linear",
        numeric_only: bool = False,
        *,
        split_out: Any = None,
        shuffle_method: Any = None,
    ) -> Any:
        """Return quantiles of each group, exactly: rows move so that groups are whole.

        Parameters
        ----------
        q
            0 to 1, or a list of those.
        interpolation
            What to do between two values: ``linear lower higher midpoint nearest``.
        numeric_only
            Whether to leave out columns that aren't numbers.
        split_out, shuffle_method
            See `agg`.
        """
        options = {"q": q, "interpolation": interpolation, "numeric_only": numeric_only}
        return column_by_column(self, "_simple", "quantile", options, None, split_out, shuffle_method)

    def cov(
        self, min_periods: int | None = None, ddof: int = 1, numeric_only: bool = False, *, split_out: Any = None
    ) -> Any:
        """Return the covariances of the columns of each group, as pandas does. See `agg` for `split_out`."""
        options = {"min_periods": min_periods, "ddof": ddof, "numeric_only": numeric_only}
        self._require_several("cov")
        return self._simple("cov", options, None, split_out, None)

    def corr(
        self, method: Any = "pearson", min_periods: int = 1, numeric_only: bool = False, *, split_out: Any = None
    ) -> Any:
        """Return the correlations of the columns of each group, as pandas does. See `agg` for `split_out`."""
        options = {"method": method, "min_periods": min_periods, "numeric_only": numeric_only}
        self._require_several("corr")
        return self._simple("corr", options, None, split_out, None)

    def describe(self, percentiles: Any = None, include: Any = None, exclude: Any = None) -> Any:
        """Return pandas' summary of each group, in one partition."""
        options = {"percentiles": percentiles, "include": include, "exclude": exclude}
        return self._simple("describe", options, None, None, None)

    # A row for each row.

    def shift(self, periods: Any = 1, freq: Any = None, fill_value: Any = None, suffix: str | None = None) -> Any:
        """Return the values of the row `periods` before in the same group.

        Parameters
        ----------
        periods
            Number of rows, negative for rows after; or a list of those.
        freq
            Only None: shift the index with `map_partitions`.
        fill_value
            What rows get that have none. Default: missing.
        suffix
            What to append to the names of columns if `periods` is a list.
        """
        if freq is not None:
            raise NotImplementedError(f"freq={freq!r}: shift the times of the index themselves, with map_partitions()")
        options: dict[str, Any] = {"periods": periods}
        if fill_value is not None:
            options["fill_value"] = fill_value
        if suffix is not None:
            options["suffix"] = suffix
        return column_by_column(self, "_rows", "shift", options)

    def diff(self, periods: int = 1) -> Any:
        """Return the difference from the row `periods` before in the same group."""
        return column_by_column(self, "_rows", "diff", {"periods": periods})

    def pct_change(self, periods: int = 1, fill_method: str | None = FILL_METHOD, freq: Any = None) -> Any:
        """Return the relative change from the row `periods` before in the same group."""
        if fill_method not in (None, FILL_METHOD) or freq is not None:
            raise NotImplementedError(f"fill_method={fill_method!r}, freq={freq!r}: use ffill() before, and no freq")
        return column_by_column(self, "_rows", "pct_change", {"periods": periods, "fill_method": fill_method})

    def cumcount(self, ascending: bool = True) -> Any:
        """Return the number of each row in its group, from 0; with ``ascending=False`` from the end."""
        return self._rows("cumcount", {"ascending": ascending})

    def ffill(self, limit: int | None = None) -> Any:
        """Return missing values filled by the last value of the group; at most `limit` in a row."""
        return column_by_column(self, "_rows", "ffill", {"limit": limit})

    def bfill(self, limit: int | None = None) -> Any:
        """Return missing values filled by the next value of the group; at most `limit` in a row."""
        return column_by_column(self, "_rows", "bfill", {"limit": limit})

    def rank(self, method: str = "average", ascending: bool = True, na_option: str = "keep", pct: bool = False) -> Any:
        """Return the rank of each value in its group. The arguments are pandas'."""
        options = {"method": method, "ascending": ascending, "na_option": na_option, "pct": pct}
        return column_by_column(self, "_rows", "rank", options)

    def sample(
        self,
        n: int | None = None,
        frac: float | None = None,
        replace: bool = False,
        weights: Any = None,
        random_state: Any = None,
    ) -> Any:
        """Return rows drawn at random from each group, at their places.

        Parameters
        ----------
        n, frac
            The number of rows of each group, or the fraction of its rows. Default: one row.
        replace, weights
            Not supported.
        random_state
            A number makes the same choice again, of the same frame in the same partitions.

        Raises
        ------
        ValueError
            When computing, if a group has fewer than `n` rows.
        """
        for name, value in (("replace", replace), ("weights", weights)):
            if value is not None and value is not False:
                raise refused(
                    "groupby.sample", name, value, f"apply(lambda group: group.sample(..., {name}=...)) draws so"
                )
        if n is not None:
            n = whole_number("groupby.sample", "n", n)
        if frac is not None:
            frac = _fraction(frac)
        if n is not None and frac is not None:
            raise ValueError(f"groupby.sample(n={n!r}, frac={frac!r}): give one of both")
        if (n is not None and n < 0) or (frac is not None and not 0 <= frac <= 1):
            raise ValueError(f"groupby.sample(n={n!r}, frac={frac!r}): n should be 0 or more, frac between 0 and 1")
        count = 1 if n is None and frac is None else n
        return self._some_rows(partial(sample_mask, count, frac, seed_of(random_state)), "groupby-sample")

    def pipe(self, func: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Return ``func(self, *args, **kwargs)``; with a pair of function and name, self is that keyword's argument."""
        return piped(self, func, args, kwargs)

    # Rows in the order of the groups.

    def value_counts(
        self,
        subset: Any = None,
        normalize: bool = False,
        sort: bool = True,
        ascending: bool = False,
        dropna: bool = True,
        *,
        split_out: Any = None,
    ) -> Any:
        """Return how often each value (of frames: each row) occurs in each group. `subset`: columns, of frames only.

        Only distinct rows move, but of categories and objects all do. With `split_out` over 1, equally frequent values may come in
        another order than pandas'; with categories, of which pandas lists those of other groups, the result is one partition.
        """
        if subset is not None and (pd.api.types.is_scalar(subset) or self._is_single):
            instead = "give the options of one column by name, as in value_counts(normalize=True)"
            raise TypeError(f"groupby.value_counts({subset!r}): subset is a list of columns, of frames only; {instead}")
        options = {"normalize": normalize, "sort": sort, "ascending": ascending, "dropna": dropna}
        if subset is not None:
            options["subset"] = subset
        return self._in_order(Call("value_counts", (), options), "groupby-value-counts", split_out)

    def nlargest(self, n: int = 5, keep: str = "first", *, split_out: Any = None) -> Any:
        """Return the `n` largest values of each group of a column. `keep`: which of equal ones, ``first last all``."""
        return self._best("nlargest", n, keep, split_out)

    def nsmallest(self, n: int = 5, keep: str = "first", *, split_out: Any = None) -> Any:
        """Return the `n` smallest values of each group of a column. `keep`: which of equal ones, ``first last all``."""
        return self._best("nsmallest", n, keep, split_out)

    def unique(self, *, split_out: Any = None) -> Any:
        """Return an array of the distinct values of each group of a column."""
        return self._in_order(Call("unique"), "groupby-unique", split_out)

    def ohlc(self, *, split_out: Any = None) -> Any:
        """Return the first, highest, lowest and last value of each group."""
        return ohlc(self, split_out)

    def rolling(
        self,
        window: Any,
        min_periods: int | None = None,
        center: bool = False,
        win_type: str | None = None,
        on: str | None = None,
        closed: str | None = None,
    ) -> Windows:
        """Return sliding windows in each group, to be aggregated. The arguments are pandas'."""
        options = {"min_periods": min_periods, "center": center, "win_type": win_type, "on": on, "closed": closed}
        return self._windows(Call("rolling", (window,), options))

    def expanding(self, min_periods: int = 1) -> Windows:
        """Return windows from each group's first row to each row, to be aggregated."""
        return self._windows(Call("expanding", (min_periods,)))

    def ewm(
        self,
        com: float | None = None,
        span: float | None = None,
        halflife: Any = None,
        alpha: float | None = None,
        min_periods: int = 0,
        adjust: bool = True,
        ignore_na: bool = False,
    ) -> Windows:
        """Return windows of each group's rows up to each row, weighted exponentially, to be aggregated. The arguments are pandas'."""
        decay = {"com": com, "span": span, "halflife": halflife, "alpha": alpha}
        options = {"min_periods": min_periods, "adjust": adjust, "ignore_na": ignore_na}
        return self._windows(Call("ewm", (), {**decay, **options}))

    def resample(
        self, rule: Any, closed: str | None = None, label: str | None = None, on: Any = None, origin: Any = "start_day"
    ) -> Windows:
        """Return the stretches of time of each group, to be aggregated. The arguments are pandas'."""
        options = _given(
            {"closed": closed, "label": label, "on": on, "origin": origin},
            {"closed": None, "label": None, "on": None, "origin": "start_day"},
        )
        return self._windows(Call("resample", (rule,), options))


def _reduction(how: str, what: str, min_count: int | None, *, has_ddof: bool = False) -> Callable[..., Any]:
    """Return a method that aggregates, with pandas' arguments."""
    defaults: dict[str, Any] = {"numeric_only": False, "skipna": True}
    if min_count is not None:

        def counting(
            self: Methods,
            numeric_only: bool = False,
            min_count: int = min_count,
            skipna: bool = True,
            *,
            split_every: int | None = None,
            split_out: Any = None,
            shuffle_method: Any = None,
        ) -> Any:
            given = {"numeric_only": numeric_only, "min_count": min_count, "skipna": skipna}
            return self._simple(how, _given(given, defaults), split_every, split_out, shuffle_method)

        defaults["min_count"] = min_count
        return _documented(counting, how, what, _NUMERIC + _MIN_COUNT + _SKIPNA)
    if has_ddof:

        def spread(
            self: Methods,
            ddof: int = 1,
            numeric_only: bool = False,
            skipna: bool = True,
            *,
            split_every: int | None = None,
            split_out: Any = None,
            shuffle_method: Any = None,
        ) -> Any:
            given = {"numeric_only": numeric_only, "skipna": skipna, "ddof": ddof}
            return self._simple(how, _given(given, defaults), split_every, split_out, shuffle_method)

        defaults["ddof"] = 1
        return _documented(spread, how, what, _DDOF + _NUMERIC + _SKIPNA)

    def plain(
        self: Methods,
        numeric_only: bool = False,
        skipna: bool = True,
        *,
        split_every: int | None = None,
        split_out: Any = None,
        shuffle_method: Any = None,
    ) -> Any:
        given = _given({"numeric_only": numeric_only, "skipna": skipna}, defaults)
        if how != "median":  # of which partial results can't be joined
            return self._simple(how, given, split_every, split_out, shuffle_method)
        return column_by_column(self, "_simple", how, given, split_every, split_out, shuffle_method)

    return _documented(plain, how, what, _NUMERIC + _SKIPNA)


_MIN_COUNT = """
        min_count
            With fewer values the result is missing."""
_DDOF = """
        ddof
            The divisor is the number of values less this."""


def _documented(method: Callable[..., Any], name: str, what: str, options: str) -> Callable[..., Any]:
    method.__name__ = name
    method.__qualname__ = f"GroupBy.{name}"
    method.__doc__ = f"""Return {what} of each group.

        Parameters
        ----------{options}{_SPLITTING}
        """
    return method


for _how, _what, _min_count in (
    ("sum", "the sum", 0),
    ("prod", "the product", 0),
    ("min", "the smallest value", -1),
    ("max", "the largest value", -1),
    ("first", "the first value that isn't missing", -1),
    ("last", "the last value that isn't missing", -1),
):
    setattr(Methods, _how, _reduction(_how, _what, _min_count))
for _how, _what in (
    ("mean", "the mean"),
    ("median", "the median"),
    ("skew", "the skewness"),
    ("kurt", "the kurtosis"),
    ("idxmin", "the index label of the smallest value"),
    ("idxmax", "the index label of the largest value"),
):
    setattr(Methods, _how, _reduction(_how, _what, None))
for _how, _what in (
    ("var", "the variance"),
    ("std", "the standard deviation"),
    ("sem", "the standard error of the mean"),
):
    setattr(Methods, _how, _reduction(_how, _what, None, has_ddof=True))


def _test(how: str, what: str) -> Callable[..., Any]:
    def method(
        self: Methods,
        skipna: bool = True,
        *,
        split_every: int | None = None,
        split_out: Any = None,
        shuffle_method: Any = None,
    ) -> Any:
        return self._simple(how, _given({"skipna": skipna}, {"skipna": True}), split_every, split_out, shuffle_method)

    return _documented(method, how, what, _SKIPNA)


setattr(Methods, "any", _test("any", "whether any value is true"))  # noqa: B010 - mypy would see a signature of its own
setattr(Methods, "all", _test("all", "whether all values are true"))  # noqa: B010


def _cumulative(how: str, what: str) -> Callable[..., Any]:
    def method(self: Methods, numeric_only: bool = False, skipna: bool = True) -> Any:
        options = _given({"numeric_only": numeric_only, "skipna": skipna}, {"numeric_only": False, "skipna": True})
        return column_by_column(self, "_rows", how, options, numeric_only=numeric_only)

    method.__name__ = how
    method.__qualname__ = f"GroupBy.{how}"
    method.__doc__ = f"""Return for each row {what} of the values of its group up to it.

        Parameters
        ----------{_NUMERIC}{_SKIPNA}
        """
    return method


for _how, _what in (
    ("cumsum", "the sum"),
    ("cumprod", "the product"),
    ("cummin", "the smallest"),
    ("cummax", "the largest"),
):
    setattr(Methods, _how, _cumulative(_how, _what))

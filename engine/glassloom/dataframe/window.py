"""`rolling` and `expanding`: windows over the rows, which may reach into the partitions beside."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cached_property, partial
from typing import Any

import numpy as np
import pandas as pd

from glassloom._users_functions import call_users_function
from glassloom.dataframe.arguments import with_arguments, with_functions_by_name
from glassloom.dataframe.base import Frame
from glassloom.dataframe.call import Block, BlockCall
from glassloom.dataframe.columns import require_columns, unknown_columns
from glassloom.dataframe.exponential import Exponential, centre_of_mass
from glassloom.dataframe.lazy_arguments import with_lazy_arguments_checked
from glassloom.dataframe.method_names import methods_named
from glassloom.dataframe.nodes import FrameExpr, Projection, Rowwise
from glassloom.dataframe.options import piped, refused
from glassloom.dataframe.overlap import overlapping, overlapping_rows
from glassloom.dataframe.positions import rows_between_positions
from glassloom.dataframe.prefix import Carried, meta_of, scan
from glassloom.dataframe.reduce import Operation, tree
from glassloom.dataframe.repeated_labels import paired
from glassloom.dataframe.running import State, state_of, state_together, with_state
from glassloom.dataframe.two_series import both_lazy
from glassloom.dataframe.weighting import Decay
from glassloom.dataframe.whole_windows import length_of, of_one_partition, rows_of
from glassloom.dataframe.window_lists import aggregated_by_name
from glassloom.dataframe.wrap import is_node, wrap
from glassloom.errors import OptionError

_NOT_THERE = {
    "fillna": "resample(...).first().fillna(...)",
    "get_group": "loc[start:end] of the frame",
    "groups": "size(), which lists the bins and how many rows each has",
    "indices": "size(), which lists the bins and how many rows each has",
    "online": "rolling() or ewm() of the frame",
}
"""Methods of pandas' windows and bins that have no form for partitions, and what to use."""


class Window:
    """Windows over a frame's or series' rows, to be aggregated: what `Rolling` and `Expanding` share."""

    def __init__(self, frame: Any, selection: Any = None) -> None:
        self._frame = frame
        self._selection = selection

    def __getitem__(self, columns: Any) -> Any:
        meta = self._frame.expr.meta
        if isinstance(meta, pd.Series):
            raise TypeError("the windows are over one series; there is no column to choose")
        require_columns(columns if isinstance(columns, list) else [columns], meta)
        return self._selected(columns)

    def __iter__(self) -> Any:
        raise NotImplementedError(
            f"{type(self).__name__}: windows can't be gone through one by one; apply() calls a function with each, and of a small frame "
            "compute() makes pandas', whose windows can be"
        )

    def __getattr__(self, name: str) -> Any:
        if name in _NOT_THERE:
            raise NotImplementedError(f"{type(self).__name__}.{name} isn't supported: use {_NOT_THERE[name]}")
        frame = self.__dict__.get("_frame")
        meta = None if frame is None else frame.expr.meta
        if not name.startswith("_") and isinstance(meta, pd.DataFrame):
            if name in meta.columns:
                return self[name]
            raise AttributeError(
                f"{type(self).__name__} has no attribute {name!r} ({unknown_columns([name], meta.columns)})"
            )
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    def pipe(self, func: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Return what a function makes of these windows; ``(function, "name")`` passes them as that argument."""
        return piped(self, func, args, kwargs)

    def _is_weighted(self, how: str) -> bool:
        """Whether rows in a window have weights, so that a method takes the parameters of these."""
        return False

    def _selected(self, columns: Any) -> Any:
        raise NotImplementedError

    def _aggregated(self, how: str, args: tuple[Any, ...], kwargs: dict[str, Any], *, columnwise: bool = True) -> Any:
        raise NotImplementedError


@with_arguments("Rolling")
class Rolling(Window):
    """Windows of a number of rows or of a time, also over borders of partitions. Made by `DataFrame.rolling`."""

    def __init__(
        self, frame: Any, window: Any, options: dict[str, Any], selection: Any = None, step: int | None = None
    ) -> None:
        super().__init__(frame, selection)
        self._window = window
        self._options = options
        self._step = step

    def __repr__(self) -> str:
        given = self._options if self._step is None else {**self._options, "step": self._step}
        options = ", ".join(f"{name}={value!r}" for name, value in given.items())
        return f"Rolling(window={self._window!r}{', ' + options if options else ''})"

    def _selected(self, columns: Any) -> Rolling:
        return Rolling(self._frame, self._window, self._options, columns, self._step)

    def _is_weighted(self, how: str) -> bool:
        return "win_type" in self._options and hasattr(pd.api.typing.Window, how)

    def _aggregated(self, how: str, args: tuple[Any, ...], kwargs: dict[str, Any], *, columnwise: bool = True) -> Any:
        self._require_weights_that_move(how, args)
        on = self._options.get("on")
        before, after = self._reach
        node = self._frame.expr
        if self._selection is not None and on is None:
            node, columnwise = Projection(node, self._selection), columnwise and isinstance(self._selection, list)
        selection = self._selection if on is not None else None
        call = partial(_rolled, self._window, self._options, self._leaves_out_times, selection, how, args, kwargs)
        made = overlapping(
            node, call, before, after, label=f"rolling-{how}", on=on, columnwise=columnwise and on is None
        )
        return wrap(made if self._step is None else rows_between_positions(made, slice(None, None, self._step)))

    def _require_weights_that_move(self, how: str, args: tuple[Any, ...]) -> None:
        """Check that weights belong to places in the window. Those of pandas' variances belong to rows: they don't move with it."""
        if self._options.get("win_type") in (None, "boxcar") or self._frame.npartitions == 1:
            return
        if how in ("var", "std") or (how == "agg" and any(name in str(args) for name in ("var", "std"))):
            raise NotImplementedError(
                f"rolling(win_type={self._options['win_type']!r}).{how}() of several partitions isn't supported: in pandas the "
                "weights of a row depend on how many rows come before it; use mean or sum, or repartition(npartitions=1) before"
            )

    def agg(self, func: Any = None, /, *args: Any, **kwargs: Any) -> Any:
        """Aggregate each window by one or several functions, as pandas does."""
        return self._aggregated("agg", (func, *args), kwargs, columnwise=False)

    aggregate = agg

    def apply(
        self, func: Callable[..., Any], raw: bool = False, engine: Any = None, engine_kwargs: Any = None,
        args: Any = None, kwargs: Any = None,
    ) -> Any:  # fmt: skip
        """Call a function with the values of each window: a series, or an array with `raw`."""
        if raw not in (True, False):
            raise ValueError(f"rolling().apply(raw={raw!r}): raw parameter must be `True` or `False`")
        options = {"raw": raw, "engine": engine, "engine_kwargs": engine_kwargs, "args": args, "kwargs": kwargs}
        return self._aggregated("apply", (func,), {name: value for name, value in options.items() if value is not None})

    def cov(self, other: Any = None, pairwise: Any = None, ddof: int = 1) -> Any:
        """Return the covariance with another series or frame in each window; without one, of all pairs of columns. See `corr`."""
        return self._with_other("cov", other, pairwise, ddof)

    def corr(self, other: Any = None, pairwise: Any = None, ddof: int = 1) -> Any:
        """Return the correlation with another series or frame in each window; without one, of all pairs of columns.

        Parameters
        ----------
        other
            A lazy series or frame of the same rows. Default: the series itself, or the columns of the frame.
        pairwise
            Of two frames, whether to make a row for each column of `other` of each row; if not, columns of the same name are
            held against each other. Default: only without `other`.
        ddof
            What is subtracted from the number of values.

        Examples
        --------
        >>> import pandas as pd
        >>> import glassloom.dataframe as gd
        >>> frame = gd.from_pandas(pd.DataFrame({"x": [1, 2, 4], "y": [4, 2, 1]}), npartitions=2)
        >>> frame.rolling(2).cov().loc[:, "x"].compute().tolist()
        [nan, nan, 0.5, -1.0, 2.0, -1.0]
        """
        return self._with_other("corr", other, pairwise, ddof)

    def _with_other(self, how: str, other: Any, pairwise: Any, ddof: int) -> Any:
        if self._step is not None:
            raise NotImplementedError(f"step not implemented for {how}")  # as in pandas
        frame = self._frame if self._selection is None else self._frame[self._selection]
        is_same = is_node(other) and other.expr.name == frame.expr.name
        if other is None or is_same:
            return self._with_itself(
                frame, how, _is_frame(frame) and bool(pairwise is None and not is_same or pairwise), ddof
            )
        if self._options.get("on") is None and isinstance(other, pd.DataFrame if _is_frame(frame) else pd.Series):
            frame, other = both_lazy(frame, other)
        if not is_node(other) or isinstance(other.expr.meta, pd.Index) or not other.expr.has_rows:
            raise refused(f"rolling.{how}", "other", other, "it takes a lazy frame or series of the same rows")
        makes_rows = bool(pairwise) and _is_frame(frame) and _is_frame(other)
        times, selection = self._options.get("on"), None
        if times is not None:  # the column of times stays beside what is chosen
            frame, selection = self._frame, self._selection
        pair, first, second = _pair_of(frame, other, f"rolling.{how}")
        given = {"pairwise": pairwise, "ddof": ddof}
        call = partial(_rolled_pair, self._window, self._options, selection, how, given, first, second)
        on = None if times is None else list(first).index(times)
        made = self._overlapping(pair, call, how, makes_rows=makes_rows, on=on)
        if _is_frame(frame) == _is_frame(other) or frame.expr.rows == other.expr.rows:
            return made
        return rows_of(made, frame if _is_frame(frame) else other)  # pandas has the rows of the frame alone

    def _with_itself(self, frame: Any, how: str, pairwise: bool, ddof: int) -> Any:
        has_times = self._options.get("on") is not None
        selection = self._selection if has_times else None  # the column of times stays beside what is chosen
        given = {"pairwise": pairwise, "ddof": ddof}
        call = partial(_rolled, self._window, self._options, self._leaves_out_times, selection, how, (), given)
        return self._overlapping((self._frame if has_times else frame).expr, call, how, makes_rows=pairwise)

    def _overlapping(
        self, node: FrameExpr, call: Callable[[Any], Any], how: str, *, makes_rows: bool, on: Any = None
    ) -> Any:
        """Return what a function makes of partitions with the rows that their windows reach; several rows of each, if it makes such.

        Parameters
        ----------
        on
            The column of times, if it isn't called as the frame's.
        """
        before, after = self._reach
        make = overlapping_rows if makes_rows else overlapping
        return wrap(
            make(node, call, before, after, label=f"rolling-{how}", on=self._options.get("on") if on is None else on)
        )

    @cached_property
    def _leaves_out_times(self) -> bool:
        """Whether results lack the column of times as it is the index in all rows. Computed now, if it may be."""
        name, meta = self._options.get("on"), self._frame.expr.meta
        is_series = self._selection is not None and not isinstance(self._selection, list)
        if name is None or is_series or getattr(meta.index.dtype, "kind", "O") != meta[name].dtype.kind:
            return False
        if name in meta.index.names:
            return False  # pandas leaves a column out, too, that is called as the index
        return bool(
            wrap(tree(self._frame.expr, Operation(partial(_are_labels, name), all, all), True, "times")).compute()
        )

    @property
    def _reach(self) -> tuple[Any, Any]:
        """How many rows, or how long, windows reach beyond a partition, before it and after it."""
        if isinstance(self._window, pd.api.indexers.FixedForwardWindowIndexer):
            return 0, max(int(self._window.window_size) - 1, 0)  # type: ignore[attr-defined]
        reach = self._window if isinstance(self._window, (int, np.integer)) else length_of(self._window)
        return reach, reach if self._options.get("center") else 0


def _are_labels(name: Any, block: Any) -> bool:
    return bool(block.index.equals(pd.Index(block[name])))


def _rolled(
    window: Any, options: dict[str, Any], leaves_out_times: bool, selection: Any, how: str, args: Any,
    kwargs: dict[str, Any], block: Any,
) -> Any:  # fmt: skip
    on = options.get("on")
    labels = None if on is None or leaves_out_times or not _are_labels(on, block) else block.index
    if labels is not None:  # pandas leaves a column of times out that is the index, as that of one row may be
        block = block.set_axis(_other_labels(labels), axis=0)
    windows = block.rolling(window, **options)
    made = call_users_function(getattr(windows if selection is None else windows[selection], how), *args, **kwargs)
    if labels is None:
        return made
    if made.index.nlevels > 1:  # rows of pairs of columns, of each row
        each = len(made) // max(len(labels), 1)
        levels = [labels.repeat(each), *map(made.index.get_level_values, range(1, made.index.nlevels))]
        return made.set_axis(pd.MultiIndex.from_arrays(levels, names=[labels.name, *made.index.names[1:]]), axis=0)
    return made.set_axis(labels, axis=0)


def _other_labels(labels: Any) -> pd.RangeIndex:
    """Return as many labels of the same name that aren't those of an index."""
    start = 1 + int(labels.equals(pd.RangeIndex(1, len(labels) + 1)))
    return pd.RangeIndex(start, start + len(labels), name=labels.name)


def _is_frame(lazy: Any) -> bool:
    return isinstance(lazy.expr.meta, pd.DataFrame)


def _pair_of(one: Any, other: Any, what: str) -> tuple[FrameExpr, Any, Any]:
    """Return the node of the columns of two objects side by side, numbered; and of each its names."""
    pairs = paired([one.expr, other.expr], what)
    nodes = pairs.nodes
    metas = [node.meta for node in nodes]
    first, second = (meta.columns if isinstance(meta, pd.DataFrame) else meta.name for meta in metas)
    pair = Rowwise(nodes[0], (nodes[1],), BlockCall(_paired, (Block(0), Block(1)), label="pair"))
    return pairs.result(pair), first, second


def _paired(one: Any, other: Any) -> Any:
    if not one.index.equals(other.index):
        are_series = one.ndim == other.ndim == 1
        # The order of pandas, in which values of repeated labels may have other partners than in `align`.
        one, other = (one + 0 * other, other + 0 * one) if are_series else one.align(other, join="outer", axis=0)
    made = pd.concat([one, other], axis=1)
    return made.set_axis(range(made.shape[1]), axis=1)


def _named_part(columns: Any, names: Any) -> Any:
    """Return numbered columns under their names; one alone as a series, unless its name is in an index of such."""
    return columns.set_axis(names, axis=1) if isinstance(names, pd.Index) else columns.iloc[:, 0].rename(names)


def _rolled_pair(
    window: Any,
    options: dict[str, Any],
    selection: Any,
    how: str,
    given: dict[str, Any],
    first: Any,
    second: Any,
    pair: Any,
) -> Any:
    count = len(first) if isinstance(first, pd.Index) else 1
    one, other = _named_part(pair.iloc[:, :count], first), _named_part(pair.iloc[:, count:], second)
    windows = one.rolling(window, **options)
    made = getattr(windows if selection is None else windows[selection], how)(other, **given)
    if len(pair) or not given["pairwise"] or not isinstance(first, pd.Index) or not isinstance(second, pd.Index):
        return made
    return made.reindex(columns=first)  # without rows, pandas takes the other's columns


_OF_STATES = ("count", "sum", "mean", "min", "max", "var", "std", "sem")


@with_functions_by_name("Expanding")
@methods_named("Expanding")
class Expanding(Window):
    """Windows of all rows up to each one, those of earlier partitions among them. Made by `DataFrame.expanding`."""

    def __init__(self, frame: Any, min_periods: int, selection: Any = None) -> None:
        super().__init__(frame, selection)
        self._min_periods = min_periods

    def __repr__(self) -> str:
        return f"Expanding(min_periods={self._min_periods})"

    def _selected(self, columns: Any) -> Expanding:
        return Expanding(self._frame[columns], self._min_periods)

    def _aggregated(self, how: str, args: tuple[Any, ...], kwargs: dict[str, Any], *, columnwise: bool = True) -> Any:
        frame, options = self._frame, dict(kwargs)
        if isinstance(frame.expr.meta, pd.DataFrame) and options.pop("numeric_only", False):
            frame = frame.select_dtypes("number", exclude="timedelta")
        return wrap(_expanded(how, self._min_periods, options, frame.expr))

    def agg(self, func: Any = None, /, **kwargs: Any) -> Any:
        """Aggregate the rows up to each one by a name, a list of names, or a dict of those by column."""
        return aggregated_by_name(self, self._frame, func, _OF_STATES, "expanding()", kwargs)

    aggregate = agg


def _expanded(how: str, min_periods: int, kwargs: dict[str, Any], frame: FrameExpr) -> FrameExpr:
    whole = partial(_expanded_block, how, min_periods, kwargs)
    meta = meta_of(whole, frame)
    state = State(how, min_periods, kwargs)
    carries = () if frame.npartitions == 1 else (scan(frame, state_of, state_together, f"expanding-{how}"),)
    call = BlockCall(
        with_state, (state, *(Block(number) for number in range(1 + len(carries)))), label=f"expanding-{how}"
    )
    is_frame = isinstance(frame.meta, pd.DataFrame)
    return Carried(frame, carries, call, meta, partial(_expanded, how, min_periods, kwargs) if is_frame else None)


def _expanded_block(how: str, min_periods: int, kwargs: dict[str, Any], block: Any) -> Any:
    return getattr(block.expanding(min_periods), how)(**kwargs)


def _windows_of(min_periods: int, block: Any) -> Any:
    return block.expanding(min_periods)


class Windows(Frame):
    """Methods of frames and series that make windows over the rows."""

    def rolling(
        self,
        window: Any,
        min_periods: int | None = None,
        center: bool = False,
        win_type: str | None = None,
        on: Any = None,
        closed: str | None = None,
        step: int | None = None,
        method: str = "single",
    ) -> Rolling:
        """Return windows of rows, to be aggregated; they reach into the partitions beside.

        Parameters
        ----------
        window
            A number of rows; or a time such as ``"2h"``, if the index (or `on`) is sorted times; or a
            `pandas.api.indexers.FixedForwardWindowIndexer`, for windows from each row on.
        min_periods
            How many values a window needs for a result. Default: all of `window`, 1 for a time.
        center
            Whether a window's result belongs to the row in its middle, not to its last.
        win_type
            Weights, by name, as SciPy has them.
        on
            The column of times, instead of the index.
        closed
            Which ends of the window belong to it: ``"right"``, ``"left"``, ``"both"`` or ``"neither"``.
        step
            Of how many rows one gets a result. Default: each. Not of windows of time.
        method
            Only pandas' default.

        Examples
        --------
        >>> import pandas as pd
        >>> import glassloom.dataframe as gd
        >>> x = gd.from_pandas(pd.Series([1, 2, 3, 4]), npartitions=2)
        >>> x.rolling(2).sum().compute().tolist()
        [nan, 3.0, 5.0, 7.0]
        """
        if method != "single":
            raise refused("rolling", "method", method, "columns are computed one by one")
        wanted = {
            "min_periods": min_periods,
            "win_type": win_type,
            "on": on,
            "closed": closed,
            "center": center or None,
        }
        options = {name: value for name, value in wanted.items() if value is not None}
        if isinstance(on, pd.Index):
            raise refused("rolling", "on", on, "give the name of a column of times, made by assign() or reset_index()")
        if not isinstance(window, (int, np.integer, pd.api.indexers.FixedForwardWindowIndexer)):
            length_of(window)
        self._meta.rolling(window, step=step, **options)  # what pandas objects to is raised here
        if step == 0:
            raise OptionError("rolling: step=0 should be a number of rows, 1 or more")
        return Rolling(self, window, options, step=step)

    def expanding(self, min_periods: int | None = 1, method: str = "single") -> Expanding:
        """Return windows of all rows up to each one, to be aggregated.

        Parameters
        ----------
        min_periods
            How many values a window needs for a result; None: none, as 0.
        method
            Only pandas' default.
        """
        if method != "single":
            raise refused("expanding", "method", method, "columns are computed one by one")
        self._meta.expanding(min_periods)
        return Expanding(self, min_periods or 0)

    def ewm(
        self,
        com: float | None = None,
        span: float | None = None,
        halflife: Any = None,
        alpha: float | None = None,
        min_periods: int | None = 0,
        adjust: bool = True,
        ignore_na: bool = False,
        times: Any = None,
        method: str = "single",
    ) -> Exponential:
        """Return windows of all rows up to each one whose weights fall exponentially, to be aggregated.

        Parameters
        ----------
        com, span, halflife, alpha
            How fast weights fall; one of them: ``alpha = 1 / (1 + com) = 2 / (span + 1) = 1 - exp(-log(2) / halflife)``.
        min_periods
            How many values a window needs for a result.
        adjust
            Whether the weights of the first rows are divided by their sum; if not, each mean is made of the last one.
        ignore_na
            Whether rows without a value are passed over when weights fall.
        times, method
            Only pandas' defaults.

        Examples
        --------
        >>> import pandas as pd
        >>> import glassloom.dataframe as gd
        >>> x = gd.from_pandas(pd.Series([1.0, 2.0, 4.0]), npartitions=2)
        >>> x.ewm(alpha=0.5, adjust=False).mean().compute().tolist()
        [1.0, 1.5, 2.75]
        """
        if times is not None:
            raise refused("ewm", "times", times, "leave it out, or resample() to equal distances before")
        if method != "single":
            raise refused("ewm", "method", method, "columns are computed one by one")
        speeds = {"com": com, "span": span, "halflife": halflife, "alpha": alpha}
        given = {name: value for name, value in speeds.items() if value is not None}
        self._meta.ewm(**given, min_periods=min_periods, adjust=adjust, ignore_na=ignore_na)  # pandas' objections
        centre = centre_of_mass(**given)
        return Exponential(self, Decay("mean", centre, int(min_periods or 0), bool(adjust), bool(ignore_na)))


def _aggregation(how: str, what: str) -> Callable[..., Any]:
    signature = inspect.signature(getattr(pd.api.typing.Rolling, how))

    def method(self: Window, *args: Any, **kwargs: Any) -> Any:
        own = inspect.signature(getattr(pd.api.typing.Window, how)) if self._is_weighted(how) else signature
        return self._aggregated(how, (), named_arguments(own, how, self, args, kwargs))

    method.__name__ = method.__qualname__ = how
    method.__signature__ = signature  # type: ignore[attr-defined]
    method.__doc__ = f"Return {what} of the values in each window. Options are pandas'."
    return method


def named_arguments(
    signature: inspect.Signature, how: str, window: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> dict[str, Any]:
    """Return the arguments of a method of pandas' windows by name.

    Raises
    ------
    TypeError
        If it doesn't take them.
    """
    try:
        bound = signature.bind(window, *args, **kwargs)
    except TypeError as error:
        raise TypeError(f"{how}: {error}; it takes {', '.join(list(signature.parameters)[1:])}") from None
    found = dict(list(bound.arguments.items())[1:])
    others = next((name for name, one in signature.parameters.items() if one.kind is one.VAR_KEYWORD), None)
    further = found.pop(others, {}) if others is not None else {}
    return {**found, **further}


for _how, _what in (
    ("count", "the number"),
    ("sum", "the sum"),
    ("mean", "the mean"),
    ("min", "the smallest"),
    ("max", "the largest"),
    ("var", "the variance"),
    ("std", "the standard deviation"),
    ("sem", "the standard error of the mean"),
):
    setattr(Window, _how, _aggregation(_how, _what))
for _how, _what in (
    ("median", "the median"),
    ("skew", "the skewness"),
    ("kurt", "the excess kurtosis"),
    ("quantile", "a quantile"),
    ("rank", "the rank of the last"),
    ("first", "the first"),
    ("last", "the last"),
    ("nunique", "the number of distinct ones"),
):
    if hasattr(pd.api.typing.Rolling, _how):  # first, last and nunique are new
        setattr(Rolling, _how, _aggregation(_how, _what))


def _expanding_whole(how: str) -> Callable[..., Any]:
    signature = inspect.signature(getattr(pd.api.typing.Expanding, how))
    instead = f"Use rolling(...).{how}(), or sum, mean, var, std, min, max and count of expanding()"

    def method(self: Expanding, *args: Any, **kwargs: Any) -> Any:
        given = named_arguments(signature, how, self, args, kwargs)
        return of_one_partition(
            partial(_windows_of, self._min_periods), self._frame, how, given, "expanding()", instead
        )

    method.__name__ = method.__qualname__ = how
    method.__signature__ = signature  # type: ignore[attr-defined]
    method.__doc__ = (
        "Return what pandas makes of the rows up to each one, which are in one partition: it needs the values of all."
    )
    return method


for _how in (
    "median", "skew", "kurt", "quantile", "rank", "first", "last", "nunique", "apply", "corr", "cov"
):  # fmt: skip
    if hasattr(pd.api.typing.Expanding, _how):
        setattr(Expanding, _how, _expanding_whole(_how))

for _class in (Rolling, Expanding, Exponential):
    with_lazy_arguments_checked(_class.__name__)(_class)

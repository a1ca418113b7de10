"""Operations along the rows, over the borders of partitions: running sums, filling from neighbours, shifts, differences."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from glassloom.backends.pandas_ import concat
from glassloom.dataframe.across_columns import AcrossColumns
from glassloom.dataframe.argument_kinds import whole_number
from glassloom.dataframe.base import Frame
from glassloom.dataframe.call import Block, BlockCall, Method
from glassloom.dataframe.column_places import numeric_columns
from glassloom.dataframe.interpolating import METHODS, Line, interpolated
from glassloom.dataframe.label_nodes import MovedLabels, NewLabels, keeps_order
from glassloom.dataframe.nodes import FrameExpr
from glassloom.dataframe.options import FILL_METHOD, is_columns, refused
from glassloom.dataframe.overlap import map_overlap, overlapping, with_frequency_of
from glassloom.dataframe.prefix import Carried, Chain, meta_of, scan
from glassloom.dataframe.reduce import Operation, tree
from glassloom.dataframe.running_totals import NEUTRAL, UFUNCS, totals
from glassloom.dataframe.widening import is_narrowing
from glassloom.dataframe.wrap import operate, wrap
from glassloom.errors import OptionError


class Step:
    """How an operation continues from one partition to the next.

    ``last(block)`` is the row that the next partition needs (or several), ``whole(block)`` the operation. Both are called with the rows
    of a partition, and with such a row put in front. `is_rounded` says that results are rounded so much at every row that the order
    of the steps shows: then partitions follow one another.
    """

    def __init__(
        self,
        whole: Callable[[Any], Any],
        last: Callable[[Any], Any],
        title: str,
        *,
        is_reversed: bool = False,
        is_rounded: Callable[[Any], bool] | None = None,
    ) -> None:
        self.whole, self.last, self.title, self.is_reversed = whole, last, title, is_reversed
        self.is_rounded = is_rounded

    def __reduce__(self) -> tuple[Any, ...]:
        return (_step, (self.whole, self.last, self.title, self.is_reversed, self.is_rounded))

    def __glassloom_tokenize__(self) -> Any:
        return (self.whole, self.last, self.title, self.is_reversed, self.is_rounded)

    def node(self, frame: FrameExpr) -> FrameExpr:
        """Return the node of the operation on a frame or series."""
        carries = [] if frame.npartitions == 1 else [self._scan(frame)]
        places = [Block(number) for number in range(1 + len(carries))]
        call = BlockCall(self.continued, tuple(places), label=self.title)
        is_frame = isinstance(frame.meta, pd.DataFrame)
        return Carried(frame, tuple(carries), call, meta_of(self.whole, frame), self.node if is_frame else None)

    def _scan(self, frame: FrameExpr) -> FrameExpr:
        if self.is_rounded is not None and self.is_rounded(frame.meta):
            return Chain(frame, self.handed_on, self.title)
        return scan(frame, self.last, self.joined, self.title, is_reversed=self.is_reversed)

    def handed_on(self, block: Any, carry: Any) -> Any:
        """Return the row that is carried on from a partition, after the row carried to it."""
        if carry is None or not len(carry):
            return self.last(block)
        return self.last(concat([carry, _with_dtypes(block, carry)])) if len(block) else carry

    def joined(self, rows: list[Any]) -> Any:
        """Return the row that is carried on from several."""
        return self.last(concat(rows))

    def continued(self, block: Any, carry: Any = None) -> Any:
        """Return the operation on a partition, after the row carried to it."""
        if carry is None or not len(carry) or not len(block):
            return self.whole(block)
        block = _with_dtypes(block, carry)
        if self.is_reversed:
            return with_frequency_of(block, self.whole(concat([block, carry])).iloc[: -len(carry)])
        return with_frequency_of(block, self.whole(concat([carry, block])).iloc[len(carry) :])


def _step(whole: Any, last: Any, title: str, is_reversed: bool, is_rounded: Any) -> Step:
    return Step(whole, last, title, is_reversed=is_reversed, is_rounded=is_rounded)


def _with_dtypes(block: Any, carry: Any) -> Any:
    """Return a block with the dtypes of a carried row where those differ: sums of booleans are whole numbers.

    A block may be of floats after one of whole numbers, as without missing values a join keeps them: floats stay then.
    """
    if isinstance(block, pd.Series):
        return block.astype(carry.dtype) if _takes(block.dtype, carry.dtype) else block
    changed = [
        number for number, (own, other) in enumerate(zip(block.dtypes, carry.dtypes, strict=True)) if _takes(own, other)
    ]
    if not changed:
        return block
    block = block.copy(deep=False)
    for number in changed:
        block.isetitem(number, block.iloc[:, number].astype(carry.dtypes.iloc[number]))
    return block


def _takes(own: Any, carried: Any) -> bool:
    return own != carried and not isinstance(own, pd.CategoricalDtype) and not is_narrowing(own, carried)


class RunningStep(Step):
    """A running sum, product, smallest or largest value."""

    def __init__(self, how: str, skipna: bool) -> None:
        self.how, self.skipna = how, skipna
        is_rounded = has_half_floats if how in ("cumsum", "cumprod") else None
        super().__init__(
            partial(_running, how, skipna), partial(_running_last, how, skipna), how, is_rounded=is_rounded
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return (RunningStep, (self.how, self.skipna))

    def continued(self, block: Any, carry: Any = None) -> Any:
        """Return the running values of a partition, after those of the partitions before."""
        if carry is not None and len(carry) == 1 and len(block):
            made = _of_plain_numbers(self.how, block, carry)
            if made is not None:
                return made
        return super().continued(block, carry)


def _plain_numbers(block: Any) -> Any:
    """Return the numbers of a series as NumPy's; None of others than usual ones."""
    if not isinstance(block, pd.Series) or block.dtype not in (np.float64, np.int64):
        return None
    return block.to_numpy()


def _of_plain_numbers(how: str, block: Any, carry: pd.Series) -> Any:
    """Return the running values of numbers of which none is missing, in a quarter of pandas' time; None for others."""
    values = _plain_numbers(block)
    before = None if values is None or carry.dtype != block.dtype else carry.to_numpy()[0]
    if before is None or not np.isfinite(before):
        return None
    with np.errstate(all="ignore"):
        made = UFUNCS[how].accumulate(np.concatenate([[before], values]))[1:]
    if not np.isfinite(made[-1]):  # one missing or infinite number makes all after it so
        return None
    return pd.Series(made, index=block.index, name=block.name, copy=False)


def _running(how: str, skipna: bool, block: Any) -> Any:
    return getattr(block, how)(skipna=skipna)


def _running_last(how: str, skipna: bool, block: Any) -> Any:
    values = _plain_numbers(block)
    if values is not None and len(values):
        with np.errstate(all="ignore"):
            whole = UFUNCS[how].reduce(values)
        if np.isfinite(whole) and (how != "cumprod" or whole != 0):  # so none is missing
            return pd.Series([whole], index=block.index[-1:], name=block.name, dtype=block.dtype)
    result = getattr(block, how)(skipna=skipna)
    is_known = not skipna or _is_filled(result.iloc[-1:])
    last = (result if is_known else _forward(result)).iloc[-1:].copy()
    return _with_totals(how, skipna, block, last) if how in NEUTRAL and len(last) else last


def _with_totals(how: str, skipna: bool, block: Any, last: Any) -> Any:
    """Return the row that is carried on, or several that behave as all rows do where a sum or product is 0, infinite or NaN."""
    is_series = isinstance(block, pd.Series)
    columns = [block] if is_series else [block.iloc[:, place] for place in range(block.shape[1])]
    found = [_totals_of(how, skipna, column) for column in columns]
    count = max([len(one) for one in found if one is not None], default=1)
    if count == 1:
        return last
    own = [last] if is_series else [last.iloc[:, place] for place in range(last.shape[1])]
    labels = last.index.repeat(count)
    made = []
    for column, numbers in zip(own, found, strict=True):
        rows = column.tolist() if numbers is None else numbers.tolist()
        rows = [_neutral(how, column.dtype)] * (count - len(rows)) + rows
        made.append(pd.Series(rows, index=labels, dtype=column.dtype, name=column.name))
    if is_series:
        return made[0]
    whole = pd.concat(made, axis=1)
    whole.columns = last.columns
    return whole


def _totals_of(how: str, skipna: bool, column: Any) -> Any:
    """Return what is carried on of floats; None of others, and where the last row says it."""
    if not isinstance(column.dtype, np.dtype) or column.dtype not in (np.float64, np.float32):
        return None
    values = column.to_numpy()
    known = values[~np.isnan(values)]
    if not len(known) or (not skipna and len(known) < len(values)):
        return None
    return totals(how, known)


def _neutral(how: str, dtype: Any) -> Any:
    if getattr(dtype, "kind", "O") == "m":
        return pd.Timedelta(0)
    return NEUTRAL[how] if pd.api.types.is_numeric_dtype(dtype) else None


def _is_filled(row: Any) -> bool:
    """Whether a row has all its values, so that it is known without filling those before it. Of objects pandas 2 finds a dtype as it fills."""
    dtypes = [row.dtype] if isinstance(row, pd.Series) else row.dtypes
    return object not in list(dtypes) and bool(np.all(row.notna().to_numpy()))


def _forward(result: Any) -> Any:
    """Return values with missing ones replaced by those before: pandas has no such method for floats of two bytes and complex numbers."""
    if isinstance(result, pd.Series):
        return _filled_by_place(result) if _has_no_fill(result.dtype) else result.ffill()
    places = [place for place, dtype in enumerate(result.dtypes) if _has_no_fill(dtype)]
    if not places:
        return result.ffill()
    columns = [
        _filled_by_place(column) if _has_no_fill(column.dtype) else column.ffill() for _, column in result.items()
    ]
    made = pd.concat(columns, axis=1)
    made.columns = result.columns
    return made


def _has_no_fill(dtype: Any) -> bool:
    return dtype == "float16" or getattr(dtype, "kind", "O") == "c"


def _filled_by_place(column: pd.Series) -> pd.Series:
    places = np.maximum.accumulate(np.where(column.notna(), np.arange(len(column)), -1))
    return column.where(places < 0, column.iloc[places].set_axis(column.index, axis=0))


def has_half_floats(values: Any) -> bool:
    """Whether a frame or series has floats of two bytes."""
    dtypes = [values.dtype] if isinstance(values, pd.Series) else values.dtypes
    return any(dtype == "float16" for dtype in dtypes)


def _filled(how: str, block: Any) -> Any:
    return getattr(block, how)()


def _filled_last(how: str, block: Any) -> Any:
    place = slice(-1, None) if how == "ffill" else slice(1)
    edge = block.iloc[place]
    return (edge if _is_filled(edge) else getattr(block, how)().iloc[place]).copy()


def _called(method: str, kwargs: dict[str, Any], block: Any) -> Any:
    return getattr(block, method)(**kwargs)


class Along(Frame):
    """Methods of frames and series that go along the rows, across partitions."""

    def _fill(self, how: str, axis: Any, limit: Any, options: dict[str, Any]) -> Any:
        if limit is not None and (not isinstance(limit, int) or limit < 1):
            raise OptionError(f"{how}: limit={limit!r} should be a whole number, 1 or more")
        if options["limit_area"] is not None:
            return self._fill_area(how, axis, limit, options["limit_area"])
        kwargs: dict[str, Any] = {} if limit is None else {"limit": limit}
        if axis is not None and is_columns(axis, how):
            return operate(AcrossColumns(how), self, kwargs={"axis": 1, **kwargs})
        if limit is None:
            is_reversed = how == "bfill"
            step = Step(partial(_filled, how), partial(_filled_last, how), how, is_reversed=is_reversed)
            return wrap(step.node(self._expr))
        reach = (limit, 0) if how == "ffill" else (0, limit)
        return self._overlapping(how, kwargs, *reach)

    def _fill_area(self, how: str, axis: Any, limit: Any, area: str) -> Any:
        """Return values filled where there are some on both sides (``"inside"``), or on one alone (``"outside"``)."""
        if area not in ("inside", "outside"):
            raise ValueError(f"{how}: Invalid limit_area: expecting one of ['inside', 'outside'], got {area!r}.")
        if axis is not None and is_columns(axis, how):
            return operate(AcrossColumns(how), self, kwargs={"axis": 1, "limit": limit, "limit_area": area})
        filled = self._fill(how, None, limit, {"limit_area": None})
        has_other_side = self._fill("bfill" if how == "ffill" else "ffill", None, None, {"limit_area": None}).notna()
        return self.mask(self.isna() & (has_other_side if area == "inside" else ~has_other_side), filled)

    def _overlapping(
        self, method: str, kwargs: dict[str, Any], before: int, after: int, columnwise: bool = True
    ) -> Any:
        call = partial(_called, method, kwargs)
        return wrap(overlapping(self._expr, call, before, after, label=method, columnwise=columnwise))

    def ffill(
        self, *, axis: Any = None, inplace: bool = False, limit: int | None = None, limit_area: Any = None
    ) -> Any:
        """Return the values with missing ones replaced by the last one before them, also of earlier partitions."""
        return self._fill("ffill", axis, limit, {"limit_area": limit_area})

    def bfill(
        self, *, axis: Any = None, inplace: bool = False, limit: int | None = None, limit_area: Any = None
    ) -> Any:
        """Return the values with missing ones replaced by the next one after them, also of later partitions."""
        return self._fill("bfill", axis, limit, {"limit_area": limit_area})

    def interpolate(
        self,
        method: str = "linear",
        *,
        axis: Any = 0,
        limit: int | None = None,
        inplace: bool = False,
        limit_direction: str | None = None,
        limit_area: str | None = None,
        **kwargs: Any,
    ) -> Any:
        """Return the values with missing ones on the line between those before and after, also of other partitions.

        Parameters
        ----------
        method
            ``"linear"``: rows are at equal distances; ``"index"``, ``"values"`` or ``"time"``: at those of their labels, which
            must be numbers or times in ascending order.
        axis
            0 or ``"index"``: along the rows. 1 or ``"columns"``: along the columns of each row.
        limit
            How many missing values in a row are filled at most.
        limit_direction
            ``"forward"`` (default): from the value before; ``"backward"``: from the one after; ``"both"``.
        limit_area
            ``"inside"``: only between values; ``"outside"``: only before the first and after the last.
        kwargs
            Options of SciPy's methods, such as ``order``: none of these methods is there.

        Examples
        --------
        >>> import pandas as pd
        >>> import glassloom.dataframe as gd
        >>> x = gd.from_pandas(pd.Series([1.0, None, None, 4.0]), npartitions=2)
        >>> x.interpolate().compute().tolist()
        [1.0, 2.0, 3.0, 4.0]
        """
        if method not in METHODS:
            raise refused(
                "interpolate", "method", method, f"give one of {', '.join(map(repr, METHODS))}, or ffill(), bfill()"
            )
        if kwargs:
            raise TypeError(
                f"interpolate(method={method!r}) takes no {', '.join(kwargs)}: it is an option of SciPy's methods"
            )
        direction = limit_direction or "forward"
        if direction not in ("forward", "backward", "both"):
            raise OptionError(f"interpolate: limit_direction={direction!r} should be 'forward', 'backward' or 'both'")
        if limit_area not in (None, "inside", "outside"):
            raise OptionError(f"interpolate: limit_area={limit_area!r} should be None, 'inside' or 'outside'")
        if limit is not None and (not isinstance(limit, int) or limit < 1):
            raise OptionError(f"interpolate: limit={limit!r} should be a whole number, 1 or more")
        if is_columns(axis, "interpolate"):
            kwargs = {"limit": limit, "limit_direction": direction, "limit_area": limit_area}
            return operate(Method("interpolate"), self, kwargs={"method": method, "axis": 1, **kwargs})
        for name, dtype in _named_dtypes(self._meta):
            if self.npartitions > 1 and dtype.kind in "mMc":
                raise NotImplementedError(
                    f"interpolate of column {name!r} with dtype {dtype} isn't supported; ffill() it, or interpolate numbers"
                )
        return wrap(interpolated(self._expr, Line(method, limit, direction, limit_area)))

    def shift(
        self, periods: Any = 1, freq: Any = None, axis: Any = 0, fill_value: Any = None, suffix: str | None = None
    ) -> Any:
        """Return the values moved by some rows, also into the partitions beside; with `freq` the labels are moved.

        Parameters
        ----------
        periods
            Rows to move down; negative: up. A list makes a column for each.
        freq
            An offset such as ``"1D"``: then labels move, not values. (Not ``"infer"``.)
        axis
            0 or ``"index"``. 1 or ``"columns"`` moves values to other columns.
        fill_value
            What to put where nothing was. Default: missing.
        suffix
            For a list of periods: put between column and period.
        """
        options = {"fill_value": fill_value, "suffix": suffix}
        kwargs = {"periods": periods, **{name: value for name, value in options.items() if value is not None}}
        if freq is not None:
            if isinstance(freq, str) and freq == "infer":
                raise refused("shift", "freq", freq, "name the frequency, as in freq='1D'")
            if pd.api.types.is_list_like(periods) and self.npartitions > 1:
                instead = "with freq= shift by one number after the other, and join() the results: their labels differ"
                raise refused("shift", "periods", periods, instead)
            is_one = not pd.api.types.is_list_like(periods)
            kind = MovedLabels if is_one and keeps_order(self._meta.index, freq) else NewLabels
            return operate(Method("shift"), self, kind=kind, kwargs={**kwargs, "freq": freq}, label="shift")
        if is_columns(axis, "shift"):
            return operate(AcrossColumns("shift"), self, kwargs={**kwargs, "axis": 1})
        is_list = isinstance(periods, (list, tuple, range))
        every = [_number_of_rows("shift", one) for one in (periods if is_list else [periods])]
        before, after = max([0, *every]), max([0, *(-one for one in every)])
        return self._overlapping("shift", kwargs, before, after, columnwise=not is_list)

    def diff(self, periods: int = 1, axis: Any = 0) -> Any:
        """Return each value less the one `periods` rows before, also over borders of partitions."""
        if is_columns(axis, "diff"):
            if isinstance(self._meta, pd.Series):
                raise ValueError(f"diff: No axis named {axis!r} for a series; axis=0 are its rows")
            return operate(AcrossColumns("diff"), self, periods, 1)
        periods = _number_of_rows("diff", periods)
        return self._overlapping("diff", {"periods": periods}, max(periods, 0), max(-periods, 0))

    def pct_change(self, periods: int = 1, fill_method: Any = FILL_METHOD, freq: Any = None, *, axis: Any = 0) -> Any:
        """Return the relative change from the value `periods` rows, or with ``axis=1`` columns, before. Missing values aren't filled before, but by pandas 2."""
        if fill_method not in (None, FILL_METHOD):
            raise refused("pct_change", "fill_method", fill_method, "call ffill() before")
        if freq is not None:
            raise refused("pct_change", "freq", freq, "divide by shift(freq=...)")
        periods = _number_of_rows("pct_change", periods)
        kwargs = {"periods": periods, "fill_method": None}
        if isinstance(self._meta, pd.DataFrame) and is_columns(axis, "pct_change"):
            return operate(AcrossColumns("pct_change"), self, kwargs={**kwargs, "fill_method": fill_method, "axis": 1})
        filled = self if fill_method is None else self.ffill()
        return _with_booleans_as_objects(filled)._overlapping("pct_change", kwargs, max(periods, 0), max(-periods, 0))

    def map_overlap(
        self,
        func: Callable[..., Any],
        before: Any,
        after: Any,
        /,
        *args: Any,
        meta: Any = None,
        enforce_metadata: bool = True,
        transform_divisions: bool = True,
        align_dataframes: bool | None = None,
        clear_divisions: bool = False,
        **kwargs: Any,
    ) -> Any:
        """Call a function with each partition and rows of the partitions beside.

        Parameters
        ----------
        func
            Gets a pandas object, which it may change, and `args` and `kwargs`. Returns as many rows as it gets; those made
            of rows of other partitions are left out.
        args, kwargs
            Further arguments. The function gets partitions of frames among them with rows beside, too. Those of one
            partition are given whole.
        before, after
            How many rows before and after; or a time such as ``"2h"``: rows within it, if the index is sorted times.
        meta
            What the function returns, as in `map_partitions`. Default: it is tried, as there.
        enforce_metadata, transform_divisions, align_dataframes, clear_divisions
            As in `map_partitions`.

        Examples
        --------
        >>> import pandas as pd
        >>> import glassloom.dataframe as gd
        >>> x = gd.from_pandas(pd.Series([1, 2, 4, 8]), npartitions=2)
        >>> x.map_overlap(lambda block: block - block.shift(fill_value=0), 1, 0).compute().tolist()
        [1, 1, 2, 4]
        """
        return map_overlap(
            self, func, before, after, args, kwargs, meta=meta, enforce_metadata=enforce_metadata, align_dataframes=align_dataframes
        )  # fmt: skip

    def first_valid_index(self) -> Any:
        """Return the label of the first row with a value, as a lazy scalar; None if there is none."""
        return wrap(_valid_label(self._expr, "first_valid_index"))

    def last_valid_index(self) -> Any:
        """Return the label of the last row with a value, as a lazy scalar; None if there is none."""
        return wrap(_valid_label(self._expr, "last_valid_index"))


def _named_dtypes(meta: Any) -> list[tuple[Any, Any]]:
    return [(meta.name, meta.dtype)] if isinstance(meta, pd.Series) else list(meta.dtypes.items())


def _valid_label(node: FrameExpr, how: str) -> FrameExpr:
    meta = meta_of(lambda block: getattr(block, how)(), node)
    pick = partial(_first_of if how.startswith("first") else _last_of)
    return tree(
        node, Operation(partial(_label_or_none, how), pick, partial(_unboxed, pick)), meta, how.replace("_", "-")
    )


def _label_or_none(how: str, block: Any) -> Any:
    label = getattr(block, how)()
    return None if label is None else (label,)


def _first_of(labels: list[Any]) -> Any:
    return next((label for label in labels if label is not None), None)


def _last_of(labels: list[Any]) -> Any:
    return _first_of(labels[::-1])


def _unboxed(pick: Callable[[list[Any]], Any], labels: list[Any]) -> Any:
    found = pick(labels)
    return None if found is None else found[0]


def _cumulative(how: str, what: str) -> Callable[..., Any]:
    def method(self: Any, axis: Any = 0, skipna: bool = True, numeric_only: bool = False) -> Any:
        frame = wrap(numeric_columns(self._expr)) if numeric_only else self
        if axis is not None and is_columns(axis, how):
            return operate(AcrossColumns(how), frame, kwargs={"axis": 1, "skipna": skipna})
        return wrap(RunningStep(how, skipna).node(frame.expr))

    method.__name__ = method.__qualname__ = how
    method.__doc__ = f"""Return {what} of all values up to each row, those of earlier partitions among them.

        Parameters
        ----------
        axis
            0 or ``"index"``: along the rows. 1 or ``"columns"``: along the columns of each row.
        skipna
            Whether missing values are passed over; if not, all after one are missing.
        numeric_only
            Whether to leave out columns of a frame that are neither numbers nor booleans.
        """
    return method


for _how, _what in (
    ("cumsum", "the sum"),
    ("cumprod", "the product"),
    ("cummin", "the smallest"),
    ("cummax", "the largest"),
):
    setattr(Along, _how, _cumulative(_how, _what))


def _with_booleans_as_objects(frame: Any) -> Any:
    """Return values that pandas divides also where no row is missing: booleans that are shifted become objects where one is."""
    meta = frame._meta
    if isinstance(meta, pd.Series):
        return frame.astype(object) if meta.dtype == np.dtype(bool) else frame
    names = [name for name, dtype in meta.dtypes.items() if dtype == np.dtype(bool)]
    return frame.astype(dict.fromkeys(names, object)) if names and meta.columns.is_unique else frame


def _number_of_rows(method: str, periods: Any) -> int:
    """Return a number of rows, which may be a float as in pandas."""
    is_whole = isinstance(periods, (float, np.floating)) and periods.is_integer()
    return whole_number(method, "periods", int(periods) if is_whole else periods)

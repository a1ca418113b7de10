"""`Values`: the methods that frames and series share to fill, convert, test and reduce values, column by column."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from glassloom.dataframe import times_as_text
from glassloom.dataframe.across_columns import AcrossColumns
from glassloom.dataframe.all_values import flattened
from glassloom.dataframe.call import Attribute, Method
from glassloom.dataframe.column_nodes import ByLabel, renamed_columns
from glassloom.dataframe.column_places import numeric_columns
from glassloom.dataframe.columns import require_columns
from glassloom.dataframe.cumulative import Along
from glassloom.dataframe.inferring import Inferring
from glassloom.dataframe.nodes import Columnwise, FrameExpr, Projection, Rowwise
from glassloom.dataframe.operators import FlexibleOperators
from glassloom.dataframe.options import is_columns, refused, require_native_bytes
from glassloom.dataframe.own_columns import copied
from glassloom.dataframe.positions import At, IAt, ILoc
from glassloom.dataframe.reduce import Length, reduce_columns
from glassloom.dataframe.rowwise import RowByRow
from glassloom.dataframe.setting import with_index
from glassloom.dataframe.unlike_dtypes import places_shown, with_numbers_of_categories, with_one_dtype
from glassloom.dataframe.window import Windows
from glassloom.dataframe.wrap import operate, wrap


class Values(RowByRow, Inferring, Along, Windows, FlexibleOperators):
    """A frame or series."""

    @property
    def index(self) -> Any:
        """The labels of the rows."""
        labels = operate(Attribute("index"), self)
        labels._labelled = self
        return labels

    @index.setter
    def index(self, labels: Any) -> None:
        self._expr = with_index(self, labels)

    def set_axis(self, labels: Any, *, axis: Any = 0, copy: Any = None) -> Any:
        """Return the same rows with other labels, at hand or a lazy index of them; with ``axis=1`` the frame with other names of the columns."""
        if axis in (0, "index", "rows"):
            return wrap(with_index(self, labels))
        if not isinstance(self._meta, pd.DataFrame) or not is_columns(axis, "set_axis"):
            raise ValueError(f"No axis named {axis} for object type {type(self._meta).__name__}")
        names = labels if isinstance(labels, pd.Index) else list(labels)
        if len(names) == len(self._meta.columns) and all(isinstance(name, (str, int)) for name in names):
            return wrap(renamed_columns(self._expr, names, label="set-axis"))
        return operate(Method("set_axis"), self, names, kwargs={"axis": 1}, label="set-axis")

    @property
    def iloc(self) -> ILoc:
        """Rows by position, and columns: ``iloc[10:20]``, ``iloc[-1]``, ``iloc[[3, 1], 0:2]``."""
        return ILoc(self)

    def take(self, indices: Any, axis: Any = 0) -> Any:
        """Return the rows at some positions, in the order of the list; with ``axis=1`` the columns. See `iloc`."""
        places = [int(one) for one in indices]
        return self.iloc[:, places] if is_columns(axis, "take") else self.iloc[places]

    @property
    def at(self) -> At:
        """One value by label, as a lazy scalar: ``frame.at[label, column]``, ``series.at[label]``."""
        return At(self)

    @property
    def iat(self) -> IAt:
        """One value by position, as a lazy scalar: ``frame.iat[row, column]``, ``series.iat[row]``."""
        return IAt(self)

    @property
    def size(self) -> Any:
        """The number of values, lazily."""
        rows = wrap(Length(self._expr))
        return rows * len(self._meta.columns) if isinstance(self._meta, pd.DataFrame) else rows

    @property
    def ndim(self) -> int:
        """1 for a series, 2 for a frame."""
        return int(self._meta.ndim)

    @property
    def empty(self) -> bool:
        """Whether there are no rows (or no columns). Computes the number of rows if it isn't known."""
        return len(self) == 0 or (self.ndim == 2 and not len(self._meta.columns))

    def copy(self, deep: bool = True) -> Any:
        """Return a frame of its own: columns added to it don't appear in this one, whatever `deep` says."""
        return wrap(copied(self._expr) if deep else self._expr)

    def astype(self, dtype: Any, *, errors: str = "raise") -> Any:
        """Return the values converted: to one dtype, or with a dict or pandas series column by column."""
        if errors != "raise":
            raise refused("astype", "errors", errors, "the dtype would depend on the values of each partition")
        if isinstance(dtype, pd.Series) and dtype.index.is_unique:
            dtype = dict(dtype.items())
        require_native_bytes("astype", dtype)
        if isinstance(dtype, dict) and isinstance(self._meta, pd.Series):
            dtype = _of_its_name(dtype, self._meta.name)
        elif isinstance(dtype, dict):
            require_columns(dtype, self._meta)
        frame = with_numbers_of_categories(with_one_dtype(self, places_shown(self._meta, dtype)), dtype)
        places = times_as_text.places_of_times(self._meta, dtype)
        if places and self.npartitions > 1:
            return times_as_text.astype(frame, dtype, places)
        return operate(Method("astype"), frame, dtype, kind=ByLabel if isinstance(dtype, dict) else Columnwise)

    def isna(self) -> Any:
        """Return where values are missing."""
        return operate(Method("isna"), self, kind=Columnwise)

    isnull = isna

    def notna(self) -> Any:
        """Return where values are not missing."""
        return operate(Method("notna"), self, kind=Columnwise)

    notnull = notna

    def round(self, decimals: Any = 0) -> Any:
        """Return the values rounded to some decimals."""
        kind = ByLabel if isinstance(decimals, dict) else Rowwise if isinstance(decimals, pd.Series) else Columnwise
        return operate(Method("round"), self, decimals, kind=kind)

    def abs(self) -> Any:
        """Return the absolute values."""
        return operate(Method("abs"), self, kind=Columnwise)

    def _reduce(self, how: str, axis: Any, options: dict[str, Any], numeric_only: bool, split_every: int | None) -> Any:
        node: FrameExpr = self._expr
        is_frame = isinstance(self._meta, pd.DataFrame)
        if axis not in (*_ROWS, None) and not (is_frame and axis in (1, "columns")):
            raise ValueError(f"axis={axis!r} should be 0 or 'index'" + (", 1 or 'columns'" if is_frame else ""))
        if numeric_only and is_frame:
            node = numeric_columns(node)
        elif numeric_only and self._meta.dtype == object:  # of times, text and categories pandas doesn't look at it
            raise TypeError(
                f"Series.{how} does not allow numeric_only=True with non-numeric dtypes, as {self._meta.dtype} is"
            )
        if axis in (1, "columns"):
            return operate(AcrossColumns(how), wrap(node), kwargs={"axis": 1, **options})
        if axis is None and is_frame and how not in _BY_COLUMN:
            return wrap(reduce_columns(flattened(node, how), how, options, split_every))
        return wrap(reduce_columns(node, how, options, split_every))


def _of_its_name(dtypes: dict[Any, Any], name: Any) -> Any:
    """Return the dtype that a dict from names to dtypes has for a series."""
    if list(dtypes) != [name]:
        raise KeyError(
            f"astype({dtypes!r}): Only the Series name, {name!r}, can be used for the key in Series dtype mappings"
        )
    return dtypes[name]


_ROWS = (0, "index", "rows")
_BY_COLUMN = ("count", "nunique", "idxmin", "idxmax")
"""Reductions that have no ``axis=None``."""


def _reduction(how: str, what: str, *, skipna: bool = True, ddof: bool = False) -> Callable[..., Any]:
    """Return a method that reduces the rows, with pandas' parameters."""

    def method(
        self: Values,
        axis: Any = 0,
        *,
        skipna: bool = True,
        numeric_only: bool = False,
        ddof: int = 1,
        min_count: int = 0,
        split_every: int | None = None,
    ) -> Any:
        options: dict[str, Any] = {"skipna": skipna}
        if min_count and how not in ("sum", "prod"):
            raise TypeError(f"{how} takes no min_count")
        if min_count:
            options["min_count"] = min_count
        if with_ddof:
            options["ddof"] = ddof
        elif ddof != 1:
            raise TypeError(f"{how} takes no ddof")
        return self._reduce(how, axis, options, numeric_only, split_every)

    with_ddof = ddof
    method.__name__ = method.__qualname__ = how
    method.__doc__ = f"""Return {what} of the values: of a frame for each column, of a series as a scalar.

        Parameters
        ----------
        axis
            0 or ``"index"``: over the rows. 1 or ``"columns"`` (frames only): over the columns of each row. None: over all
            values, as a scalar.
        skipna
            Whether missing values are left out; if not, one makes the result missing.
        numeric_only
            Whether to leave out columns that aren't numbers.
        ddof
            For `var`, `std` and `sem`: the divisor is the number of values less this.
        min_count
            For `sum` and `prod`: how many values there must be for a result.
        split_every
            How many partial results are joined at a time. Default 8.
        """
    return method


class Reductions(Values):
    """A frame or series with reductions."""

    def count(self, axis: Any = 0, numeric_only: bool = False, split_every: int | None = None) -> Any:
        """Return the number of values that aren't missing: of a frame for each column, of a series as a scalar."""
        if axis is None:
            raise ValueError("count: No axis named None for object type DataFrame; count().sum() counts all values")
        return self._reduce("count", axis, {}, numeric_only, split_every)


for _how, _what, _with_ddof in (
    ("sum", "the sum", False),
    ("prod", "the product", False),
    ("min", "the smallest", False),
    ("max", "the largest", False),
    ("mean", "the mean", False),
    ("var", "the variance", True),
    ("std", "the standard deviation", True),
    ("sem", "the standard error of the mean", True),
):
    setattr(Reductions, _how, _reduction(_how, _what, ddof=_with_ddof))


def _test(how: str, what: str) -> Callable[..., Any]:
    def method(
        self: Values,
        axis: Any = 0,
        *,
        bool_only: bool = False,
        skipna: bool = True,
        split_every: int | None = None,
    ) -> Any:
        if bool_only and isinstance(self._meta, pd.DataFrame):
            booleans = [
                name for name, dtype in self._meta.dtypes.items() if isinstance(dtype, np.dtype) and dtype.kind == "b"
            ]
            return wrap(Projection(self._expr, booleans))._reduce(how, axis, {"skipna": skipna}, False, split_every)
        return self._reduce(how, axis, {"skipna": skipna}, False, split_every)

    method.__name__ = method.__qualname__ = how
    method.__doc__ = f"Return whether {what}: of a frame for each column, of a series as a scalar."
    return method


setattr(Reductions, "any", _test("any", "any value is true"))  # noqa: B010 - mypy would see a signature of its own
setattr(Reductions, "all", _test("all", "all values are true"))  # noqa: B010
setattr(Reductions, "product", Reductions.prod)  # type: ignore[attr-defined]  # noqa: B010

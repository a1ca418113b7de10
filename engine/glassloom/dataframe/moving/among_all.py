"""Methods whose value for each row depends on all rows: ranks, and which rows repeat others; and places among all rows."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from pandas.core.dtypes.dtypes import BaseMaskedDtype

from glassloom.backends.pandas_ import concat, of_samples
from glassloom.backends.pandas_version import HAS_COPY_ON_WRITE
from glassloom.dataframe.base import Frame
from glassloom.dataframe.call import Method
from glassloom.dataframe.column_places import numeric_columns
from glassloom.dataframe.columns import some_columns
from glassloom.dataframe.delayed_values import delayed_value
from glassloom.dataframe.moving.argsort import argsorted
from glassloom.dataframe.moving.as_of import last_rows_before
from glassloom.dataframe.moving.duplicated import duplicated_rows
from glassloom.dataframe.moving.membership import prepared, require_same_comparison, rows_among
from glassloom.dataframe.moving.ranks import Ranking, comparable, is_unordered, ranked
from glassloom.dataframe.nodes import Columnwise, FrameExpr, Projection, Rowwise
from glassloom.dataframe.options import is_columns, refused
from glassloom.dataframe.reduce import Operation, tree
from glassloom.dataframe.wrap import is_node, operate, wrap
from glassloom.delayed_call import Delayed, delayed
from glassloom.errors import OptionError


class AmongAll(Frame):
    """What frames and series have in common."""

    def isin(self, values: Any) -> Any:
        """Return where values are among `values`: a list, a `Delayed` of one, or a list of `Delayed`; of series a lazy series or index too, of frames a dict from column to list.

        Examples
        --------
        >>> import pandas as pd
        >>> import glassloom.dataframe as gd
        >>> frame = gd.from_pandas(pd.DataFrame({"k": [1, 2, 3, 4], "x": [5, 0, 7, 0]}), npartitions=2)
        >>> frame.k.isin(frame[frame.x > 0].k).compute().tolist()
        [True, False, True, False]
        """
        if type(values) in (list, tuple, set) and any(isinstance(one, Delayed) for one in values):
            values = delayed(list)(values)
        if isinstance(values, Delayed):
            return operate(Method("isin"), self, delayed_value(values, []), kind=Columnwise)
        if is_node(values):
            return wrap(rows_among(self._expr, values))
        if isinstance(self._expr.meta, pd.DataFrame):
            require_same_comparison(self._expr, values)
        kind = Rowwise if isinstance(values, dict) else Columnwise
        at_hand = list(values) if isinstance(values, (set, frozenset)) else values
        dtype = self._expr.meta.dtype if isinstance(self._expr.meta, pd.Series) else None
        call, at_hand = prepared(at_hand, dtype)
        return operate(call, self, at_hand, kind=kind)

    def asof(self, where: Any, subset: Any = None) -> Any:
        """Return the last values up to a label, or the rows of a list of labels, in one partition; the index is sorted.

        Parameters
        ----------
        where
            A label, such as a time, or a list of them; `merge_asof` takes those of a lazy frame.
        subset
            Of frames: the columns without missing values in the rows that count. Default: all.

        Examples
        --------
        >>> import pandas as pd
        >>> import glassloom.dataframe as gd
        >>> x = gd.from_pandas(pd.Series([1.0, None, 3.0], index=[10, 20, 30]), npartitions=3)
        >>> x.asof([25, 35]).compute().tolist()
        [1.0, 3.0]
        """
        is_frame = isinstance(self._meta, pd.DataFrame)
        if subset is not None and not is_frame:
            raise ValueError("asof: subset is not valid for Series")
        names = some_columns("asof", subset, self._meta) if subset is not None else None
        return wrap(last_rows_before(self._expr, where, names))

    def rank(
        self,
        axis: Any = 0,
        method: str = "average",
        numeric_only: bool = False,
        na_option: str = "keep",
        ascending: bool = True,
        pct: bool = False,
    ) -> Any:
        """Return the rank of each value among those of all partitions, from 1.

        Each column's values move to the partition of their range, and their ranks come back.

        Parameters
        ----------
        axis
            0 or ``"index"``: ranks in each column. 1 or ``"columns"``: in each row.
        method
            What equal values get: ``"average"``, ``"min"``, ``"max"``, ``"first"`` (in order of the rows) or ``"dense"``.
        numeric_only
            Whether to leave out columns that aren't numbers.
        na_option
            ``"keep"``: missing values have no rank; ``"top"``: the smallest ones; ``"bottom"``: the largest ones.
        ascending
            Whether the smallest value has rank 1.
        pct
            Whether to divide the ranks by the largest possible one.

        Examples
        --------
        >>> import pandas as pd
        >>> import glassloom.dataframe as gd
        >>> x = gd.from_pandas(pd.Series([30, 10, 20, 10]), npartitions=2)
        >>> x.rank().compute().tolist()
        [4.0, 1.5, 3.0, 1.5]
        """
        for name, value, known in (
            ("method", method, ("average", "min", "max", "first", "dense")),
            ("na_option", na_option, ("keep", "top", "bottom")),
        ):
            if value not in known:
                raise OptionError(f"rank: {name}={value!r} should be one of {', '.join(map(repr, known))}")
        node = self._expr
        if isinstance(node.meta, pd.DataFrame) and numeric_only:
            node = numeric_columns(node)
        options: dict[str, Any] = {
            "method": method, "na_option": na_option, "ascending": bool(ascending), "pct": bool(pct)
        }  # fmt: skip
        if is_columns(axis, "rank") and isinstance(node.meta, pd.DataFrame):
            return operate(Method("rank"), wrap(node), kwargs={"axis": 1, **options})
        ranking = Ranking(**options)
        if not isinstance(node.meta, pd.DataFrame):
            return _rank_of_series(node, ranking)
        names = node.meta.columns
        if node.npartitions == 1 or not len(names):
            return operate(Method("rank"), wrap(node), kwargs=options)
        if not names.is_unique:
            raise ValueError(f"rank of a frame needs columns of different names; they are {list(names)}")
        parts = [_rank_of_series(Projection(node, name), ranking) for name in names]
        dtypes = of_samples(ranking.of_pandas, node.meta).dtypes.tolist()
        return operate(_beside, wrap(node), names, dtypes, *parts, label="rank")


class FrameAmongAll(AmongAll):
    """Methods of frames."""

    def duplicated(self, subset: Any = None, keep: Any = "first") -> Any:
        """Return for each row whether an equal one comes before it.

        Parameters
        ----------
        subset
            The columns by which rows are compared. Default: all.
        keep
            ``"first"`` or ``"last"``: which of equal rows isn't a duplicate; False: all of them are.

        Examples
        --------
        >>> import pandas as pd
        >>> import glassloom.dataframe as gd
        >>> frame = gd.from_pandas(pd.DataFrame({"x": ["a", "b", "a"]}), npartitions=3)
        >>> frame.duplicated().compute().tolist()
        [False, False, True]
        """
        _require_keep(keep)
        labels = None if subset is None else some_columns("duplicated", subset, self._meta)
        return wrap(duplicated_rows(self._expr, labels, keep))


class SeriesAmongAll(AmongAll):
    """Methods of series."""

    def duplicated(self, keep: Any = "first") -> Any:
        """Return for each row whether an equal one comes before it. See `DataFrame.duplicated`."""
        _require_keep(keep)
        return wrap(duplicated_rows(self._expr, None, keep))

    def argsort(self, axis: Any = 0, kind: Any = "quicksort", order: None = None, stable: Any = None) -> Any:
        """Return the positions of the rows in the order of their values: the first one is that of the least value.

        Parameters
        ----------
        axis
            Only the rows, which -1 is too.
        kind, order, stable
            For compatibility with pandas. Equal values are always in the order of their rows.

        Examples
        --------
        >>> import pandas as pd
        >>> import glassloom.dataframe as gd
        >>> x = gd.from_pandas(pd.Series([30, 10, 20]), npartitions=2)
        >>> x.argsort().compute().tolist()
        [1, 2, 0]
        """
        if axis != -1 and is_columns(axis, "argsort"):  # numpy.argsort gives -1, the last axis
            raise ValueError(f"No axis named {axis!r} for object type Series")
        return wrap(argsorted(self._expr))

    def searchsorted(self, value: Any, side: str = "left", sorter: Any = None) -> Any:
        """Return how many values lie before a value, or before each of several. The series must be in ascending order.

        Parameters
        ----------
        value
            A value, or a list or array of them.
        side
            ``"left"``: values less than it; ``"right"``: those not greater.
        sorter
            Not supported.
        """
        if sorter is not None:
            raise refused("searchsorted", "sorter", sorter, "sort_values() before")
        if side not in ("left", "right"):
            raise OptionError(f"searchsorted: side={side!r} should be 'left' or 'right'")
        if is_node(value):
            raise refused("searchsorted", "value", value, "compute() the values first, or use merge_asof()")
        meta = self._meta.searchsorted(value, side=side)
        steps = Operation(partial(_places_among, value, side), sum, sum)
        return wrap(tree(self._expr, steps, meta, "searchsorted"))

    def argmax(self, axis: Any = None, skipna: bool = True) -> Any:
        """Return the position of the first largest value, counted from 0 over all partitions, as a lazy scalar."""
        return _extreme(self._expr, "argmax", skipna)

    def argmin(self, axis: Any = None, skipna: bool = True) -> Any:
        """Return the position of the first smallest value, counted from 0 over all partitions, as a lazy scalar."""
        return _extreme(self._expr, "argmin", skipna)


def _require_keep(keep: Any) -> None:
    if keep not in ("first", "last", False):
        raise OptionError(f"duplicated: keep={keep!r} should be 'first', 'last' or False")


def _rank_of_series(node: FrameExpr, ranking: Ranking) -> Any:
    if node.npartitions > 1 and is_unordered(node.meta.dtype):
        node = operate(comparable, wrap(node), label="categories-as-values").expr
    if not HAS_COPY_ON_WRITE and isinstance(node.meta.dtype, BaseMaskedDtype):
        # A series of pandas 2 ranks what lies below missing values, a frame ranks floats.
        node = operate(Method("astype"), wrap(node), "float64", label="floats").expr
    return wrap(ranked(node, ranking))


def _beside(frame: Any, names: Any, dtypes: list[Any], *columns: Any) -> Any:
    arrays = [column.astype(dtype).array for column, dtype in zip(columns, dtypes, strict=True)]
    made = pd.DataFrame(dict(enumerate(arrays)), index=frame.index)
    return made.set_axis(names, axis=1)


def _places_among(value: Any, side: Any, block: Any) -> Any:
    return block.searchsorted(value, side=side)


# Positions of extremes: (value, position in the partitions so far, rows of the partitions, whether a value is missing).


def _extreme(node: FrameExpr, how: str, skipna: bool) -> Any:
    of_samples(lambda some: getattr(some.dropna(), how)(), node.meta)  # what pandas objects to is raised here
    steps = Operation(partial(_extreme_of_block, how), partial(_extreme_of_many, how), partial(_position, how, skipna))
    return wrap(tree(node, steps, np.int64(0), how))


def _extreme_of_block(how: str, block: Any) -> tuple[Any, int, int, bool]:
    missing = block.isna()
    if missing.all():
        return (block.iloc[:0], -1, len(block), len(block) > 0)
    place = int(getattr(block, how)())
    return (block.iloc[place : place + 1], place, len(block), bool(missing.any()))


def _extreme_of_many(how: str, parts: list[tuple[Any, int, int, bool]]) -> tuple[Any, int, int, bool]:
    starts = np.cumsum([0, *(part[2] for part in parts)])
    filled = [(part[0], part[1] + start) for part, start in zip(parts, starts, strict=False) if part[1] >= 0]
    any_missing = any(part[3] for part in parts)
    if not filled:
        return (parts[0][0], -1, int(starts[-1]), any_missing)
    values = concat([value for value, _ in filled])
    best = int(getattr(values, how)())
    return (values.iloc[best : best + 1], int(filled[best][1]), int(starts[-1]), any_missing)


def _position(how: str, skipna: bool, parts: list[tuple[Any, int, int, bool]]) -> Any:
    _, place, length, any_missing = _extreme_of_many(how, parts)
    if not length:
        raise ValueError(f"attempt to get {how} of an empty sequence")
    if place < 0:
        raise ValueError(f"Encountered all NA values in {how}")
    if any_missing and not skipna:
        raise ValueError(f"Encountered an NA value with skipna=False in {how}")
    return np.int64(place)

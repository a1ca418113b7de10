"""Text files of partitions whose values are written unlike: pandas writes all values of a column in one form.

Where one partition misses a value, pandas writes the whole numbers of all as floats; where one has a time of day, it writes that of all
days. Which form all partitions have together is known when all are written. So that none waits, and none is held, for the others, a
partition that may have to be written otherwise is also put into a file of its own beside, and written again from there.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from glassloom.dataframe.call import Block, BlockCall
from glassloom.dataframe.io.staging import Staging, Write, Written
from glassloom.dataframe.nodes import FrameBlockwise, FrameExpr
from glassloom.dataframe.reduce import Operation, tree
from glassloom.dataframe.unlike_dtypes import makes_unlike_dtypes, unlike_places
from glassloom.expr import walk

INDEX = -1
"""Stands for the place of the index."""
Form = Any
"""How a column of a partition is written: the dtype of numbers; of times the one with the most digits; None: it has no values."""
_FINEST = 4


def places_of_unlike_texts(
    node: FrameExpr, *, with_times: bool = False, with_index: bool = False, with_categories: bool = False
) -> tuple[int, ...]:
    """Return the places of the columns that may be written unlike: numbers of unlike dtypes, as far as is known, and what is asked for.

    Parameters
    ----------
    with_times, with_index, with_categories
        Whether times, the labels, and numbers that are categories matter.
    """
    if node.npartitions == 1 or node.backend != "pandas" or not isinstance(node.meta, (pd.DataFrame, pd.Series)):
        return ()
    dtypes = [column.dtype for column in _columns(node.meta)]
    unlike = [place for place in unlike_places(node, as_read=False) if dtypes[place].kind in "iufO"]
    numbers = {place for place in unlike if not isinstance(dtypes[place], pd.CategoricalDtype)}
    times = {place for place, dtype in enumerate(dtypes) if with_times and _is_time(dtype)}
    numbers |= {place for place, dtype in enumerate(dtypes) if with_categories and _may_be_of_numbers(dtype)}
    is_unlike = with_index and _is_index_unlike(node, node.meta.index, with_times)
    return (*sorted(numbers | times), *([INDEX] if is_unlike else []))


def _is_index_unlike(node: FrameExpr, index: pd.Index, with_times: bool) -> bool:
    """Whether labels may be written unlike. Those of several levels are written level by level, and aren't looked at."""
    if isinstance(index, pd.MultiIndex):
        return False
    if index.dtype.kind in "iu":
        return any(isinstance(one, FrameExpr) and makes_unlike_dtypes(one) for one in walk([node]))
    return index.dtype.kind == "f" or (with_times and _is_time(index.dtype))


def write_and_keep(
    block: Any,
    name: str,
    *,
    write: Callable[..., Written],
    places: Sequence[int],
    staging: Staging,
    options: dict[str, Any],
) -> Written:
    """Write a block as a text; keep it beside the text if it may have to be written otherwise."""
    written = write(block, name, staging=staging, **options)
    if not len(block):
        return written
    forms = tuple(_form(_column(block, place)) for place in places)
    if any(map(_may_change, forms)):
        with staging.open(_kept(name)) as sink:
            sink.write(pickle.dumps(block, protocol=5))
    return written._replace(forms=forms)


class Rewritten(FrameBlockwise):
    """What was written, of each partition, after those have been written again whose form isn't that of all."""

    parameters = ("written", "common", "write")

    written: Write
    common: FrameExpr
    write: Rewriting
    label = "write-again"

    @cached_property
    def meta(self) -> Any:
        return 0

    @cached_property
    def divisions(self) -> tuple[Any, ...]:
        return (None,) * (self.written.npartitions + 1)

    @property
    def function(self) -> Callable[..., Any]:
        return BlockCall(self.write, (Block(0), Block(1)), label=self.label)


class Rewriting:
    """Writes a partition again in the form of all, if it has another one."""

    def __init__(
        self, write: Callable[..., Written], places: Sequence[int], staging: Staging, options: dict[str, Any]
    ) -> None:
        self.write, self.places, self.staging, self.options = write, tuple(places), staging, options

    def __glassloom_tokenize__(self) -> Any:
        return (self.write, self.places, self.staging, self.options)

    def __call__(self, written: list[Written], common: tuple[Form, ...]) -> list[Written]:
        return [self._again(one, common) for one in written]

    def _again(self, one: Written, common: tuple[Form, ...]) -> Written:
        changes = {
            place: form for place, own, form in zip(self.places, one.forms, common, strict=False) if _changes(own, form)
        }
        if changes:
            (name,) = one.names
            with self.staging.filesystem.open_input_stream(f"{self.staging.inside}/{_kept(name)}") as file:
                block = pickle.loads(file.read())
            self.write(_in_form(block, changes), name, staging=self.staging, **self.options)
        return one


def rewritten(node: Write, again: Rewriting) -> FrameExpr:
    """Return the node that writes partitions again where they have to be."""
    common = tree(node, Operation(_forms_of, _joined_forms, _joined_forms), None, "text-forms")
    return Rewritten(node, common, again)


def _kept(name: str) -> str:
    return f"{name}.kept"


def _columns(block: Any) -> list[Any]:
    return [block] if isinstance(block, pd.Series) else [block.iloc[:, place] for place in range(block.shape[1])]


def _column(block: Any, place: int) -> Any:
    if place == INDEX:
        return block.index.to_series()
    return block if isinstance(block, pd.Series) else block.iloc[:, place]


# The form of a column.


def _is_time(dtype: Any) -> bool:
    return isinstance(dtype, pd.DatetimeTZDtype) or (isinstance(dtype, np.dtype) and dtype.kind in "Mm")


def _may_be_of_numbers(dtype: Any) -> bool:
    """Whether a dtype is of categories that are whole numbers, as far as is known."""
    is_known = isinstance(dtype, pd.CategoricalDtype) and dtype.categories is not None and len(dtype.categories)
    return isinstance(dtype, pd.CategoricalDtype) and (not is_known or dtype.categories.dtype.kind in "iu")


def _form(column: Any) -> Form:
    if isinstance(column.dtype, pd.CategoricalDtype):  # pandas writes the values, as floats if one is missing
        is_float = column.dtype.categories.dtype.kind in "iu" and column.hasnans
        return np.dtype("float64") if is_float else column.dtype.categories.dtype
    return _longest(column[column.notna()]) if _is_time(column.dtype) else column.dtype


def _longest(times: Any) -> Any:
    """Return the time with the most digits; None if there is none."""
    if not len(times):
        return None
    counts, per_second = _counts(times)
    for unit in (per_second // 10**6, per_second // 10**3, per_second, per_second * 86_400):
        is_within = counts % unit != 0 if unit > 1 else np.zeros(len(counts), dtype=bool)
        if is_within.any():
            return times.iloc[int(is_within.argmax())]
    return times.iloc[0]


def _digits(time: Any) -> int:
    """Return how long a time's text is: 0 for a day, 1 for a second, then by thousandths, up to `_FINEST`."""
    counts, per_second = _counts(pd.Series([time]))
    count = int(counts[0])
    if count % (per_second * 86_400) == 0:
        return 0
    if isinstance(time, pd.Timedelta):
        return _FINEST  # their fractions are written one by one
    units = [per_second, per_second // 10**3, per_second // 10**6]
    return next((place for place, unit in enumerate(units, 1) if unit <= 1 or count % unit == 0), _FINEST)


def _counts(times: Any) -> tuple[np.ndarray, int]:
    """Return times as whole numbers, by the clock of their zone, and how many make a second."""
    if isinstance(times.dtype, pd.DatetimeTZDtype):
        times = times.dt.tz_localize(None)
    values = times.to_numpy()
    per_second = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[np.datetime_data(values.dtype)[0]]
    return values.view("int64"), per_second


def _forms_of(written: list[Written]) -> tuple[Form, ...]:
    return _joined_forms([one.forms for one in written if one.forms])


def _joined_forms(several: Iterable[tuple[Form, ...]]) -> tuple[Form, ...]:
    filled = [forms for forms in several if forms]
    return tuple(_joined_form(list(forms)) for forms in zip(*filled, strict=True))


def _joined_form(forms: list[Form]) -> Form:
    times = [form for form in forms if isinstance(form, (pd.Timestamp, pd.Timedelta))]
    if times:
        return max(times, key=_digits)
    dtypes = [form for form in forms if form is not None]
    return pd.concat([pd.Series([], dtype=dtype) for dtype in dtypes]).dtype if dtypes else None


def _may_change(form: Form) -> bool:
    if isinstance(form, (pd.Timestamp, pd.Timedelta)):
        return _digits(form) < _FINEST
    return isinstance(form, np.dtype) and form.kind in "iu"


def _changes(own: Form, common: Form) -> bool:
    """Whether a column isn't in the form of all: whole numbers become floats, but are written as they are among objects."""
    if isinstance(own, (pd.Timestamp, pd.Timedelta)):
        return isinstance(common, (pd.Timestamp, pd.Timedelta)) and _digits(own) < _digits(common)
    are_plain = isinstance(own, np.dtype) and isinstance(common, np.dtype)
    return are_plain and own.kind in "iu" and common.kind == "f"


def _in_form(block: Any, changes: dict[int, Form]) -> Any:
    made = block.copy(deep=False)
    for place, form in changes.items():
        column = _converted(_column(block, place), form)
        if place == INDEX:
            made.index = pd.Index(column.array, name=block.index.name)
        elif isinstance(block, pd.Series):
            made = pd.Series(column.array, index=made.index, name=block.name)
        else:
            made.isetitem(place, pd.Series(column.array, index=made.index))
    return made


def _converted(column: Any, form: Form) -> Any:
    if not isinstance(form, (pd.Timestamp, pd.Timedelta)):
        return column.astype(form)
    # pandas writes all times of a column as long as the longest: that of another partition is put below, and taken away again
    longest = pd.Series([form], dtype=pd.Series([form]).dtype)
    texts = pd.concat([column, longest]).astype(str).iloc[:-1]
    return texts.astype(object).where(column.notna().to_numpy(), None)

"""Blocks of frames while a fused task runs: an Arrow table whose columns become pandas' arrays when they are needed.

Rows that a filter or a join has chosen are numbers of rows until a column of them is read: so a column that is left out,
or from which rows are chosen several times, is copied once or not at all. Blocks never leave their task: see `plain`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from glassloom.backends.pandas_version import LOOKS_UP_SAFELY
from glassloom.dataframe.arrow.taking import taken

Places = np.ndarray[Any, np.dtype[np.intp]]


class Picks:
    """Numbers of rows of an array, chosen among those that others have chosen of it."""

    __slots__ = ("_array", "_parent")

    def __init__(self, places: Places, parent: Picks | None) -> None:
        self._array = places
        self._parent = parent

    @property
    def array(self) -> Places:
        """The numbers of rows of the array itself."""
        if self._parent is not None:
            self._array, self._parent = self._parent.array.take(self._array), None
        return self._array


class Values:
    """An array as pandas holds a column, made when it is asked for."""

    __slots__ = ("_array", "_make")

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make: Callable[[], Any] | None = make
        self._array: Any = None

    @property
    def array(self) -> Any:
        """The array: NumPy's, or an extension array of pandas."""
        if self._make is not None:
            self._array, self._make = self._make(), None
        return self._array

    @property
    def coded(self) -> tuple[Any, Any] | None:
        """Codes, -1 for missing, and the distinct values, where it is held as such."""
        return None


class CodedText(Values):
    """Text that Arrow holds as codes of a dictionary."""

    __slots__ = ("_coded", "_dictionary", "_dtype")

    def __init__(self, column: pa.ChunkedArray, dtype: Any) -> None:
        super().__init__(self._text)
        self._dictionary: pa.ChunkedArray | None = column
        self._dtype = dtype
        self._coded: tuple[Any, Any] | None = None

    @property
    def coded(self) -> tuple[Any, Any] | None:
        """See `Values.coded`."""
        if self._coded is None and self._dictionary is not None:
            self._coded, self._dictionary = _codes_of(self._dictionary, self._dtype), None
        assert self._coded is not None
        return self._coded

    def _text(self) -> Any:
        coded = self.coded
        assert coded is not None
        return decoded(*coded)


def decoded(codes: Any, values: Any) -> Any:
    """Return the text of codes, -1 for missing, among distinct values."""
    return values.take(codes, allow_fill=True)


def _codes_of(column: pa.ChunkedArray, dtype: Any) -> tuple[Any, Any]:
    """Return the codes and the distinct values of a column that is encoded by a dictionary."""
    joined = column.unify_dictionaries().combine_chunks()
    one = joined.chunk(0) if isinstance(joined, pa.ChunkedArray) and joined.num_chunks == 1 else joined
    if not isinstance(one, pa.DictionaryArray):
        one = column.cast(column.type.value_type).combine_chunks().dictionary_encode()
    dictionary = one.dictionary
    if dictionary.null_count or len(dictionary.unique()) != len(dictionary):  # as another writer may have left it
        one = one.cast(one.type.value_type).dictionary_encode()
        dictionary = one.dictionary
    codes = one.indices.fill_null(-1) if one.indices.null_count else one.indices
    return codes.to_numpy(zero_copy_only=False), dtype.__from_arrow__(dictionary)


class Column:
    """A column of a block: values, of which some rows are chosen."""

    __slots__ = ("_is_given", "_made", "_picks", "_values")

    def __init__(self, values: Values, picks: Picks | None = None) -> None:
        self._values = values
        self._picks = picks
        self._made: Any = None
        self._is_given = False

    @classmethod
    def of(cls, array: Any) -> Column:
        """Return the column of an array as pandas holds it."""
        made = cls(Values(lambda: array))
        made._made = array
        return made

    @property
    def array(self) -> Any:
        """The values as pandas holds them. NumPy's arrays may be read-only."""
        if self._made is None:
            coded = self.coded
            if coded is not None:
                self._made = decoded(*coded)
            else:
                array = self._values.array
                self._made = array if self._picks is None else taken(array, self._picks.array)
        return self._made

    @property
    def coded(self) -> tuple[Any, Any] | None:
        """Codes, -1 for missing, and the distinct values, where the column is held as such. Not all values need occur."""
        coded = self._values.coded
        if coded is None or self._picks is None:
            return coded
        return coded[0].take(self._picks.array), coded[1]

    def of_rows(self, rows: Rows) -> Column:
        """Return the same column of rows that have been chosen among its own."""
        if self._made is not None and self._values.coded is None:
            made = self._made
            return Column(Values(lambda: made), rows.picks(None))
        return Column(self._values, rows.picks(self._picks))

    def series(self, rows: Rows, name: Any = None) -> Any:
        """Return the values as a series whose labels are the numbers of the rows: for what looks at no labels."""
        array = self.array
        return pd.Series(array, index=rows.numbers, name=name, dtype=array.dtype, copy=False)

    def own_array(self) -> Any:
        """Return the values in memory that no other column has, and that may be written to: Arrow's may not."""
        array = self.array
        if not isinstance(array, np.ndarray) or self._is_given or not array.flags.writeable:
            return array.copy()
        self._is_given = True
        return array


class Rows:
    """The rows of a block: how many, their labels, and if they are chosen among others, their places there.

    Columns of the same object correspond row by row.
    """

    __slots__ = ("_chosen", "_index", "_make_index", "_numbers", "_picks", "count", "places")

    def __init__(self, count: int, make_index: Callable[[], pd.Index], places: Places | None = None) -> None:
        self.count = count
        self.places = places
        self._make_index = make_index
        self._index: pd.Index | None = None
        self._numbers: pd.RangeIndex | None = None
        self._chosen: dict[int, tuple[Column, Rows]] = {}
        self._picks: dict[int, tuple[Picks | None, Picks]] = {}

    @classmethod
    def numbered(cls, places: Places) -> Rows:
        """Return rows at some places among others, with labels from 0 on."""
        return cls(len(places), lambda: pd.RangeIndex(len(places)), places)

    @property
    def index(self) -> pd.Index:
        """The labels."""
        if self._index is None:
            self._index = self._make_index()
        return self._index

    @property
    def numbers(self) -> pd.RangeIndex:
        """The labels of series for what looks at none: one object, so that such series need no alignment."""
        if self._numbers is None:
            self._numbers = pd.RangeIndex(self.count)
        return self._numbers

    def where(self, predicate: Column) -> Rows:
        """Return the rows where a column of NumPy's booleans is true, for the same column always the same object."""
        known = self._chosen.get(id(predicate))
        if known is not None:
            return known[1]
        mask = predicate.array
        made = self if mask.all() else self.at(np.flatnonzero(mask))
        self._chosen[id(predicate)] = (predicate, made)  # which keeps the column alive, so that its id stays its own
        return made

    def at(self, places: Places, make_index: Callable[[], pd.Index] | None = None) -> Rows:
        """Return the rows at some places, with their labels."""
        return Rows(len(places), make_index or (lambda: self.index.take(places)), places)

    def picks(self, parent: Picks | None) -> Picks:
        """Return where the rows are in an array of which `parent` has chosen the rows that these are chosen among."""
        known = self._picks.get(id(parent))
        if known is None:
            assert self.places is not None
            known = self._picks[id(parent)] = (parent, Picks(self.places, parent))
        return known[1]


class ColumnBlock:
    """A series while a task runs."""

    __slots__ = ("_made", "column", "name", "rows")

    def __init__(self, column: Column, name: Any, rows: Rows) -> None:
        self.column = column
        self.name = name
        self.rows = rows
        self._made: Any = None

    def __len__(self) -> int:
        return self.rows.count

    def series(self) -> Any:
        """Return it as a series whose labels are the numbers of its rows."""
        return self.column.series(self.rows, self.name)

    def key(self) -> Any:
        """Return the same to be encoded as a key."""
        coded = self.column.coded
        return self.series() if coded is None else TextKey(self.column, coded)

    def of_rows(self, rows: Rows) -> ColumnBlock:
        """Return the rows that have been chosen among its own."""
        return self if rows is self.rows else ColumnBlock(self.column.of_rows(rows), self.name, rows)

    def to_pandas(self) -> Any:
        """Return it as pandas has it."""
        if self._made is None:
            array = self.column.own_array()
            self._made = pd.Series(array, index=self.rows.index, name=self.name, dtype=array.dtype, copy=False)
        return self._made


class TextKey:
    """A column of text that is held as codes, in place of a series for what encodes keys."""

    __slots__ = ("coded", "column")

    def __init__(self, column: Column, coded: tuple[Any, Any]) -> None:
        self.column = column
        self.coded = coded

    def __len__(self) -> int:
        return len(self.coded[0])

    @property
    def dtype(self) -> Any:
        """pandas' dtype."""
        return self.coded[1].dtype

    @property
    def array(self) -> Any:
        """The values as pandas holds them."""
        return self.column.array


class TableBlock:
    """A frame while a task runs. Its labels are unique.

    Attributes
    ----------
    columns
        The columns, in order.
    labels
        Their labels as pandas holds them.
    rows
        The rows.
    whole
        Makes the frame of some columns at once, if all rows are as they were read; else None.
    """

    __slots__ = ("_made", "columns", "labels", "rows", "whole")

    def __init__(
        self,
        columns: dict[Any, Column],
        labels: pd.Index,
        rows: Rows,
        whole: Callable[[Sequence[Any]], Any] | None = None,
    ) -> None:
        self.columns = columns
        self.labels = labels
        self.rows = rows
        self.whole = whole
        self._made: Any = None

    def __len__(self) -> int:
        return self.rows.count

    def column(self, name: Any) -> ColumnBlock:
        """Return a column."""
        return ColumnBlock(self.columns[name], name, self.rows)

    def series(self, name: Any) -> Any:
        """Return a column as a series whose labels are the numbers of its rows."""
        return self.columns[name].series(self.rows, name)

    def select(self, labels: pd.Index) -> TableBlock:
        """Return some columns."""
        return TableBlock({name: self.columns[name] for name in labels}, labels, self.rows, self.whole)

    def of_rows(self, rows: Rows) -> TableBlock:
        """Return the rows that have been chosen among its own."""
        if rows is self.rows:
            return self
        return TableBlock({name: one.of_rows(rows) for name, one in self.columns.items()}, self.labels, rows)

    def to_pandas(self) -> Any:
        """Return it as pandas has it."""
        if self._made is None and self.whole is not None:
            self._made = self.whole(list(self.columns))
        if self._made is None:
            arrays = [one.own_array() for one in self.columns.values()]
            columns = [
                pd.Series(one, dtype=object, copy=False) if one.dtype == object else one for one in arrays
            ]  # else text is found there
            made = pd.DataFrame(dict(enumerate(columns)), index=pd.RangeIndex(len(self)), copy=False)
            made.index = self.rows.index
            made.columns = self.labels if LOOKS_UP_SAFELY else self.labels[:]  # all tasks have these
            self._made = made
        return self._made


def is_block(value: Any) -> bool:
    """Whether a value is a block that must not leave its task."""
    return type(value) is TableBlock or type(value) is ColumnBlock


def plain(value: Any) -> Any:
    """Return what pandas has for a block; other values as they are."""
    return value.to_pandas() if type(value) is TableBlock or type(value) is ColumnBlock else value


def lifted(value: Any, rows: Rows) -> Column | None:
    """Return the column of a series of the same rows, be it a block or pandas'; None if it isn't known to be of these."""
    if type(value) is ColumnBlock:
        return value.column if value.rows is rows else None
    if isinstance(value, pd.Series) and rows._index is not None and value.index is rows._index:
        return Column.of(array_of(value))
    return None


def block_of(frame: Any) -> TableBlock:
    """Return the block of pandas' frame with unique columns."""
    columns = {name: Column(Values(partial(_column_of, frame, name))) for name in frame.columns}
    return TableBlock(columns, frame.columns, Rows(len(frame), lambda: frame.index))


def _column_of(frame: Any, name: Any) -> Any:
    return array_of(frame[name])


def array_of(series: Any) -> Any:
    """Return the array of a series: NumPy's where its dtype is, else pandas' extension array."""
    return series.to_numpy() if isinstance(series.dtype, np.dtype) else series.array

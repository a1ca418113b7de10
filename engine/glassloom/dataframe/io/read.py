"""`Read`, the only node that reads: a source, the columns and partitions to read, and a filter to apply meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Any

import pandas as pd

from glassloom.backends.pandas_ import columns_of
from glassloom.dataframe.category_order import can_divide
from glassloom.dataframe.derived_meta import chosen_meta
from glassloom.dataframe.io.conditions import Bounds, Comparison, Condition, Term
from glassloom.dataframe.nodes import FrameBlockwise
from glassloom.dataframe.partitions import select_divisions, selected_token
from glassloom.graph import tokenize


class Source:
    """Something that partitions are read from. Immutable.

    Subclasses set the attributes and say how a piece is read. Their `token` identifies what is read and how; what they
    say of it (meta, divisions, lengths...) identifies them too, so that sources that differ have different names.
    """

    label = "read"
    meta: Any
    """An empty object with all columns."""
    divisions: tuple[Any, ...]
    lengths: tuple[int, ...] | None = None
    likely_rows: tuple[float, ...] | None = None
    """About how many rows each partition has, where `lengths` aren't known; None: nothing is known."""
    form = ""
    """What makes frames of what is read, for people: Arrow or pandas."""
    can_project = False
    """Whether reading only some columns costs less."""
    can_read_index = False
    """Whether it can read no column at all, and yet the index."""
    can_filter = False
    """Whether rows can be filtered while they are read."""
    makes_unlike_dtypes = False
    """Whether columns may have another dtype in some partitions, as a caller's function makes them, or values are missing there."""
    mirror: Any = None
    """An empty pandas object that shares memory, to pandas, with that which is cut into partitions; None if none is."""
    token: str
    """Identifies the partitions' content: what is read, and all that `piece` and `reader` make use of."""

    @property
    def has_unique_labels(self) -> bool:
        """See `FrameExpr.has_unique_labels`. Where readers number rows, they do."""
        return isinstance(getattr(self.meta, "index", None), pd.RangeIndex)

    def __glassloom_tokenize__(self) -> str:
        return self.identity

    @cached_property
    def identity(self) -> str:
        """The token of all that a result or its description may depend on."""
        can = (self.can_project, self.can_read_index, self.can_filter)
        return tokenize(type(self), self.token, self.label, self.meta, self.divisions, self.lengths, can)

    @property
    def most_rows(self) -> tuple[int, ...] | None:
        """How many rows each partition has at most: `lengths`, unless some rows are left out while it is read; None: unknown."""
        return self.lengths

    def piece(self, number: int) -> Any:
        """Return what `reader` needs in order to read the partition with this number."""
        raise NotImplementedError

    def reader(self, columns: tuple[Any, ...] | None, condition: Any) -> Callable[[Any], Any]:
        """Return a function that reads a piece: all columns or some, each once; all rows or those that fulfil `condition`."""
        raise NotImplementedError

    def block_reader(self, columns: tuple[Any, ...] | None, condition: Any) -> Callable[[Any], Any] | None:
        """Return a function that reads a piece as a block of `glassloom.dataframe.arrow`; None if the source has no such."""
        return None

    def form_of(self, columns: tuple[Any, ...] | None, condition: Any) -> str:
        """Return what reads pieces so, for people: `form` unless the source chooses among several."""
        return self.form

    def reader_by_results(
        self, columns: tuple[Any, ...], condition: Condition | None, compared: Sequence[tuple[Any, str]]
    ) -> Callable[..., Any] | None:
        """Return a function that reads columns of the rows of which comparisons hold, too; None if the source has no such.

        Parameters
        ----------
        columns, condition
            See `reader`.
        compared
            The column and the operator of each comparison. The function gets what it is compared with before the piece.
        """
        return None

    def accept(self, comparison: Comparison) -> Term | None:
        """Return the comparison as the source can make it while it reads; None if not exactly as pandas does it."""
        return None

    def groups_read(self, numbers: Sequence[int], condition: Condition | None) -> tuple[int, int] | None:
        """Return of how many parts of some partitions rows may fulfil a condition, and how many parts there are."""
        return None

    def bounds_of(self, column: Any) -> Sequence[Bounds] | None:
        """Return the smallest and the largest value of a column in each partition, if that is known without reading it, and none is missing."""
        return None

    @property
    def complete_columns(self) -> frozenset[Any]:
        """The columns of which it is known without reading them that no value is missing, as pandas has it."""
        return frozenset()

    def joined(self, groups: Sequence[Sequence[int]]) -> Source | None:
        """Return the source whose partitions are groups of this one's, each read at once; None if it has no such thing."""
        return None

    def nbytes(self, numbers: Sequence[int], columns: Sequence[Any] | None) -> int | None:
        """Return about how many bytes columns of some partitions take once they are read; None: it isn't known."""
        return None


class Read(FrameBlockwise):
    """Partitions of a source."""

    parameters = ("source", "columns", "numbers", "condition")

    source: Source
    columns: tuple[Any, ...] | None
    numbers: tuple[int, ...] | None
    condition: Condition | None

    @property
    def label(self) -> str:
        return self.source.label

    @cached_property
    def meta(self) -> Any:
        return self.source.meta if self.columns is None else chosen_meta(self.source.meta, list(self.columns))

    @cached_property
    def divisions(self) -> tuple[Any, ...]:
        known = self.source.divisions
        if not can_divide(self.source.meta):
            known = (None,) * len(known)
        return known if self.numbers is None else select_divisions(known, self.numbers)

    @cached_property
    def rows(self) -> str:
        if not self.condition:
            return self.layout
        return f"rows-{tokenize(self.layout, self.condition)}"

    @cached_property
    def layout(self) -> str:
        return selected_token(f"rows-{tokenize(self.source)}", self.numbers)

    @property
    def lengths(self) -> tuple[int, ...] | None:
        lengths = self.source.lengths
        if lengths is None or self.condition:
            return None
        return lengths if self.numbers is None else tuple(lengths[number] for number in self.numbers)

    @property
    def has_unique_labels(self) -> bool:
        return self.source.has_unique_labels

    @property
    def likely_rows(self) -> float | None:
        """About how many rows there are, before any is filtered; None: nothing is known."""
        each = self.source.likely_rows
        if each is None:
            return None
        return float(sum(each if self.numbers is None else (each[number] for number in self.numbers)))

    @property
    def unfiltered(self) -> Read:
        """The same partitions, all rows of them."""
        return Read(self.source, self.columns, self.numbers, None, origin=self.origin) if self.condition else self

    @property
    def function(self) -> Callable[..., Any]:
        columns = self.columns
        if columns == ():
            return partial(_without_columns, self.source.reader(columns, self.condition), self.meta.columns)
        if columns is None or len(once := tuple(dict.fromkeys(columns))) == len(columns):
            return self.source.reader(columns, self.condition)
        return partial(_repeating, self.source.reader(once, self.condition), list(columns))

    @property
    def arrow_form(self) -> Callable[..., Any] | None:
        return self.source.block_reader(self.columns, self.condition)

    @property
    def makes_blocks(self) -> bool:
        return True

    def literals(self, index: tuple[int, ...]) -> tuple[Any, ...]:
        number = index[0] if self.numbers is None else self.numbers[index[0]]
        return (self.source.piece(number),)

    def with_columns(self, columns: tuple[Any, ...]) -> Read:
        """Return the same rows with these columns only."""
        return Read(self.source, columns, self.numbers, self.condition, origin=self.origin)

    def with_numbers(self, numbers: tuple[int, ...]) -> Read:
        """Return some of the partitions, counted among those of this node."""
        own = self.numbers
        selected = numbers if own is None else tuple(own[number] for number in numbers)
        return Read(self.source, self.columns, selected, self.condition, origin=self.origin)

    def with_condition(self, condition: Condition) -> Read:
        """Return the rows that also fulfil `condition`."""
        return Read(self.source, self.columns, self.numbers, (*(self.condition or ()), *condition), origin=self.origin)


def _without_columns(read: Callable[[Any], Any], columns: Any, piece: Any) -> Any:
    """Return the rows of a piece: the labels of no column have a dtype and a name, too."""
    made = read(piece)
    if not made.columns.identical(columns):
        made = made.copy(deep=False)
        made.columns = columns
    return made


def _repeating(read: Callable[[Any], Any], columns: list[Any], piece: Any) -> Any:
    """Return the columns of a piece of which some are wanted more than once."""
    return columns_of(read(piece), columns)

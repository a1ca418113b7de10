"""Joins by look-up: one side's rows are found by their keys in a table that is made once, for all partitions of the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from glassloom.backends.label_tables import holds_frames
from glassloom.backends.pandas_ import concat
from glassloom.backends.sizeof import register_sizeof, sizeof
from glassloom.dataframe import on_device
from glassloom.dataframe.arrow.blocks import Column, Rows, TableBlock, Values, block_of
from glassloom.dataframe.arrow.forms import Form
from glassloom.dataframe.arrow.taking import taken
from glassloom.dataframe.arrow.text import is_text
from glassloom.dataframe.derived_meta import chosen_meta, derived_meta, meta_side_by_side, names_of
from glassloom.dataframe.moving.joining import ANTI, AnyJoin, Joining, result_columns, result_names
from glassloom.dataframe.moving.number_table import NumberTable
from glassloom.dataframe.nodes import FrameExpr
from glassloom.expr import Expr
from glassloom.graph import Key, Task, TaskRef

_MOST_CELLS = 2**62
_MOST_ROWS = 2**31 - 1
_UNUSED = 8
"""Of whole numbers, one part in so many that there may be before the least is part of the table."""


@dataclass(frozen=True)
class WholeNumbers:
    """A key column of integers, booleans or instants: as the distance from `base`, which is less than the least one.

    Codes are from 1 to before ``size - 1``. Other values have codes before or after these.
    """

    dtype: Any
    base: int
    size: int

    @classmethod
    def of(cls, column: Any) -> WholeNumbers | None:
        """Return the encoding of a column; None if it has missing values, or those of its dtype can't be encoded."""
        if not len(column):
            return cls(column.dtype, 0, 2)
        values = _as_integers(column)
        least, most = int(values.min()), int(values.max())
        if column.dtype.kind in "mM" and least == np.iinfo(np.int64).min:
            return None
        base = 0 if 1 <= least <= (most - least) // _UNUSED else least - 1  # then values needn't be copied
        return cls(column.dtype, base, most - base + 2)

    def encode(self, column: Any) -> Any:
        """Return the code of each value, perhaps in the column's memory."""
        values = _as_integers(column)
        # It may wrap: values that differ have different codes.
        return values - np.int64((self.base + 2**63) % 2**64 - 2**63) if self.base else values


@dataclass(frozen=True)
class Words:
    """A key column of text: as the place among the distinct values, from 1 on. Missing is a value, as in `pandas.merge`."""

    dtype: Any
    values: Any

    @classmethod
    def of(cls, column: Any) -> Words:
        """Return the encoding of a column."""
        return cls(column.dtype, pc.unique(pa.array(column.array)))

    @property
    def size(self) -> int:
        return len(self.values) + 2

    def encode(self, column: Any) -> Any:
        """Return the code of each value, 0 for those that have none."""
        found = pc.index_in(pa.array(column.array), value_set=self.values)
        if isinstance(found, pa.ChunkedArray):
            found = found.combine_chunks()
        codes = found.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
        codes += 1
        return codes


Encoding = WholeNumbers | Words


@holds_frames("frame")
@dataclass(frozen=True)
class Lookup:
    """All rows of a frame, to be found by keys.

    Attributes
    ----------
    frame
        The rows.
    encodings, table
        How keys become numbers, one for each combination of them, and where the rows of each are. None if they can't:
        then pandas joins.
    """

    frame: Any
    encodings: tuple[Encoding, ...] | None
    table: NumberTable | None

    @classmethod
    def of(cls, keys: Sequence[Any], blocks: Sequence[Any]) -> Lookup:
        """Return the look-up by some columns in the rows of blocks."""
        frame = concat(blocks)
        columns = [frame[key] for key in keys]
        encodings = _encodings(columns) if len(frame) <= _MOST_ROWS else None
        if encodings is None:
            return cls(frame, None, None)
        width = _size(encodings[1:]) if len(encodings) > 1 else None
        return cls(frame, encodings, NumberTable.of(_cells(encodings, columns), _size(encodings), width))

    def find(self, columns: Sequence[Any]) -> tuple[Any, Any] | None:
        """Return pairs of rows with equal keys, as `NumberTable.find` does; None if keys aren't of the same dtypes."""
        if self.table is None or self.encodings is None:
            return None
        if any(column.dtype != own.dtype for column, own in zip(columns, self.encodings, strict=True)):
            return None
        return self.table.find(_cells(self.encodings, columns))

    def has(self, columns: Sequence[Any]) -> Any:
        """Return where keys are among those of the table; None if they aren't of the same dtypes."""
        if self.table is None or self.encodings is None:
            return None
        if any(column.dtype != own.dtype for column, own in zip(columns, self.encodings, strict=True)):
            return None
        return self.table.distinct.find(_cells(self.encodings, columns)) >= 0


def can_look_up(dtype: Any) -> bool:
    """Whether keys of this dtype can be looked up: integers of at most 63 bits, booleans, instants, text of Arrow's."""
    if isinstance(dtype, np.dtype):
        return dtype.kind in "iubmM" and dtype != np.uint64
    return is_text(dtype)


def _encodings(columns: Sequence[Any]) -> tuple[Encoding, ...] | None:
    made: list[Encoding] = []
    for column in columns:
        if not can_look_up(column.dtype):
            return None
        one = WholeNumbers.of(column) if isinstance(column.dtype, np.dtype) else Words.of(column)
        if one is None:
            return None
        made.append(one)
    return tuple(made) if _size(made) <= _MOST_CELLS else None


def _size(encodings: Sequence[Encoding]) -> int:
    size = 1
    for one in encodings:
        size *= one.size
    return size


def _cells(encodings: Sequence[Encoding], columns: Sequence[Any]) -> Any:
    """Return one number for each row, perhaps in a column's memory: that of no row of the table if a key has none."""
    cells = encodings[0].encode(columns[0])
    if len(encodings) == 1:
        return cells
    cells = np.clip(cells, 0, encodings[0].size - 1)  # the first and the last code are those of no row
    for one, column in zip(encodings[1:], columns[1:], strict=True):
        cells *= one.size
        cells += np.clip(one.encode(column), 0, one.size - 1)
    return cells


def _as_integers(column: Any) -> Any:
    values = column.to_numpy()
    return values.view(np.int64) if values.dtype.kind in "mM" else values.astype(np.int64, copy=False)


@register_sizeof(Lookup)
def _sizeof_lookup(lookup: Lookup) -> int:
    size = sizeof(lookup.frame)
    table = lookup.table
    if table is not None:
        arrays = [*vars(table.distinct).values(), table.rows, table.starts]
        size += sum(array.nbytes for array in arrays if isinstance(array, np.ndarray))
    return size


class LookupTable(FrameExpr):
    """The `Lookup` in all rows of a frame. It has no meta: only joins read it."""

    parameters = ("frame", "keys")
    operation = "lookup"
    divisions = (None, None)

    frame: FrameExpr
    keys: tuple[Any, ...]

    @cached_property
    def meta(self) -> Any:
        return None

    def tasks(self) -> dict[Key, Task]:
        blocks = [TaskRef(key) for key in self.frame.output_keys()]
        return {(self.name, 0): Task((self.name, 0), _made, (self.keys, blocks))}


def _made(keys: tuple[Any, ...], blocks: list[Any]) -> Lookup:
    return Lookup.of(keys, blocks)


def keeps_left_labels(joining: Joining) -> bool:
    """Whether rows of a join have the labels of the left side: pandas has those of the side whose index isn't a key, or of both."""
    return joining.right_index and joining.how in ("inner", "left")


class LookupJoin(AnyJoin):
    """Partitions of a frame, each joined with all rows of another one, of which `others` has the `LookupTable`."""

    @property
    def table(self) -> LookupTable:
        (table,) = self.others
        assert isinstance(table, LookupTable)
        return table

    @property
    def keeps_backend(self) -> bool:
        return self._joined.finds_right and self.joining.runs_on_device

    @property
    def joining(self) -> Joining:
        return self._joined.joining

    @property
    def _joined(self) -> JoinByLookup:
        assert isinstance(self.call.function, JoinByLookup)
        return self.call.function

    @property
    def finds_right(self) -> bool:
        """Whether the table has the right frame's rows."""
        return self._joined.finds_right

    @property
    def sides(self) -> tuple[FrameExpr, FrameExpr]:
        """The left and the right frame."""
        both = (self.frame, self.table.frame)
        return both if self.finds_right else (both[1], both[0])

    @cached_property
    def divisions(self) -> tuple[Any, ...]:
        has_dtype = self.meta.index.dtype == self.frame.meta.index.dtype
        keeps = has_dtype and self.finds_right and keeps_left_labels(self.joining)
        return self.frame.divisions if keeps else (None,) * (self.frame.npartitions + 1)

    @cached_property
    def meta(self) -> Any:
        left, right = (side.meta for side in self.sides)
        if self.joining.how in ("leftsemi", "leftanti"):
            return left
        return derived_meta(lambda: _joined_meta(left, right, self.joining), LookupJoin, self.joining, left, right)

    def is_broadcast(self, dependency: Expr) -> bool:
        return isinstance(dependency, LookupTable)

    @property
    def arrow_form(self) -> Form | None:
        return JoinForm(self._joined, self.meta.columns) if self.meta.columns.is_unique else None

    @property
    def makes_blocks(self) -> bool:
        return True

    def of_sides(self, left: FrameExpr, right: FrameExpr) -> LookupJoin:
        """Return the same join of other frames."""
        frame, found = (left, right) if self._joined.finds_right else (right, left)
        table = LookupTable(found, self.table.keys, origin=self.table.origin)
        return LookupJoin(frame, (table,), self.call, origin=self.origin)


def _joined_meta(left: Any, right: Any, joining: Joining) -> Any:
    names = result_names(names_of(left), names_of(right), joining)
    columns = pd.Index(names)
    if joining.same_keys:
        shared = joining.left_on or ()
        right = chosen_meta(right, [name for name in names_of(right) if name not in shared])
    made = meta_side_by_side(left, right, names, columns)
    if made is not None:
        return made
    joined = pd.concat([_numbered(left), _numbered(right)], axis=1)
    joined.columns = columns
    return joined


def _numbered(meta: Any) -> Any:
    return meta if isinstance(meta.index, pd.RangeIndex) and meta.index.name is None else meta.reset_index(drop=True)


@dataclass(frozen=True)
class JoinByLookup:
    """The join of a block with the rows of a `Lookup`, which is on the right or the left side.

    Rows come in the order of the block.
    """

    joining: Joining
    finds_right: bool

    def __glassloom_tokenize__(self) -> Any:
        return (self.joining, self.finds_right)

    @property
    def __name__(self) -> str:
        return "merge"

    def __call__(self, block: Any, lookup: Lookup) -> Any:
        if on_device.is_on_device(block):
            return self.joining(block, lookup.frame)
        columns = [block[key] for key in self.keys]
        if self.joining.how in ("leftsemi", "leftanti"):
            kept = self.kept(lookup, columns)
            if kept is None:
                return self._by_pandas(block, lookup.frame)
            return block if _are_all(kept, block) else block.take(kept)
        found = lookup.find(columns)
        if found is None:
            return self._by_pandas(block, lookup.frame)
        rows, others = found
        return self._assembled(block, *self.pairs(rows, others), lookup.frame)

    @property
    def shared(self) -> tuple[Any, ...]:
        """The keys that are one column of the result."""
        return (self.joining.left_on or ()) if self.joining.same_keys else ()

    @property
    def keys(self) -> tuple[Any, ...]:
        """The key columns of the block."""
        return (self.joining.left_on if self.finds_right else self.joining.right_on) or ()

    def kept(self, lookup: Lookup, columns: list[Any]) -> Any:
        """Return which rows are kept of those that have, or lack, a partner; a whole slice means all, None that only pandas can tell."""
        found = lookup.has(columns)
        return None if found is None else np.flatnonzero(found if self.joining.how == "leftsemi" else ~found)

    def pairs(self, rows: Any, others: Any) -> tuple[Any, Any, bool]:
        """Return the pairs of rows that the join keeps of those found, and whether -1 is among the others'."""
        is_missing = others < 0
        if not is_missing.any():
            return rows, others, False
        if self.joining.how != "inner":
            return rows, others, True
        kept = np.flatnonzero(~is_missing)
        return kept if rows is None else rows[kept], others[kept], False

    def _by_pandas(self, block: Any, found: Any) -> Any:
        if self.finds_right:
            return self.joining(block, found)
        number = "_row"
        while number in block.columns or number in found.columns:
            number += "_"
        joined = self.joining(found, block.assign(**{number: np.arange(len(block))}))
        rows = joined.pop(number).to_numpy()
        return joined.take(np.argsort(rows, kind="stable")).reset_index(drop=True)

    def _assembled(self, block: Any, rows: Any, others: Any, has_missing: bool, found: Any) -> Any:
        """Return the frame of pairs of rows, with its columns as pandas names and orders them."""
        own = _Taken(block, rows, False)
        theirs = _Taken(found, others, has_missing)
        left, right = (own, theirs) if self.finds_right else (theirs, own)
        shared = self.shared
        columns = [(own if name in shared else left)(name) for name in left.frame.columns]
        columns += [right(name) for name in right.frame.columns if name not in shared]
        columns = [
            pd.Series(one, dtype=object) if one.dtype == object else one for one in columns
        ]  # no text, as pandas 3
        made = pd.DataFrame(dict(enumerate(columns)), index=pd.RangeIndex(len(others)), copy=False)
        made.columns = result_columns(left.frame.columns, right.frame.columns, self.joining)
        return made


@dataclass(frozen=True)
class _Taken:
    """Rows of a frame, column by column: those at places `rows` (None: all), missing ones at -1."""

    frame: Any
    rows: Any
    has_missing: bool

    def __call__(self, name: Any) -> Any:
        column = self.frame[name]
        array = column.to_numpy() if isinstance(column.dtype, np.dtype) else column.array
        if self.rows is None:
            return array
        return taken(array, self.rows, has_missing=self.has_missing)


@dataclass(frozen=True)
class JoinForm:
    """The Arrow form of a `JoinByLookup`: the rows of both sides are chosen, and columns taken when they are needed."""

    join: JoinByLookup
    labels: pd.Index

    def __call__(self, block: Any, lookup: Lookup) -> Any:
        if isinstance(block, pd.DataFrame):
            block = block_of(block)
        if type(block) is not TableBlock:
            return NotImplemented
        keys = [block.series(key) for key in self.join.keys]
        if self.join.joining.how in ("leftsemi", "leftanti"):
            kept = self.join.kept(lookup, keys)
            if kept is None:
                return NotImplemented
            return block if _are_all(kept, block) else block.of_rows(block.rows.at(kept))
        found = lookup.find(keys)
        if found is None:
            return NotImplemented
        rows, others = found
        rows, others, has_missing = self.join.pairs(rows, others)
        others = others.astype(np.intp, copy=False)
        own = block.columns
        if rows is not None:
            chosen = Rows.numbered(rows)
            own = {name: column.of_rows(chosen) for name, column in own.items()}
        theirs = _columns_of(lookup.frame, others, has_missing)
        left, right = (own, theirs) if self.join.finds_right else (theirs, own)
        shared = self.join.shared
        columns = [own[name] if name in shared else column for name, column in left.items()]
        columns += [column for name, column in right.items() if name not in shared]
        made = dict(zip(self.labels, columns, strict=True))
        return TableBlock(made, self.labels, Rows(len(others), lambda: pd.RangeIndex(len(others))))


def _columns_of(frame: Any, rows: Any, has_missing: bool) -> dict[Any, Column]:
    """Return the columns of the rows at some places, missing ones at -1."""
    chosen = Rows.numbered(rows)
    if has_missing:
        taken = _Taken(frame, rows, True)
        return {name: Column(Values(partial(taken, name))) for name in frame.columns}
    return {name: column.of_rows(chosen) for name, column in block_of(frame).columns.items()}


def _are_all(kept: Any, block: Any) -> bool:
    return isinstance(kept, slice) or len(kept) == len(block)


def can_join_by_lookup(left: Any, right: Any, joining: Joining, by_pandas: Callable[[], Any]) -> bool:
    """Whether frames with these metas, which pandas joins to ``by_pandas()``, can be joined by look-up of either side.

    pandas isn't asked where its answer is known.
    """
    own, others = joining.left_on, joining.right_on
    if own is None or others is None or joining.indicator or joining.validate is not None:
        return False
    if joining.left_index or joining.right_index or joining.how in ("outer", "cross", *ANTI) or len(own) != len(others):
        return False
    if not are_columns(left, right, joining):
        return False
    if not joining.same_keys and set(own) & set(others):
        return False
    if not have_keys_to_look_up(left, right, joining):
        return False
    if joining.how in ("leftsemi", "leftanti"):
        return True
    columns = result_columns(names_of(left), names_of(right), joining)
    return _are_plain(left.columns, right.columns, columns, joining) or columns.identical(by_pandas().columns)


def are_columns(left: Any, right: Any, joining: Joining) -> bool:
    """Whether the keys of a join of frames with these metas are columns, as many on both sides, whose labels occur once."""
    own, others = joining.left_on, joining.right_on
    if own is None or others is None or len(own) != len(others):
        return False
    if not (left.columns.is_unique and right.columns.is_unique):
        return False
    return all(key in left.columns for key in own) and all(key in right.columns for key in others)


def have_keys_to_look_up(left: Any, right: Any, joining: Joining) -> bool:
    """Whether the keys of a join, which are columns of frames with these metas, have equal dtypes that can be looked up."""
    keys = zip(joining.left_on or (), joining.right_on or (), strict=True)
    pairs = [(left[one].dtype, right[other].dtype) for one, other in keys]
    return all(one == other and can_look_up(one) for one, other in pairs)


def _are_plain(left: pd.Index, right: pd.Index, columns: pd.Index, joining: Joining) -> bool:
    """Whether columns are texts, which pandas joins to `columns` and objects to nothing."""
    are_texts = all(
        type(one) is pd.Index and one.inferred_type == "string" and one.name is None for one in (left, right)
    )
    has_one_dtype = left.dtype == right.dtype == columns.dtype
    keys = (joining.left_on or (), joining.right_on or ())
    are_distinct = columns.is_unique and all(len(set(one)) == len(one) for one in keys)
    return are_texts and has_one_dtype and are_distinct and all(type(one) is str for one in joining.suffixes)

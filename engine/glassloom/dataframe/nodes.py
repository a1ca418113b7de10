"""Nodes of frame expressions: the properties that every frame has, and the block-wise operations.

A frame is a sequence of partitions. Each node has these properties without computing anything:

* ``meta``: an empty pandas object of the result's kind, columns and dtypes. For a scalar, or a series of one value for
  each column (the sum of a frame): made-up values;
* ``divisions``: the index labels at which partitions begin and the last one ends, or None for each if not known;
* ``rows``: a token of which rows there are, in which order. Frames with equal `rows` correspond row by row;
* ``layout``: a token of which index labels may be in which partition. Frames of equal `layout` can be combined
  partition by partition;
* ``lengths``: the number of rows of each partition, where that is known without computing;
* ``hashed_by``: the columns by which rows have been shuffled, if they have;
* ``has_unique_labels``: whether it is known that no index label occurs twice in a partition.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, ClassVar, Self

import pandas as pd

from glassloom import config
from glassloom.backends.made_up_categories import with_unknown_categories
from glassloom.backends.pandas_ import columns_of, concat_arrays, is_frame, own, rows_between
from glassloom.backends.pandas_version import HAS_COPY_ON_WRITE
from glassloom.dataframe.arrow.forms import AssignForm, Form, SelectForm, WithForm, filter_form, series_form
from glassloom.dataframe.block_steps import chosen_rows, with_columns
from glassloom.dataframe.bottom_up import found_bottom_up
from glassloom.dataframe.call import Block, BlockCall
from glassloom.dataframe.derived_meta import chosen_meta, derived_meta, meta_with_columns
from glassloom.dataframe.widening import concat_promised
from glassloom.expr import Blockwise, Expr, Persisted
from glassloom.expr.blockwise import Mapping as BlockMapping
from glassloom.expr.siblings import Siblings
from glassloom.graph import Key, Task, tokenize

_BLOCK = Block(0)


class FrameExpr(Expr):
    """A partitioned frame, series or index, or a scalar made of one."""

    adds_no_rows: ClassVar[bool] = False
    """Whether all rows are those of `frame`, or some of them."""
    makes_unlike_dtypes: ClassVar[bool] = False
    """Whether a caller's code makes the partitions, so that columns may have another dtype in some of them."""
    keeps_memory: ClassVar[bool] = False
    """Whether to pandas it is `frame` itself, in whichever partitions."""
    mirror: Any = None
    """What `own_columns` notes of it. A pickle has none."""
    is_copy: bool = False
    """Whether pandas has copied the values."""
    narrowed: Callable[[list[Any]], FrameExpr] | None = None
    """Makes a node with some of its columns, of less, where that was noted. A pickle has none."""

    @cached_property
    def meta(self) -> Any:
        """An empty object like the result."""
        raise NotImplementedError

    @cached_property
    def divisions(self) -> tuple[Any, ...]:
        """``npartitions + 1`` index labels, or as many times None if they are not known."""
        raise NotImplementedError

    @property
    def keeps_backend(self) -> bool:
        """Whether it works on partitions of whichever library, and makes such: see `glassloom.dataframe.backend`."""
        return False

    @property
    def takes_any_library(self) -> bool:
        """Whether it takes partitions of whichever library, though it makes pandas' objects."""
        return False

    @found_bottom_up
    def backend(self) -> str:
        """The library of the partitions, such as ``"pandas"``. `meta` is pandas' in any case."""
        if not self.keeps_backend:
            return "pandas"
        found = (one.backend for one in self.dependencies if isinstance(one, FrameExpr) and one.backend != "pandas")
        return next(found, "pandas")

    @property
    def npartitions(self) -> int:
        return len(self.divisions) - 1

    @property
    def numblocks(self) -> tuple[int, ...]:
        return (self.npartitions,)

    @property
    def rows(self) -> str:
        return self.name

    @property
    def layout(self) -> str:
        return self.rows

    @property
    def lengths(self) -> tuple[int, ...] | None:
        return None

    @property
    def hashed_by(self) -> tuple[Any, ...] | None:
        """The columns whose hash says in which partition a row is (none: the index labels'); None: nothing does."""
        return None

    @property
    def has_unique_labels(self) -> bool:
        """Whether it is known that no index label occurs twice in a partition: then rows of other frames have one partner at most."""
        return False

    @property
    def has_rows(self) -> bool:
        """Whether this is a frame, series or index, not a scalar."""
        return is_frame(self.meta)

    def output_keys(self) -> list[Key]:
        return [(self.name, number) for number in range(self.npartitions)]

    def assemble(self, blocks: list[Any]) -> Any:
        if is_frame(blocks[0]):
            return own(concat_promised(self.meta, blocks))
        is_array = len(blocks) > 1 and getattr(blocks[0], "ndim", 0) == 1  # as a comparison of labels makes
        return concat_arrays(blocks) if is_array else blocks[0]

    def rebuild(self, operands: Sequence[Any]) -> Self:
        """Return a node of this class with other operands. It has this one's meta if what that is made of stays."""
        made = super().rebuild(operands)
        known = self.__dict__.get("meta")
        if known is not None and all(map(_have_equal_metas, made.operands, self.operands)):
            made.__dict__.setdefault("meta", known)
        return made

    def persisted(self, held: Any = None, name: str | None = None) -> Expr:
        lengths, name = self.lengths, name or self.name
        blocks = [held[name, number] for number in range(self.npartitions)] if isinstance(held, dict) else []
        if lengths is None and blocks and all(map(is_frame, blocks)):  # not futures
            lengths = tuple(map(len, blocks))
        return Held(
            Persisted(name, held), name, self.meta, self.divisions, lengths, (self.rows, self.layout),
            self.hashed_by, self.backend, self.has_unique_labels, origin=self.origin,
        )  # fmt: skip


def _have_equal_metas(new: Any, old: Any) -> bool:
    """Whether two operands are one, or nodes whose metas are. What has no meta stands for what it is made of."""
    if new is old:
        return True
    if isinstance(new, FrameExpr) and isinstance(old, FrameExpr):
        if new.meta is not None or type(new) is not type(old):
            return new.meta is old.meta
        new, old = new.operands, old.operands
    is_pair = type(new) is type(old) is tuple and len(new) == len(old)
    return is_pair and all(map(_have_equal_metas, new, old))


class Held(FrameExpr):
    """A frame whose partitions the runtime holds. Its name is that of the node they were made by, as their keys are."""

    parameters = (
        "source", "key_name", "held_meta", "held_divisions", "held_lengths", "identity", "held_hashed_by", "held_backend",
        "held_has_unique_labels",
    )  # fmt: skip
    operation = "persisted"

    source: Persisted
    key_name: str
    held_meta: Any
    held_divisions: tuple[Any, ...]
    held_lengths: tuple[int, ...] | None
    identity: tuple[str, str]
    held_hashed_by: tuple[Any, ...] | None
    held_backend: str
    held_has_unique_labels: bool

    @cached_property
    def backend(self) -> str:
        return self.held_backend

    def __init__(self, *operands: Any, origin: Any = None) -> None:
        super().__init__(*operands, origin=origin)
        self.name = self.key_name

    @cached_property
    def meta(self) -> Any:
        return self.held_meta

    @cached_property
    def divisions(self) -> tuple[Any, ...]:
        return self.held_divisions

    @property
    def rows(self) -> str:
        return self.identity[0]

    @property
    def layout(self) -> str:
        return self.identity[1]

    @property
    def lengths(self) -> tuple[int, ...] | None:
        return self.held_lengths

    @property
    def hashed_by(self) -> tuple[Any, ...] | None:
        return self.held_hashed_by

    @property
    def has_unique_labels(self) -> bool:
        return self.held_has_unique_labels

    def output_keys(self) -> list[Key]:
        return [(self.key_name, number) for number in range(self.npartitions)]

    def tasks(self) -> dict[Key, Task]:
        return self.source.tasks(self.output_keys())

    def persisted(self, held: Any = None, name: str | None = None) -> Expr:
        return self


class Constant(FrameExpr):
    """A scalar whose value is known."""

    parameters = ("value",)
    divisions = (None, None)

    value: Any

    @cached_property
    def meta(self) -> Any:
        return self.value

    def tasks(self) -> dict[Key, Task]:
        return {(self.name, 0): Task((self.name, 0), _same, (self.value,))}


class FrameBlockwise(FrameExpr, Blockwise):
    """A frame each of whose partitions is made of one partition of each dependency."""

    @property
    def keeps_no_views(self) -> bool:
        """Whether no result keeps the memory of a partition that was read: then columns needn't be copied on the way."""
        return False

    def output_keys(self) -> list[Key]:
        return FrameExpr.output_keys(self)

    @property
    def mappings(self) -> list[BlockMapping]:
        return [(None,) if self.is_broadcast(dependency) else (0,) for dependency in self.dependencies]

    def is_broadcast(self, dependency: Expr) -> bool:
        """Whether all partitions need the dependency's only block."""
        return isinstance(dependency, FrameExpr) and dependency.npartitions == 1 and self.npartitions != 1

    @property
    def arrow_form(self) -> Form | None:
        """What it does with the blocks of `glassloom.dataframe.arrow`, if it can; see there."""
        return None

    def member_function(self, member: Blockwise) -> Callable[..., Any]:
        function = member.function
        if self.keeps_no_views and isinstance(member, Projection):
            function = member.view_function
        if not (isinstance(member, FrameBlockwise) and config.get("dataframe.arrow")):
            return function
        return WithForm(function, member.arrow_form, reads=member.makes_blocks)

    def outer_function(self, function: Callable[..., Any], *, is_own: bool = True) -> Callable[..., Any]:
        if not config.get("dataframe.arrow"):
            return function
        return WithForm(function, self.arrow_form if is_own else None, is_last=True)

    @property
    def makes_blocks(self) -> bool:
        """Whether its Arrow form makes blocks of what isn't a block."""
        return False


def runs_on_arrow(root: Blockwise, member: Blockwise) -> bool:
    """Whether a member of fused nodes is called with Arrow's columns, where it gets them or makes them."""
    is_of_frames = isinstance(root, (FrameBlockwise, Siblings))
    is_on = is_of_frames and isinstance(member, FrameBlockwise) and bool(config.get("dataframe.arrow"))
    return is_on and member.arrow_form is not None  # type: ignore[attr-defined]


class BlockOp(FrameBlockwise):
    """A function of a frame's partition and of the corresponding partitions (or only blocks) of other nodes.

    Nothing is assumed of the function: the rows of its result are its own.
    """

    parameters: ClassVar[tuple[str, ...]] = ("frame", "others", "call")

    frame: FrameExpr
    others: tuple[FrameExpr, ...]
    call: BlockCall
    aligns_labels: ClassVar[bool] = False
    """Whether operands with rows of other labels are aligned by label."""

    @property
    def label(self) -> str:
        return self.call.label

    @property
    def keeps_backend(self) -> bool:
        return self.call.calls_methods

    @property
    def function(self) -> Callable[..., Any]:
        return self.call

    @cached_property
    def meta(self) -> Any:
        metas = [node.meta for node in self.operand_nodes]
        return derived_meta(lambda: self.call(*metas), self.call, *metas)

    @cached_property
    def divisions(self) -> tuple[Any, ...]:
        return (None,) * (self.frame.npartitions + 1)

    @found_bottom_up
    def layout(self) -> str:
        return self.frame.layout

    @property
    def operand_nodes(self) -> list[FrameExpr]:
        return [self.frame, *self.others]


class Relabelled(BlockOp):
    """The rows of each partition under labels that may be in several: ``reset_index`` counts them."""

    adds_no_rows = True

    @found_bottom_up
    def rows(self) -> str:
        return f"relabelled-{tokenize(self.frame.rows, self.call, [node.name for node in self.others])}"

    @property
    def has_unique_labels(self) -> bool:
        return isinstance(self.meta.index, pd.RangeIndex)


class LabelKeeping(BlockOp):
    """A block-wise operation each of whose rows has the index label of a row of the same partition."""

    @found_bottom_up
    def hashed_by(self) -> tuple[Any, ...] | None:
        return () if self.frame.hashed_by == () else None

    @found_bottom_up
    def divisions(self) -> tuple[Any, ...]:
        return self.frame.divisions


class SomeRows(LabelKeeping):
    """A block-wise operation that takes rows of each partition, all or some, and makes no more of them."""

    adds_no_rows = True

    @found_bottom_up
    def has_unique_labels(self) -> bool:
        return self.frame.has_unique_labels


class RowsByLabel(SomeRows):
    """Rows that are chosen by their labels or places alone, whatever columns there are."""

    @found_bottom_up
    def rows(self) -> str:
        of_frame = self.frame.rows, self.frame.layout  # the same rows may have other labels
        return f"chosen-{tokenize(of_frame, self.call, [node.name for node in self.others])}"


class Rowwise(SomeRows):
    """A block-wise operation that computes each row from the row at the same place alone."""

    aligns_labels = True

    @cached_property
    def keeps_rows(self) -> bool:
        """Whether the rows are those of the frame: False where operands with other rows are aligned by label."""
        return not any(map(self._has_own_rows, self.others))

    def _has_own_rows(self, node: FrameExpr) -> bool:
        return node.has_rows and not self.is_beside(node) and node.rows != self.frame.rows

    def is_beside(self, node: FrameExpr) -> bool:
        """Whether an operand is one for all partitions."""
        return self.is_broadcast(node)

    @cached_property
    def npartitions(self) -> int:
        return self.frame.npartitions

    @found_bottom_up
    def divisions(self) -> tuple[Any, ...]:
        if not self.keeps_rows and any(node.divisions[0] is None for node in self.others if self._has_own_rows(node)):
            return (None,) * (self.frame.npartitions + 1)  # labels of the other's are added to these
        return self.frame.divisions

    @found_bottom_up
    def rows(self) -> str:
        return self.frame.rows if self.keeps_rows else self.name

    @found_bottom_up
    def layout(self) -> str:
        return self.frame.layout

    @found_bottom_up
    def lengths(self) -> tuple[int, ...] | None:
        return self.frame.lengths if self.keeps_rows else None

    @found_bottom_up
    def has_unique_labels(self) -> bool:
        own = [node for node in self.others if self._has_own_rows(node)]
        return self.frame.has_unique_labels and all(node.has_unique_labels for node in own)

    @property
    def arrow_form(self) -> Form | None:
        metas = [node.meta for node in self.operand_nodes]
        return series_form(self.call, metas, self.meta) if self.keeps_rows else None


class Columnwise(Rowwise):
    """A row-wise operation of one frame that treats all columns alike, each by itself."""


class OfSameLabels(FrameBlockwise):
    """What is made of a frame's partitions, one of each, and has labels of its rows only."""

    frame: FrameExpr

    @found_bottom_up
    def divisions(self) -> tuple[Any, ...]:
        return self.frame.divisions

    @found_bottom_up
    def layout(self) -> str:
        return self.frame.layout

    @found_bottom_up
    def has_unique_labels(self) -> bool:
        return self.frame.has_unique_labels


class OfSameRows(OfSameLabels):
    """What is made of a frame's partitions and has their rows, each at its place."""

    @found_bottom_up
    def rows(self) -> str:
        return self.frame.rows

    @found_bottom_up
    def lengths(self) -> tuple[int, ...] | None:
        return self.frame.lengths


class Projection(OfSameRows):
    """One column (`columns` is a label) or some (a list) of a frame."""

    parameters = ("frame", "columns")
    operation = "getitem"

    frame: FrameExpr
    columns: Any

    keeps_backend = True
    adds_no_rows = True

    @property
    def labels(self) -> list[Any]:
        """The columns as a list, also if it is one."""
        return self.columns if isinstance(self.columns, list) else [self.columns]

    @cached_property
    def meta(self) -> Any:
        return chosen_meta(self.frame.meta, self.columns)

    @found_bottom_up
    def hashed_by(self) -> tuple[Any, ...] | None:
        keys = self.frame.hashed_by
        return keys if keys is not None and all(key in self.labels for key in keys) else None

    @property
    def function(self) -> Callable[..., Any]:
        return BlockCall(columns_of, (_BLOCK, self.columns), label="getitem")

    @property
    def view_function(self) -> Callable[..., Any]:
        """The function, but what it returns may keep the memory of all columns."""
        if not (HAS_COPY_ON_WRITE and isinstance(self.columns, list) and self.meta.columns.is_unique):
            return self.function
        return BlockCall(_view_columns, (_BLOCK, self.meta.columns), label="getitem")

    @property
    def arrow_form(self) -> Form | None:
        labels = self.meta.columns if isinstance(self.columns, list) else None
        if not self.frame.meta.columns.is_unique or (labels is not None and not labels.is_unique):
            return None
        return SelectForm(self.columns, labels)


class Assign(OfSameRows):
    """A frame with some columns added or replaced. `values` are series of the same rows, scalars or constants."""

    parameters = ("frame", "names", "values")

    frame: FrameExpr
    names: tuple[Any, ...]
    values: tuple[Any, ...]

    keeps_backend = True
    adds_no_rows = True

    @cached_property
    def meta(self) -> Any:
        values = [value.meta if isinstance(value, FrameExpr) else value for value in self.values]
        made = meta_with_columns(self.frame.meta, self.names, values)
        if made is not None:
            return made
        blocks = [node.meta for node in self.dependencies if isinstance(node, FrameExpr)]
        constants = [value for value in self.values if not isinstance(value, Expr)]
        return derived_meta(lambda: self.function(*blocks), Assign, self.names, *constants, *blocks)

    @found_bottom_up
    def hashed_by(self) -> tuple[Any, ...] | None:
        keys = self.frame.hashed_by
        return keys if keys is not None and not any(key in self.names for key in keys) else None

    @property
    def function(self) -> Callable[..., Any]:
        number = iter(range(1, len(self.values) + 1))
        places = tuple(Block(next(number)) if isinstance(value, Expr) else value for value in self.values)
        return BlockCall(with_columns, (_BLOCK, self.names, *places), label="assign")

    @property
    def arrow_form(self) -> Form | None:
        if not self.meta.columns.is_unique:
            return None
        _, names, *places = self.function.args  # type: ignore[attr-defined]
        return AssignForm(names, tuple(places), self.meta.columns)


class Filter(OfSameLabels):
    """The rows of a frame for which a boolean series is true; missing counts as false."""

    parameters = ("frame", "predicate")

    frame: FrameExpr
    predicate: FrameExpr

    keeps_backend = True
    adds_no_rows = True

    @cached_property
    def meta(self) -> Any:
        return self.frame.meta

    @found_bottom_up
    def rows(self) -> str:
        return f"filter-{tokenize(self.frame.rows, self.predicate.name)}"

    @found_bottom_up
    def hashed_by(self) -> tuple[Any, ...] | None:
        return self.frame.hashed_by

    @property
    def function(self) -> Callable[..., Any]:
        return chosen_rows

    @property
    def arrow_form(self) -> Form | None:
        return filter_form


def empty(value: Any) -> Any:
    """Return a frame without its rows; other values as they are. Categories of made-up rows that aren't known stay so."""
    return with_unknown_categories(rows_between(value, None, 0)) if is_frame(value) and len(value) else value


def _same(value: Any) -> Any:
    return value


def _view_columns(frame: Any, columns: pd.Index) -> Any:
    """Return columns of a frame without copying them, as ``frame[list]`` does; pandas copies them before one is written to."""
    if type(frame) is not pd.DataFrame:
        return frame[list(columns)]
    made = pd.DataFrame({place: frame[name] for place, name in enumerate(columns)}, index=frame.index, copy=False)
    made.columns = columns
    return made

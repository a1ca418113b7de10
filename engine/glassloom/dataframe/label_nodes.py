"""Nodes of labels that are made of others, and of rows under other labels: mostly it isn't known which of them are in which partition."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import pandas as pd

from glassloom.dataframe.nodes import BlockOp, Rowwise
from glassloom.graph import tokenize


class _OfOtherLabels(Rowwise):
    """A row for each row, where it isn't known which labels are in which partition."""

    aligns_labels = False

    @property
    def divisions(self) -> tuple[Any, ...]:
        return (None,) * (self.frame.npartitions + 1)

    @property
    def has_unique_labels(self) -> bool:
        return False


class NewLabels(_OfOtherLabels):
    """The same rows under other labels."""

    @property
    def rows(self) -> str:
        return f"labelled-{tokenize(self.frame.rows, self.call, [node.name for node in self.others])}"

    @property
    def layout(self) -> str:
        return self.name


class MovedLabels(NewLabels):
    """The same rows under labels that follow from their own one by one, in the same order: divisions follow in the same way."""

    @cached_property
    def divisions(self) -> tuple[Any, ...]:
        known = self.frame.divisions
        if known[0] is None:
            return known
        labels = pd.Index(list(known)).astype(self.frame.meta.index.dtype)
        return tuple(self.call(pd.Series(0, index=labels)).index)


class Labels(_OfOtherLabels):
    """Labels computed from other labels, one by one."""


class MappedLabels(Labels):
    """Labels that a user's function makes of labels; what it makes was given or tried out."""

    parameters = ("frame", "others", "call", "given_meta")

    given_meta: Any

    @property
    def meta(self) -> Any:
        return self.given_meta


class MovedIndex(Labels):
    """Labels that follow from other labels one by one, in the same order: divisions follow in the same way."""

    @cached_property
    def divisions(self) -> tuple[Any, ...]:
        known = self.frame.divisions
        return known if known[0] is None else tuple(self.call(pd.Index(list(known)).astype(self.frame.meta.dtype)))


class ChosenLabels(BlockOp):
    """Some of the labels that were made of others."""

    adds_no_rows = True

    @property
    def layout(self) -> str:
        return self.name


def kind_of_rows(index: Any) -> type[Rowwise]:
    """Return the kind of node of rows under an index: if it was made of other labels, it isn't known which are in a partition."""
    node = index.expr
    while isinstance(node, Rowwise):
        if isinstance(node, Labels):
            return NewLabels
        node = node.frame
    return NewLabels if isinstance(node, ChosenLabels) else Rowwise


def keeps_order(labels: pd.Index, freq: Any) -> bool:
    """Whether labels that are moved by a frequency, of periods also by None, are in the same order, and as many: always by the same length."""
    if isinstance(labels, pd.PeriodIndex):
        return True
    if not isinstance(labels, (pd.DatetimeIndex, pd.TimedeltaIndex)):
        return False
    offset = pd.tseries.frequencies.to_offset(freq)
    is_plain_day = isinstance(offset, pd.offsets.Day) and getattr(labels, "tz", None) is None
    return is_plain_day or isinstance(offset, pd.offsets.Tick)


def kind_of_moved(labels: pd.Index, freq: Any) -> type[Rowwise]:
    """Return the kind of node of an index that is moved by a frequency."""
    return MovedIndex if keeps_order(labels, freq) else Labels

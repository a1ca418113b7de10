"""`Joining`: how two frames are joined, and the join of two blocks by pandas. `AnyJoin`: what nodes of joins have in common."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from glassloom.backends.pandas_version import HAS_COPY_ON_WRITE
from glassloom.dataframe import on_device
from glassloom.dataframe.moving.empty_sides import StandIns
from glassloom.dataframe.moving.united_keys import united_keys, with_categories_of_both
from glassloom.dataframe.nodes import BlockOp, FrameExpr
from glassloom.dataframe.widening import is_widening

ANTI = ("left_anti", "right_anti")
"""pandas' own joins of what has no partner, since version 3. Dask's ``leftanti`` has the left columns alone."""


@dataclass(frozen=True)
class Joining:
    """How two frames are joined: pandas' arguments. Keys are lists or None."""

    how: str
    left_on: tuple[Any, ...] | None
    right_on: tuple[Any, ...] | None
    left_index: bool
    right_index: bool
    same_keys: bool
    """Whether the keys were given by `on`: then they are one column of the result."""
    suffixes: tuple[str | None, str | None]
    indicator: bool | str
    validate: str | None
    right_integers: tuple[Any, ...] = ()
    """The right columns of NumPy's whole numbers. Blocks on a device don't tell them from pandas' nullable ones."""
    united_keys: tuple[tuple[Any, Any], ...] = ()
    """The pairs of keys that are categories on both sides, not known before on one of them: they get the categories of both."""
    whole: str | None = None
    """The side of which each block is all; the other one's blocks may lack rows though that side has some."""

    def __glassloom_tokenize__(self) -> Any:
        return tuple(vars(self).values())

    def with_united_keys(self, left: Any, right: Any) -> Joining:
        """Return the same, knowing which keys are categories of which those of a side with this meta aren't known."""
        found = united_keys(left, right, self)
        return replace(self, united_keys=found) if found else self

    def with_right(self, right: Any) -> Joining:
        """Return the same, knowing which columns of a right frame with this meta are NumPy's whole numbers, if that matters."""
        if self.how != "left" or not self.runs_on_device:
            return self
        dtypes = zip(right.columns, right.dtypes, strict=True)
        found = tuple(name for name, dtype in dtypes if isinstance(dtype, np.dtype) and dtype.kind in "iu")
        return replace(self, right_integers=found)

    @property
    def runs_on_device(self) -> bool:
        """Whether the library of a device joins two blocks as pandas does."""
        has_keys = (
            not self.left_index and not self.right_index and self.left_on is not None and self.right_on is not None
        )
        shares_some = not self.same_keys and set(self.left_on or ()) & set(self.right_on or ())
        is_plain = not self.indicator and self.validate is None
        return has_keys and not shares_some and self.how in ("inner", "left") and is_plain

    def __call__(self, left: Any, right: Any, left_keys: Any = None, right_keys: Any = None) -> Any:
        """Return the join of two blocks; on a device, if one of them is there.

        Parameters
        ----------
        left, right
            The blocks.
        left_keys, right_keys
            The keys of a row of each whole side (see `empty_sides`), or None.
        """
        if on_device.is_on_device(left) or on_device.is_on_device(right):
            columns = result_columns(left.columns, right.columns, self)
            shared = set(self.left_on or ()) if self.same_keys else set()
            from_right = [name for name in right.columns if name not in shared]
            places = zip(columns[len(left.columns) :], from_right, strict=True)
            return on_device.merged(
                left, right, self.how, self.left_on or (), self.right_on or (), same=self.same_keys, suffixes=self.suffixes,
                columns=columns, integers=[label for label, name in places if name in self.right_integers],
            )  # fmt: skip
        options: dict[str, Any] = {
            "how": self.how, "left_index": self.left_index, "right_index": self.right_index,
            "suffixes": self.suffixes, "indicator": self.indicator, "validate": self.validate,
        }  # fmt: skip
        if self.same_keys:
            options["on"] = None if self.left_on is None else list(self.left_on)
        else:
            options["left_on"] = None if self.left_on is None else list(self.left_on)
            options["right_on"] = None if self.right_on is None else list(self.right_on)
        if self.how in ("leftsemi", "leftanti"):
            return _chosen_rows(left, right, {**options, "how": "left", "indicator": "_merge"}, self.how)
        for pair in self.united_keys:
            left, right = with_categories_of_both(left, right, pair)
        stand_ins = StandIns.of(left, right, left_keys, right_keys, self.whole)
        made = pd.merge(left, right, **options) if stand_ins is None else stand_ins.joined(self, options)
        if stand_ins is not None and not len(made):
            made = _as_narrow(made, left.iloc[:0], right.iloc[:0], options, self)
        is_told = (
            HAS_COPY_ON_WRITE and len(left) and len(right)
        )  # before, pandas has a name that depends on the order of the labels
        if self.left_index and self.right_index and not is_told:
            labels = right.index if self.how == "right" else left.index
            made.index.names = labels.names if labels.nlevels == made.index.nlevels else made.index.names
        if not len(left) and self.how == "inner" and self.right_index and not self.left_index:
            made.index = left.index[:0]  # pandas has whole numbers, other than where there are rows
        return made

    @property
    def __name__(self) -> str:
        return "merge"


def _as_narrow(made: Any, left: Any, right: Any, options: dict[str, Any], joining: Joining) -> Any:
    """Return a join without rows whose columns, but for keys, and labels are no wider than those of blocks: no value of them is missing."""
    own = pd.merge(left, right, **options)
    keys = {*(joining.left_on or ()), *(joining.right_on or ())}
    pairs = enumerate(zip(own.columns, own.dtypes, made.dtypes, strict=True))
    wide = {place: dtype for place, (name, dtype, found) in pairs if name not in keys and is_widening(dtype, found)}
    made = made.copy(deep=False) if wide else made
    for place, dtype in wide.items():
        column: Any = made.iloc[:, place].astype(dtype)
        made.isetitem(place, column)
    labels = None if joining.left_index == joining.right_index else (left if joining.right_index else right).index
    has_wide = labels is not None and is_widening(labels.dtype, made.index.dtype)
    return made.set_axis(made.index.astype(labels.dtype), axis=0) if has_wide else made  # type: ignore[union-attr]


def result_columns(left: Any, right: Any, joining: Joining) -> pd.Index:
    """Return the columns of a join of frames with these, as `pandas.merge` names them."""
    return pd.Index(result_names(left, right, joining))


def result_names(left: Any, right: Any, joining: Joining) -> list[Any]:
    """Return the labels of the columns of a join. See `result_columns`."""
    shared = set(joining.left_on or ()) if joining.same_keys else set()
    both = (set(left) & set(right)) - shared
    suffixes = [suffix or "" for suffix in joining.suffixes]
    names = [f"{name}{suffixes[0]}" if name in both and suffixes[0] else name for name in left]
    names += [f"{name}{suffixes[1]}" if name in both and suffixes[1] else name for name in right if name not in shared]
    return names


class AnyJoin(BlockOp):
    """Partitions of a frame, each joined with a partition of another one, or with all of it."""

    @property
    def keeps_backend(self) -> bool:
        return False

    @property
    def joining(self) -> Joining:
        """How they are joined."""
        raise NotImplementedError

    @property
    def sides(self) -> tuple[FrameExpr, FrameExpr]:
        """The left and the right frame."""
        raise NotImplementedError

    @property
    def layout(self) -> str:
        return self.name

    @property
    def has_unique_labels(self) -> bool:
        return not (self.joining.left_index or self.joining.right_index) and self.joining.how not in (
            "leftsemi",
            "leftanti",
        )


def _chosen_rows(left: Any, right: Any, options: dict[str, Any], how: str) -> Any:
    """Return the rows of the left block whose keys the right one has, or hasn't."""
    keys = options.get("on") or options.get("right_on")
    table = right if not keys else right[[key for key in keys if key in right.columns]]
    table = table[[]][~table.index.duplicated()] if options["right_index"] else table.drop_duplicates()
    numbered = left.assign(_row=range(len(left)))
    joined = numbered.merge(table, **options)
    rows = joined.loc[joined["_merge"] == ("both" if how == "leftsemi" else "left_only"), "_row"]
    return left.take(rows.to_numpy())

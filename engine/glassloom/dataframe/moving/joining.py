"""`Joining`: how two frames are joined, and the join of two blocks by pandas. `AnyJoin`: what nodes of joins have in common."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd

from glassloom.dataframe.nodes import BlockOp, FrameExpr


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

    def __glassloom_tokenize__(self) -> Any:
        return tuple(vars(self).values())

    def __call__(self, left: Any, right: Any) -> Any:
        """Return the join of two blocks."""
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
        return pd.merge(left, right, **options)

    @property
    def __name__(self) -> str:
        return "merge"


class AnyJoin(BlockOp):
    """Partitions of a frame, each joined with a partition of another one, or with all of it."""

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


def _chosen_rows(left: Any, right: Any, options: dict[str, Any], how: str) -> Any:
    """Return the rows of the left block whose keys the right one has, or hasn't."""
    keys = options.get("on") or options.get("right_on")
    table = right if not keys else right[[key for key in keys if key in right.columns]]
    table = table[[]][~table.index.duplicated()] if options["right_index"] else table.drop_duplicates()
    numbered = left.assign(_row=range(len(left)))
    joined = numbered.merge(table, **options)
    rows = joined.loc[joined["_merge"] == ("both" if how == "leftsemi" else "left_only"), "_row"]
    return left.take(rows.to_numpy())

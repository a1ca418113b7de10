"""Which rows each group has, as pandas says it: dicts as long as all labels together, computed when they are asked for."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from glassloom.collection import compute
from glassloom.dataframe.nodes import Projection
from glassloom.dataframe.wrap import wrap

if TYPE_CHECKING:
    from glassloom.dataframe.grouping.wholes import Grouping


class GroupsAtHand:
    """What pandas' groups have as properties."""

    _grouping: Grouping
    _binned: Any

    @property
    def groups(self) -> Any:
        """The labels of each group's rows, in a dict by key. Computes the keys of all rows: iterating, and `size`, need less memory."""
        return self._of_pandas("groups", "size() has the bins").groups

    @property
    def indices(self) -> Any:
        """The positions of each group's rows, in a dict by key. Computes the keys of all rows."""
        return self._of_pandas("indices", "ngroup() numbers the rows").indices

    def _of_pandas(self, name: str, instead: str) -> Any:
        """Compute the keys of all rows, and return pandas' groups of them."""
        if self._binned:
            raise NotImplementedError(f"GroupBy.{name} isn't there of bins of times: {instead}")
        grouping = self._grouping
        recipe = replace(grouping.recipe, selection=None)
        node = grouping.node
        if not grouping.is_series:
            node = Projection(node, list(dict.fromkeys(recipe.key_columns)))
        block, *keys = compute(wrap(node), *map(wrap, grouping.blocks))
        return recipe.grouped(block, *keys)

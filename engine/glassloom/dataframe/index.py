"""`Index`: the lazy labels of rows."""

from __future__ import annotations

from typing import Any

from glassloom.dataframe.base import Frame
from glassloom.dataframe.call import Attribute, Method
from glassloom.dataframe.nodes import Columnwise
from glassloom.dataframe.reduce import reduce_columns
from glassloom.dataframe.text import frame_html, frame_text
from glassloom.dataframe.wrap import operate, wrap, wraps


@wraps("index")
class Index(Frame):
    """A lazy pandas Index, cut into partitions. Attributes of pandas' index such as ``year`` work too."""

    def __repr__(self) -> str:
        return frame_text(self)

    def _repr_html_(self) -> str:
        return frame_html(self)

    @property
    def dtype(self) -> Any:
        """The labels' dtype."""
        return self._meta.dtype

    @property
    def name(self) -> Any:
        """The name of the index."""
        return self._meta.name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or not isinstance(getattr(type(self._meta), name, None), property):
            raise AttributeError(f"Index has no attribute {name!r}")
        return operate(Attribute(name), self)

    def isin(self, values: Any) -> Any:
        """Return where labels are among `values`."""
        return operate(Method("isin"), self, values, kind=Columnwise)

    def to_series(self) -> Any:
        """Return the labels as a series with themselves as index."""
        return operate(Method("to_series"), self)

    def min(self, *, split_every: int | None = None) -> Any:
        """Return the smallest label."""
        return wrap(reduce_columns(self.to_series().expr, "min", {}, split_every))

    def max(self, *, split_every: int | None = None) -> Any:
        """Return the largest label."""
        return wrap(reduce_columns(self.to_series().expr, "max", {}, split_every))

    def nunique(self, *, split_every: int | None = None) -> Any:
        """Return the number of distinct labels."""
        return wrap(reduce_columns(self.to_series().expr, "nunique", {}, split_every))

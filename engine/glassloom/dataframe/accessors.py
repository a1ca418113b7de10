"""`series.str`, `series.dt` and `series.cat`: whatever pandas' accessors offer, partition by partition."""

from __future__ import annotations

from typing import Any

from glassloom.dataframe.call import Attribute, Method
from glassloom.dataframe.wrap import operate

_NOT_ROW_BY_ROW = {"str": {"cat", "get_dummies"}, "cat": set(), "dt": set()}


class Accessor:
    """The methods and properties of a pandas accessor, each a lazy operation on the series."""

    def __init__(self, series: Any, name: str) -> None:
        getattr(series.expr.meta, name)  # raises as pandas does if the dtype has no such accessor
        self._series = series
        self._name = name

    def __dir__(self) -> list[str]:
        return [name for name in dir(getattr(self._series.expr.meta, self._name)) if not name.startswith("_")]

    def __getitem__(self, key: Any) -> Any:
        return operate(Method(self._name, "__getitem__"), self._series, key, label="getitem")

    def __getattr__(self, attribute: str) -> Any:
        accessor = getattr(self._series.expr.meta, self._name)
        if attribute.startswith("_") or not hasattr(type(accessor), attribute) and not hasattr(accessor, attribute):
            raise AttributeError(f"pandas' .{self._name} has no attribute {attribute!r}")
        if attribute in _NOT_ROW_BY_ROW[self._name]:
            raise NotImplementedError(f".{self._name}.{attribute} needs all partitions at once; use map_partitions")
        if not callable(getattr(accessor, attribute)):
            return operate(Attribute(self._name, attribute), self._series)

        def method(*args: Any, **kwargs: Any) -> Any:
            return operate(Method(self._name, attribute), self._series, *args, kwargs=kwargs)

        method.__name__ = attribute
        method.__doc__ = getattr(type(accessor), attribute).__doc__
        return method


class Categories(Accessor):
    """``series.cat``. Categories that were made partition by partition are unknown until all values have been read."""

    @property
    def known(self) -> bool:
        """Whether the categories are known without computing."""
        return len(self._series.expr.meta.cat.categories) > 0

    def as_known(self) -> Any:
        """Return the series with its categories known, sorted as pandas has them. Computes the distinct values, now."""
        if self.known:
            return self._series
        return self._with_present()

    def as_unknown(self) -> Any:
        """Return the series without known categories."""
        series = self._series
        meta = series.expr.meta.cat.set_categories([])
        return series.map_partitions(_same, meta=meta, keep_divisions=True)

    def remove_unused_categories(self) -> Any:
        """Return the series with only the categories that occur. Computes the distinct values, now."""
        if not self.known:
            return self._with_present()
        present = set(self._series.dropna().unique().compute())
        categories = self._series.expr.meta.cat.categories
        return self.set_categories(categories[[one in present for one in categories]])

    def _with_present(self) -> Any:
        values = self._series.dropna().unique().compute()
        plain = values.astype(values.cat.categories.dtype)
        return operate(Method("cat", "set_categories"), self._series, plain.astype("category").cat.categories)

    def __getattr__(self, attribute: str) -> Any:
        if not attribute.startswith("_") and not self.known and attribute in _NEED_CATEGORIES:
            raise NotImplementedError(
                f".cat.{attribute}: the categories aren't known, as each partition has its own; use .cat.as_known() before"
            )
        if attribute in ("categories", "ordered"):
            return getattr(self._series.expr.meta.cat, attribute)
        return super().__getattr__(attribute)


_NEED_CATEGORIES = frozenset(
    ["categories", "codes", "ordered", "reorder_categories", "rename_categories", "remove_categories"]
)


def _same(block: Any) -> Any:
    return block

"""`series.str`, `series.dt` and `series.cat`: whatever pandas' accessors offer, partition by partition."""

from __future__ import annotations

from typing import Any

from glassloom.dataframe.call import Attribute, Method
from glassloom.dataframe.wrap import operate

_NOT_ROW_BY_ROW = {"str": {"cat", "get_dummies"}, "cat": {"remove_unused_categories"}, "dt": set()}


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

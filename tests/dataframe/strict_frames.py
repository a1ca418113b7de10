"""A library of frames in place of cuDF, for tests: pandas' methods on objects that pandas' own functions don't take. Counts moves.

As with cuDF, sums of groups without values are missing, rows of joins and groups come in another order than pandas', methods that cuDF lacks are
lacking, whole numbers divided by 0 are whole numbers, and there are no complex numbers.
"""

from __future__ import annotations

import pandas as pd

MOVES = {"to": 0, "from": 0, "rows": 0, "columns": set()}
_KINDS = {"frame": pd.DataFrame, "series": pd.Series, "index": pd.Index}
_LACKING_IN_ALL = (
    "aggregate align asfreq at_time between_time combine combine_first compare droplevel expanding filter first_valid_index get idxmax idxmin infer_objects "
    "last_valid_index reindex_like rename_axis reorder_levels sem to_period to_sql to_timestamp transform tz_convert tz_localize xs"
)
_LACKING = {
    "frame": _LACKING_IN_ALL + " corrwith isetitem set_axis",
    "series": _LACKING_IN_ALL + " agg argmax argmin case_when divmod info item nbytes rdivmod swaplevel to_csv unstack",
    "index": "item map nbytes round value_counts",
    "scalar": "casefold decode encode extractall fullmatch get_dummies isascii normalize as_unit asfreq end_time qyear start_time to_period to_timestamp",
}
LACKING = {kind: set(names.split()) for kind, names in _LACKING.items()}
"""What pandas has and cuDF 26.10.2 doesn't, by looking for the names in it on 27 November 2026. The last is accessors."""


class Strict:
    """A frame, series or index on no host: only its methods reach the data."""

    def __init__(self, data):
        self._data = data

    def __getattr__(self, name):
        if name.startswith("__") or name in LACKING[kind_of(self)]:
            raise AttributeError(name)
        value = getattr(self._data, name)
        if name in ("mod", "floordiv", "rmod", "rfloordiv"):
            return lambda other, **kwargs: wrapped(
                _divided(value(unwrapped(other), **kwargs), self._data, unwrapped(other))
            )
        return value if name == "columns" else wrapped(value)  # cuDF's are pandas' too

    def groupby(self, *args, **kwargs):
        return _Groups(self._data.groupby(*unwrapped(args), **unwrapped(kwargs)))

    def merge(self, right, **kwargs):
        if not isinstance(right, Strict):
            raise TypeError("join of a frame on the device with one on the host")
        return Strict(self._data.merge(right._data, **kwargs).iloc[::-1])

    def __reduce__(self):
        return (Strict, (self._data,))

    def __len__(self):
        return len(self._data)

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        return wrapped(getattr(ufunc, method)(*unwrapped(inputs), **kwargs))

    def __array__(self, *args, **kwargs):
        raise TypeError("implicit conversion to a host array")

    def __iter__(self):
        raise TypeError("implicit iteration over rows on the device")


def _operator(name):
    def method(self, *others):
        found = getattr(self._data, name)(*unwrapped(others))
        return wrapped(
            _divided(found, self._data, *unwrapped(others)) if "mod" in name or "floordiv" in name else found
        )

    return method


def _divided(found, *numbers):
    """Whole numbers, if all that were divided are."""
    are_whole = all(
        getattr(getattr(one, "dtype", None), "kind", "i") == "i" and not isinstance(one, float) for one in numbers
    )
    return found.fillna(-1).replace(float("inf"), -1).astype("int64") if are_whole and found.ndim == 1 else found


for _name in ("add", "radd", "sub", "rsub", "mul", "rmul", "truediv", "rtruediv", "pow", "mod", "floordiv", "eq", "ne", "lt", "le", "gt",
              "ge", "and", "or", "xor", "invert", "neg", "abs", "getitem", "setitem"):  # fmt: skip
    setattr(Strict, f"__{_name}__", _operator(f"__{_name}__"))


def wrapped(value):
    if isinstance(value, tuple(_KINDS.values())):
        return Strict(value)
    if type(value).__module__.startswith(("pandas.core.strings", "pandas.core.indexes.accessors")):  # .str and .dt
        return Strict(value)
    if type(value).__module__.startswith("pandas.core.indexing"):
        return _Indexer(value)
    if callable(value) and not isinstance(value, type):
        return lambda *args, **kwargs: wrapped(value(*unwrapped(args), **unwrapped(kwargs)))
    return value


class _Groups:
    def __init__(self, groups):
        self._groups = groups

    def agg(self, **named):
        found = self._groups.agg(**named)
        for name, (column, how) in named.items():
            if how == "sum":
                found[name] = self._groups[column].sum(min_count=1)
        return Strict(found.iloc[::-1])


class _Indexer:
    def __init__(self, indexer):
        self._indexer = indexer

    def __getitem__(self, key):
        return wrapped(self._indexer[unwrapped(key)])


def unwrapped(value):
    if isinstance(value, Strict):
        return value._data
    if isinstance(value, (list, tuple)):
        return type(value)(unwrapped(each) for each in value)
    return {name: unwrapped(each) for name, each in value.items()} if isinstance(value, dict) else value


def kind_of(value):
    data = value._data if isinstance(value, Strict) else None
    return next((kind for kind, of in _KINDS.items() if isinstance(data, of)), "scalar")


def from_pandas(value):
    if any(dtype.kind == "c" for dtype in (value.dtypes if value.ndim == 2 else [value.dtype])):
        raise TypeError("Unsupported type complex128")
    MOVES["to"] += 1
    return Strict(value)


def to_pandas(value):
    MOVES["from"] += 1
    MOVES["rows"] += len(value._data)
    MOVES["columns"] |= set(getattr(value._data, "columns", [getattr(value._data, "name", None)]))
    return value._data


def with_nulls_only(value):
    return value


def concat(blocks):
    first, *others = [block._data for block in blocks]
    return Strict(first.append(others) if isinstance(first, pd.Index) else pd.concat([first, *others]))

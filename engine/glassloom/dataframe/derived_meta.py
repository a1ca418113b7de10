"""Metas made of metas, without making the same one twice: pandas takes longer for an empty frame than a rule to rewrite a node.

While an expression is written and optimised, its nodes are rebuilt many times. Of the common kinds of metas there is one
object for all that can't be told apart, so that what is made of it is found by its identity, and its schema often
follows from the schemas of what it is made of, without pandas. What was made of a meta is known as long as it lives: nodes are
optimised after they were written, and who runs a cell again writes the same again.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from glassloom.backends.pandas_ import columns_of
from glassloom.expr.memo import remembered
from glassloom.graph import tokenize
from glassloom.graph.caller_options import caller_options
from glassloom.graph.identity_cache import IdentityCache

_choices: IdentityCache[dict[Any, Any]] = IdentityCache()
_results: IdentityCache[dict[Any, tuple[Any, tuple[weakref.ref[Any], ...]]]] = IdentityCache()
"""By a meta and by all else that something was made of: that, and the other metas."""
_MOST_RESULTS = 256
"""Of one meta. Then all are forgotten: calls of functions whose tokens are random would add to them for ever."""


# The schemas of metas.


class Schema(NamedTuple):
    """All that tells an empty frame or series of the common kinds, whose rows are numbered, from others.

    `labels_dtype` is that of a frame's columns; a series has none, and one name.
    """

    kind: type
    labels_dtype: Any
    names: tuple[str | None, ...]
    dtypes: tuple[Any, ...]

    def chosen(self, columns: Any) -> Schema | None:
        """Return the schema of one column (`columns` is a label) or some (a list) of a frame; None if that isn't known."""
        found = dict(zip(self.names, self.dtypes, strict=True))
        if self.kind is not pd.DataFrame or len(found) < len(self.names):
            return None
        names = columns if type(columns) is list else [columns]
        if not all([type(name) is str and name in found for name in names]):
            return None
        dtypes = tuple([found[name] for name in names])
        if type(columns) is list:
            return Schema(pd.DataFrame, self.labels_dtype, tuple(columns), dtypes)
        return Schema(pd.Series, None, (columns,), dtypes)

    def made(self) -> Any:
        """Return an empty object of this schema."""
        arrays = [_no_values(dtype) for dtype in self.dtypes]
        if self.kind is pd.Series:
            return pd.Series(arrays[0], name=self.names[0], copy=False)
        columns = pd.Index(self.names, dtype=self.labels_dtype)
        from_arrays = getattr(pd.DataFrame, "_from_arrays", None)
        is_native = all([getattr(dtype, "isnative", True) for dtype in self.dtypes])
        if from_arrays is not None and is_native:  # takes a quarter of the time
            return from_arrays(arrays, columns, pd.RangeIndex(0), verify_integrity=False)
        made = pd.DataFrame(dict(enumerate(arrays)), copy=False)
        made.columns = columns  # of a copy, pandas 2 makes other orders of bytes native
        return made


@lru_cache(maxsize=64)
def _no_values(dtype: Any) -> Any:
    return np.empty(0, dtype) if isinstance(dtype, np.dtype) else pd.array([], dtype=dtype)


_UNCOMMON = Schema(object, None, (), ())
_schemas: IdentityCache[Schema] = IdentityCache()
_common: dict[Schema, Any] = {}
"""The object that stands for all of its schema."""
_MOST_COMMON = 1024
"""So many of some KiB each. Then all are forgotten."""


def schema_of(meta: Any) -> Schema | None:
    """Return the schema of a meta; None if it isn't of the common kinds."""
    if not isinstance(meta, (pd.DataFrame, pd.Series)):
        return None
    known = _schemas.get(meta)
    if known is None:
        known = _schemas.set(meta, _found_schema(meta) or _UNCOMMON)
    return None if known is _UNCOMMON else known


def _found_schema(meta: Any) -> Schema | None:
    index = meta.index
    is_plain = type(index) is pd.RangeIndex and index.start == 0 and index.step == 1 and index.name is None
    if not is_plain or len(meta) or meta.attrs or not meta.flags.allows_duplicate_labels:
        return None
    names: tuple[Any, ...]
    if type(meta) is pd.DataFrame:
        columns = meta.columns
        names = tuple(columns)
        if type(columns) is not pd.Index or columns.name is not None or not all([type(name) is str for name in names]):
            return None
        labels_dtype, dtypes = columns.dtype, tuple(meta.dtypes)
    elif type(meta) is pd.Series and (meta.name is None or type(meta.name) is str):
        labels_dtype, names, dtypes = None, (meta.name,), (meta.dtype,)
    else:
        return None
    if not all([isinstance(dtype, (np.dtype, pd.StringDtype)) for dtype in dtypes]):
        return None  # some are equal to dtypes that can be told from them, such as categories in another order
    return Schema(type(meta), labels_dtype, names, dtypes)


def names_of(meta: Any) -> Sequence[Any]:
    """Return the labels of a frame's columns, mostly as a tuple: of an index of text each is made anew of Arrow's whenever it is read, of floats NaN."""
    schema = schema_of(meta)
    if schema is not None:
        return schema.names
    columns = meta.columns
    if columns.dtype.kind == "f" and columns.hasnans:
        return tuple([np.nan if label != label else label for label in columns])
    return columns


def meta_of_schema(schema: Schema) -> Any:
    """Return the object of a schema, which is the same for all who ask."""
    known = _common.get(schema)
    if known is None:
        if len(_common) >= _MOST_COMMON:
            _common.clear()
        known = _common.setdefault(schema, schema.made())
        _schemas.set(known, schema)
    return known


def common_meta(meta: Any) -> Any:
    """Return the object that stands for all of a meta's schema, or the meta itself if it isn't of the common kinds."""
    schema = schema_of(meta)
    return meta if schema is None else meta_of_schema(schema)


# What is made of metas.


def derived_meta(make: Callable[[], Any], *parts: object) -> Any:
    """Return ``make()``, or an object like it that was made before.

    Parameters
    ----------
    make
        A function without arguments whose result, which is never changed, follows from `parts`.
    parts
        Metas, one at least, and what tells what is made of them.
    """
    return remembered(lambda: common_meta(_known(make, parts)), derived_meta, *parts)


def _known(make: Callable[[], Any], parts: tuple[object, ...]) -> Any:
    metas = [part for part in parts if isinstance(part, (pd.DataFrame, pd.Series))]
    if not metas:
        return make()
    made_of_first = _results.get(metas[0])
    if made_of_first is None:
        made_of_first = _results.set(metas[0], {})
    options = caller_options()  # what pandas makes depends on its own
    key = (None if options is None else options.token, *[_mark(part) for part in parts])
    known = made_of_first.get(key)
    if known is not None and all([other() is meta for other, meta in zip(known[1], metas[1:], strict=True)]):
        return known[0]
    made = make()
    if not any([made is meta for meta in metas]):  # else a meta would keep itself
        if len(made_of_first) >= _MOST_RESULTS:
            made_of_first.clear()
        made_of_first[key] = made, tuple(map(weakref.ref, metas[1:]))
    return made


def _mark(part: object) -> Any:
    """Return what tells a part from others: of metas which object it is."""
    if isinstance(part, (pd.DataFrame, pd.Series)):
        return id(part)
    return part if isinstance(part, (str, type)) else tokenize(part)


def chosen_meta(meta: Any, columns: Any) -> Any:
    """Return the meta of one column (`columns` is a label) or some (a list): made once, as pandas takes long for it."""
    schema = schema_of(meta)
    chosen = None if schema is None else schema.chosen(columns)
    if chosen is not None:
        return meta_of_schema(chosen)
    labels = columns if isinstance(columns, list) else (columns,)
    choice = (isinstance(columns, list), tuple(labels), tuple(map(type, labels)))
    known = _choices.get(meta)
    if known is None:
        known = _choices.set(meta, {})
    if choice not in known:
        known[choice] = common_meta(columns_of(meta, columns))
    return known[choice]


def meta_side_by_side(left: Any, right: Any, names: Sequence[Any], columns: pd.Index) -> Any | None:
    """Return the meta of the columns of two frames under new labels, which are texts; None if schemas don't tell.

    Parameters
    ----------
    names, columns
        The labels, and the index of them.
    """
    one, other = schema_of(left), schema_of(right)
    if one is None or other is None:
        return None
    return meta_of_schema(Schema(pd.DataFrame, columns.dtype, tuple(names), (*one.dtypes, *other.dtypes)))


def meta_with_labels(frame: Any, labels: pd.Index) -> Any | None:
    """Return the meta of a frame with other labels of its columns; None if schemas don't tell."""
    schema = schema_of(frame)
    names = tuple(labels)
    is_plain = type(labels) is pd.Index and labels.name is None and all([type(name) is str for name in names])
    if schema is None or schema.kind is not pd.DataFrame or not is_plain:
        return None
    return meta_of_schema(schema._replace(labels_dtype=labels.dtype, names=names))


def meta_with_columns(frame: Any, names: tuple[Any, ...], values: Sequence[Any]) -> Any | None:
    """Return the meta of a frame with columns added or replaced; None if schemas don't tell.

    Parameters
    ----------
    values
        The metas of columns, or scalars.
    """
    schema = schema_of(frame)
    series = [schema_of(value) for value in values]
    if schema is None or not all([type(name) is str for name in names]):
        return None
    dtypes = dict(zip(schema.names, schema.dtypes, strict=True))
    if len(dtypes) < len(schema.names) or not schema.names:
        return None
    for name, one in zip(names, series, strict=True):
        if one is None or one.kind is not pd.Series:
            return None
        dtypes[name] = one.dtypes[0]
    return meta_of_schema(Schema(pd.DataFrame, schema.labels_dtype, tuple(dtypes), tuple(dtypes.values())))

"""Metas made of metas, without making the same one twice: pandas takes longer for an empty frame than a rule to rewrite a node.

While an expression is optimised, its nodes are rebuilt many times. Metas that are alike are one object then, so that what is
made of them is found by their identities.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from glassloom.expr.memo import first_alike, remembered
from glassloom.graph.identity_cache import IdentityCache

_choices: IdentityCache[dict[Any, Any]] = IdentityCache()
_results: IdentityCache[dict[str, Any]] = IdentityCache()


def derived_meta(make: Callable[[], Any], *parts: object) -> Any:
    """Return ``make()``: while an expression is optimised, an object that was made before of the same `parts`, or is like it."""
    return remembered(lambda: _shared(make()), derived_meta, *parts)


def chosen_meta(meta: Any, columns: Any) -> Any:
    """Return the meta of one column (`columns` is a label) or some (a list): made once, as pandas takes long for it."""
    labels = columns if isinstance(columns, list) else (columns,)
    choice = (isinstance(columns, list), tuple(labels), tuple(map(type, labels)))
    known = _choices.get(meta)
    if known is None:
        known = _choices.set(meta, {})
    if choice not in known:
        known[choice] = _chosen(meta, columns)
    return remembered(lambda: _shared(known[choice]), chosen_meta, known[choice])


def result_meta(make: Callable[[], Any], meta: Any, token: str) -> Any:
    """Return ``make()``, or what it returned before for the same meta and token: who runs a cell again builds the same again.

    Parameters
    ----------
    make
        A function without arguments whose result, which is never changed, follows from the next two.
    meta
        A node's.
    token
        Tells what is done with it.
    """
    known = _results.get(meta)
    if known is None:
        known = _results.set(meta, {})
    if token not in known:
        known[token] = make()
    return known[token]


def _chosen(meta: Any, columns: Any) -> Any:
    """Return ``meta[columns]``. A list of texts is looked up here, which takes a quarter of pandas' time."""
    if not (isinstance(columns, list) and isinstance(meta, pd.DataFrame) and meta.columns.is_unique):
        return meta[columns]
    places = {name: place for place, name in enumerate(meta.columns) if type(name) is str}
    if not all([type(name) is str and name in places for name in columns]):
        return meta[columns]
    return meta.take([places[name] for name in columns], axis=1)


def _shared(meta: Any) -> Any:
    """Return a meta that can't be told from this one, noted before while the same expression was optimised; or this one."""
    looks = _looks(meta)
    return meta if looks is None else first_alike(meta, (_shared, looks))


def _looks(meta: Any) -> tuple[Any, ...] | None:
    """Return all that tells an empty frame or series of the common kinds from others; None for others."""
    labels: tuple[Any, ...]
    if type(meta) is pd.DataFrame:
        columns = meta.columns
        names = tuple(columns)
        if type(columns) is not pd.Index or columns.name is not None or not all([type(name) is str for name in names]):
            return None
        labels, dtypes = (columns.dtype, *names), [*meta.dtypes]
    elif type(meta) is pd.Series and (meta.name is None or type(meta.name) is str):
        labels, dtypes = (meta.name,), [meta.dtype]
    else:
        return None
    index = meta.index
    is_plain = type(index) is pd.RangeIndex and index.start == 0 and index.step == 1 and index.name is None
    if not is_plain or len(meta) or meta.attrs or not meta.flags.allows_duplicate_labels:
        return None
    if not all([isinstance(dtype, (np.dtype, pd.StringDtype)) for dtype in dtypes]):
        return None  # some are equal to dtypes that can be told from them, such as categories in another order
    return (type(meta), labels, *dtypes)

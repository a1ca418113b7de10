"""Metas made of metas, without making the same one twice: pandas takes longer for an empty frame than a rule to rewrite a node.

While an expression is optimised, its nodes are rebuilt many times. Metas that are alike are one object then, so that what is
made of them is found by their identities. What was made of a meta is known as long as it lives: nodes are optimised after they
were written, and who runs a cell again writes the same again.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from glassloom.backends.pandas_ import columns_of
from glassloom.expr.memo import first_alike, remembered
from glassloom.graph import tokenize
from glassloom.graph.identity_cache import IdentityCache

_choices: IdentityCache[dict[Any, Any]] = IdentityCache()
_results: IdentityCache[dict[Any, tuple[Any, tuple[weakref.ref[Any], ...]]]] = IdentityCache()
"""By a meta and by all else that something was made of: that, and the other metas."""
_shared_looks: IdentityCache[tuple[Any, ...]] = IdentityCache()
"""By a meta: what it looks like, for which pandas is asked of each column."""
_MOST_RESULTS = 256
"""Of one meta. Then all are forgotten: calls of functions whose tokens are random would add to them for ever."""


def derived_meta(make: Callable[[], Any], *parts: object) -> Any:
    """Return ``make()``, or an object that was made before of the same metas by the same.

    While an expression is optimised, it may be one that is like it.

    Parameters
    ----------
    make
        A function without arguments whose result, which is never changed, follows from `parts`.
    parts
        Metas, one at least, and what tells what is made of them.
    """
    return remembered(lambda: _shared(_known(make, parts)), derived_meta, *parts)


def _known(make: Callable[[], Any], parts: tuple[object, ...]) -> Any:
    metas = [part for part in parts if isinstance(part, (pd.DataFrame, pd.Series))]
    if not metas:
        return make()
    made_of_first = _results.get(metas[0])
    if made_of_first is None:
        made_of_first = _results.set(metas[0], {})
    key = tuple([_mark(part) for part in parts])
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
    labels = columns if isinstance(columns, list) else (columns,)
    choice = (isinstance(columns, list), tuple(labels), tuple(map(type, labels)))
    known = _choices.get(meta)
    if known is None:
        known = _choices.set(meta, {})
    if choice not in known:
        known[choice] = columns_of(meta, columns)
    return remembered(lambda: _shared(known[choice]), chosen_meta, known[choice])


def _shared(meta: Any) -> Any:
    """Return a meta that can't be told from this one, noted before while the same expression was optimised; or this one."""
    known = _shared_looks.get(meta)
    if known is None:
        looks = _looks(meta)
        if looks is None:
            return meta
        known = _shared_looks.set(meta, looks)
    return first_alike(meta, (_shared, known))


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

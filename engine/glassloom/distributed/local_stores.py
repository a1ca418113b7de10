"""Stores of Dask's arrays into what only this process has: workers make the chunks, and this process writes them. Runs nothing.

A NumPy array, an open HDF5 file, or a file that a `threading.Lock` guards can't be written to by another process: it would write
into a copy, or can't be sent what to write to. xarray's ``to_netcdf`` stores so on any scheduler that isn't dask.distributed's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from dask import _task_spec as spec
from dask._expr import ProhibitReuse
from dask.array.core import load_store_chunk

from glassloom.distributed.dask_graph import same
from glassloom.errors import SerialisationError
from glassloom.store.pickling import dump_buffers

_LAYER = "store-map"
"""What is in the names of the layers of `dask.array.store`, also fused ones."""
_UNKNOWN = object()


class Split(NamedTuple):
    """A graph of Dask's in two.

    Attributes
    ----------
    there
        What workers run.
    here
        What this process runs afterwards.
    read
        Keys of `there` that `here` reads.
    chunk_of
        The key of a store, by that of its chunk.
    """

    there: dict[Any, Any]
    here: dict[Any, Any]
    read: set[Any]
    chunk_of: dict[Any, Any]


class _Store(NamedTuple):
    """A task that makes a chunk, and what that is to be stored with: the other arguments of `load_store_chunk`."""

    chunk: Any
    arguments: tuple[Any, ...]
    options: dict[str, Any]


def split(nodes: Mapping[Any, Any]) -> Split | None:
    """Return a graph in two, None if nothing in it is stored into what only this process has.

    Parameters
    ----------
    nodes
        Tasks of Dask's by key.
    """
    stores: dict[Any, _Store] = {}
    only_here: dict[int, bool] = {}
    for key, node in nodes.items():
        if _LAYER in str(key[0] if isinstance(key, tuple) else key) and (store := _store_of(node, nodes)) is not None:
            target, _, _, lock = (*store.arguments, None, None, None, None)[:4]
            if any(_is_only_here(value, only_here) for value in (target, store.options.get("lock", lock))):
                stores[key] = store
    if not stores:
        return None
    chunk_keys = {key: (f"chunk-{key[0]}", *key[1:]) if isinstance(key, tuple) else f"chunk-{key}" for key in stores}
    here = {key: nodes[key] for key in _with_dependents(stores, nodes)}
    there = {key: node for key, node in nodes.items() if key not in here}
    for key, store in stores.items():
        there[chunk_keys[key]] = store.chunk.substitute({}, key=chunk_keys[key])
        here[key] = spec.Task(key, load_store_chunk, spec.TaskRef(chunk_keys[key]), *store.arguments, **store.options)
    read = {name for node in here.values() for name in node.dependencies if name in there}
    return Split(there, here, read, {chunk: key for key, chunk in chunk_keys.items()})


def _store_of(node: Any, values: Mapping[Any, Any]) -> _Store | None:
    """Return the parts of a task whose last step is a store with known arguments, None if it is another one."""
    function = getattr(node, "func", None)
    if function is load_store_chunk:
        x, *others = node.args
        arguments = tuple([_known(value, values) for value in others])
        options = {name: _known(value, values) for name, value in node.kwargs.items()}
        if x is None or any(value is _UNKNOWN for value in (*arguments, *options.values())):
            return None
        return _Store(spec.Task(node.key, same, x), arguments, options)
    if function is ProhibitReuse._identity:  # a collection that was made a delayed call
        return _store_of(node.args[0], values)
    if function is not spec._execute_subgraph:
        return None
    inner, last, names, *given = node.args
    outer = {name: _known(value, values) for name, value in zip(names, given, strict=True)}
    store = _store_of(inner.get(last), {**inner, **outer})
    if store is None:
        return None
    needed = _needed(last, {**inner, last: store.chunk})
    rest = {name: store.chunk if name == last else task for name, task in inner.items() if name in needed}
    passed = {name: value for name, value in zip(names, given, strict=True) if name in needed}
    made = spec.Task(node.key, spec._execute_subgraph, rest, last, tuple(passed), *passed.values())
    return store._replace(chunk=made)


def _known(value: Any, values: Mapping[Any, Any]) -> Any:
    """Return what an argument is, `_UNKNOWN` if a task has to make it."""
    if isinstance(value, spec.TaskRef):
        value = values.get(value.key, _UNKNOWN)
    elif isinstance(value, spec.Alias):
        value = values.get(value.target, _UNKNOWN)
    if isinstance(value, spec.DataNode):
        return value.value
    if isinstance(value, (spec.List, spec.Tuple)):
        items = [_known(item, values) for item in value.args]
        return (
            _UNKNOWN
            if any(item is _UNKNOWN for item in items)
            else (list if type(value) is spec.List else tuple)(items)
        )
    return _UNKNOWN if isinstance(value, (spec.GraphNode, spec.TaskRef)) else value


def _needed(last: Any, tasks: Mapping[Any, Any]) -> set[Any]:
    """Return the names of what a task of a fused one reads, itself included, also of what comes from outside."""
    needed, left = {last}, [last]
    while left:
        task = tasks.get(left.pop())
        below = set() if task is None else set(task.dependencies) - needed
        needed |= below
        left.extend(below)
    return needed


def _with_dependents(keys: Iterable[Any], nodes: Mapping[Any, Any]) -> set[Any]:
    """Return keys with those of all tasks that read from them."""
    readers: dict[Any, list[Any]] = {}
    for key, node in nodes.items():
        for name in node.dependencies:
            readers.setdefault(name, []).append(key)
    found, left = set(keys), list(keys)
    while left:
        for key in readers.get(left.pop(), ()):
            if key not in found:
                found.add(key)
                left.append(key)
    return found


def _is_only_here(value: Any, known: dict[int, bool]) -> bool:
    """Return whether another process has no way to a target or lock. What is `known` of each is kept, by `id`."""
    if isinstance(value, (bool, type(None))):
        return False
    if id(value) not in known:
        known[id(value)] = _is_of_this_process(value)
    return known[id(value)]


def _is_of_this_process(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return not isinstance(value, np.memmap)
    try:
        dump_buffers(value)
    except SerialisationError:
        return True
    return False

"""Our runtimes as schedulers of Dask's: what threads and clients do with graphs and collections of Dask's.

A scheduler of Dask's is a function of a graph and of keys, which may be nested in lists. It returns results in tuples that
are nested alike. Options of ``compute(...)`` arrive as keywords.
"""

from __future__ import annotations

import difflib
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import dask
import numpy as np
from dask import base as dask_base
from dask._task_spec import Task

from glassloom.distributed import local_stores
from glassloom.distributed.annotated_graph import OPTIONS, handlings, in_parts
from glassloom.distributed.dask_graph import Converted, DaskKey, convert, materialised
from glassloom.distributed.dask_keys import our_key
from glassloom.errors import ClusterClosed, GraphError, SerialisationError
from glassloom.graph import Graph, Key, user_origin
from glassloom.graph.caller_options import caller_options
from glassloom.graph.origin import Origin, skip_frames_of
from glassloom.local.threads import default_threads
from glassloom.protocol.annotations import annotate

_OF_DASK = frozenset(["num_workers"])
"""Options of Dask's own schedulers that are named almost as one of ours."""

skip_frames_of(str(Path(dask.__file__).parent))


class Runner(Protocol):
    """What runs our graphs: a client, or threads."""

    shares_memory: bool

    def get(self, graph: Graph, keys: Sequence[Key]) -> list[Any]:
        """Run the graph and return the results of `keys`."""

    def hold(self, graph: Graph, keys: Sequence[Key]) -> Mapping[Key, Any]:
        """Run the graph and return what keeps each result."""


_LOCK_NOTE = (
    "A threading.Lock is among what these tasks hold. Compute them on threads, with dask.config.set(scheduler=glassloom.get), or use a "
    "lock that can be sent: dask.utils.SerializableLock()"
)


@contextmanager
def _explaining_locks() -> Iterator[None]:
    """Say of a lock that can't be sent to worker processes where it may come from, and what to do."""
    try:
        yield
    except SerialisationError as error:
        if "_thread.lock" in str(error):
            error.add_note(_LOCK_NOTE)
        raise


def run(runner: Any, dsk: Any, keys: Any, options: Mapping[str, Any]) -> Any:
    """Run a graph of Dask's; return the results of `keys`, nested in tuples as these are in lists."""
    flat = list(_flat(keys))
    with annotate(**_handling(options)), _explaining_locks():
        nodes, annotations = materialised(dsk), handlings(dsk)
        parts = None if runner.shares_memory else local_stores.split(nodes)
        if parts is not None:
            by_key = _run_in_two(runner, parts, flat, annotations)
        else:
            by_key = _run_whole(runner, nodes, flat, user_origin(), annotations)
    return _nested(keys, {key: _writable(value) for key, value in by_key.items()})


def _run_whole(
    runner: Any,
    nodes: Mapping[DaskKey, Any],
    flat: Sequence[DaskKey],
    origin: Origin | None,
    annotations: Mapping[Key, Mapping[str, Any]],
) -> dict[DaskKey, Any]:
    """Return the result of each key of Dask's."""
    converted, annotations = _converted(runner, nodes, flat, origin, annotations)
    wanted = list(dict.fromkeys(converted.keys.values()))
    if runner.shares_memory:
        _refuse_unknown(converted.graph)
    if annotations and not runner.shares_memory:
        results = _gathered(runner, _hold_parts(runner, converted.graph, annotations, wanted), wanted)
    else:
        results = runner.get(converted.graph, wanted)
    by_key = dict(zip(wanted, results, strict=True))
    return {theirs: by_key[ours] for theirs, ours in converted.keys.items()}


def _converted(
    runner: Runner,
    nodes: Mapping[DaskKey, Any],
    wanted: Sequence[DaskKey],
    origin: Origin | None,
    annotations: Mapping[Key, Mapping[str, Any]],
) -> tuple[Converted, Mapping[Key, Mapping[str, Any]]]:
    """Return a graph of Dask's as one of ours with the options of other libraries that are set here and now, and how its tasks are treated."""
    graph, keys = converted = convert(nodes, wanted, origin)
    options = caller_options()
    if options is None:
        return converted, annotations
    with_options = options.graph(graph, {}, shares_memory=runner.shares_memory)
    ours = dict(zip(keys, options.keys(keys.values(), graph, {}), strict=True))
    tasks = dict(zip(annotations, options.keys(annotations, graph, {}), strict=True))
    return Converted(with_options, ours), {tasks[key]: handling for key, handling in annotations.items()}


def hold(client: Any, dsk: Any, keys: Any, options: Mapping[str, Any]) -> Any:
    """Start a graph of Dask's; return futures of `keys`, nested as `run` nests results. What this process has to do it has done then."""
    flat = list(_flat(keys))
    with annotate(**_handling(options)), _explaining_locks():
        nodes, found = materialised(dsk), handlings(dsk)
        annotations: Mapping[Key, Mapping[str, Any]] = found
        parts = local_stores.split(nodes)
        if parts is not None:
            by_key = _run_in_two(client, parts, flat, found)
            return _nested(keys, dict(zip(by_key, client.scatter(list(by_key.values())), strict=True)))
        converted, annotations = _converted(client, nodes, flat, user_origin(), annotations)
        wanted = list(dict.fromkeys(converted.keys.values()))
        futures = _hold_parts(client, converted.graph, annotations, wanted)
    return _nested(keys, {theirs: futures[ours] for theirs, ours in converted.keys.items()})


class _Fetched:
    """Gives the result of a future, and lets go of it: a task of this process that stands for one of the workers'."""

    def __init__(self, future: Any) -> None:
        self._future = future

    def __call__(self) -> Any:
        result = self._future.result()
        self._future = None
        return result


def _run_in_two(
    client: Any, parts: local_stores.Split, flat: Sequence[DaskKey], annotations: dict[Key, dict[str, Any]]
) -> dict[DaskKey, Any]:
    """Run a graph on workers as far as they can, and the rest on threads of this process, as results come; return the results of `flat`."""
    for chunk, store in parts.chunk_of.items():
        if (handling := annotations.get(our_key(store))) is not None:
            annotations[our_key(chunk)] = handling
    origin = user_origin()
    wanted = [*parts.read, *(key for key in flat if key in parts.there)]
    there, handled = _converted(client, parts.there, wanted, origin, annotations)
    futures = _hold_parts(client, there.graph, handled, list(dict.fromkeys(there.keys.values())))
    kept = {key: futures[there.keys[key]] for key in flat if key in parts.there}
    fetched = {key: Task(key, _Fetched(futures[there.keys[key]])) for key in parts.read}
    futures.clear()  # so that what has been read is let go of
    here = [key for key in flat if key in parts.here]
    by_key = _run_whole(default_threads(), {**parts.here, **fetched}, here, origin, {})
    by_key.update(zip(kept, client.gather(list(kept.values())), strict=True))
    return by_key


def set_scheduler(client: Any) -> Callable[[], None]:
    """Let Dask's collections run on a client from now on; return a function that takes it back.

    Nothing that Dask keeps holds the client. What somebody sets in its place later stays. Clients may be closed in any order.
    """
    scheduler = _ClientScheduler(client, dask.config.get("scheduler", None))
    dask.config.set(scheduler=scheduler)

    def restore() -> None:
        scheduler.is_over = True
        if dask.config.get("scheduler", None) is scheduler:
            dask.config.set(scheduler=scheduler.still_there())

    return restore


class _ClientScheduler:
    """A client as Dask's scheduler. It doesn't keep the client alive."""

    def __init__(self, client: Any, before: Any) -> None:
        self._client = weakref.ref(client)
        self._before = before
        self.is_over = False

    def still_there(self) -> Any:
        """Return this, or if its client is closed or gone what was set before it and is still there."""
        found: Any = self
        while isinstance(found, _ClientScheduler) and (found.is_over or found._client() is None):
            found = found._before
        return found

    def __call__(self, dsk: Any, keys: Any, **options: Any) -> Any:
        return self._open().get(dsk, keys, **options)

    def __reduce__(self) -> Any:
        return type(
            None
        ), ()  # dask.distributed sends the configuration to its workers, where there is no such scheduler

    def persist(self, collections: Any, **options: Any) -> Any:
        return self._open().persist(collections, **options)

    def _open(self) -> Any:
        client = self._client()
        if client is None:
            raise ClusterClosed(
                "the client that Dask's graphs were to run on is gone; make a new one with Client(dask=True)"
            )
        return client


def persist(client: Runner, collections: Any, optimize_graph: bool) -> Any:
    """Return collections of Dask's, one or a list, whose graphs refer to futures of ours."""
    many = isinstance(collections, (list, tuple, set, frozenset))
    persisted = dask_base.persist(
        *(collections if many else [collections]),
        optimize_graph=optimize_graph,
        scheduler=lambda dsk, keys, **options: hold(client, dsk, keys, options),
    )
    return list(persisted) if many else persisted[0]


def compute(client: Runner, collections: Any, optimize_graph: bool) -> Any:
    """Return futures of what collections of Dask's compute to, in the places of these."""
    (futures,) = dask_base.compute(
        collections,
        optimize_graph=optimize_graph,
        scheduler=lambda dsk, keys, **options: hold(client, dsk, keys, options),
    )
    return futures


def _refuse_unknown(graph: Graph) -> None:
    for key in graph.held:
        raise GraphError(
            f"the graph needs {key!r}, which no task makes; it has {len(graph)} tasks. (Results that a cluster holds can be "
            "read with its client only: scheduler=client)"
        )


def _hold_parts(
    client: Runner, graph: Graph, annotations: Mapping[Key, Mapping[str, Any]], wanted: Sequence[Key]
) -> dict[Key, Any]:
    """Start a graph, part by part; return what holds the results that are wanted."""
    if not annotations:
        return dict(client.hold(graph, wanted))
    held: dict[Key, Any] = {}
    for part in in_parts(graph, annotations, set(wanted)):
        with annotate(**part.handling):
            held.update(client.hold(part.graph, part.keys))
    missing = [key for key in wanted if key not in held]  # what the cluster holds already
    return {**held, **client.hold(Graph(held=frozenset(missing)), missing)} if missing else held


def _gathered(client: Any, futures: Mapping[Key, Any], wanted: Sequence[Key]) -> list[Any]:
    """Return results. Of a part that the cluster refuses, the error is that of the part, not that later ones build on it."""
    try:
        results: list[Any] = client.gather([futures[key] for key in wanted], asynchronous=False)
    except GraphError:
        for future in futures.values():
            if future.status == "error":
                future.result()
        raise
    return results


def _handling(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of `annotate` among options; Dask's own annotations of the block around count too."""
    for name in options:
        near = [] if name in OPTIONS or name in _OF_DASK else difflib.get_close_matches(name, OPTIONS, n=1)
        if near:  # what is like none of ours is for another of Dask's schedulers, which all ignore what they don't know
            raise TypeError(f"get() got an unexpected keyword argument {name!r}; did you mean {near[0]!r}?")
    around = {name: value for name, value in dask_base.get_annotations().items() if name in OPTIONS}
    return {**around, **{name: value for name, value in options.items() if name in OPTIONS and value is not None}}


def _flat(keys: Any) -> list[DaskKey]:
    if not isinstance(keys, list):
        return [keys]
    return [key for item in keys for key in _flat(item)]


def _nested(keys: Any, values: Mapping[DaskKey, Any]) -> Any:
    if isinstance(keys, list):
        return tuple([_nested(key, values) for key in keys])
    return values[keys]


def _writable(value: Any) -> Any:
    """Return a result as its user's own: arrays in shared memory are mapped read-only, and Dask's can be written to."""
    if type(value) is np.ndarray and not value.flags.writeable and 0 not in value.strides:
        return value.copy()
    return value

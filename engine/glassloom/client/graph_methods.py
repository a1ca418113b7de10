"""`GraphMethods`: how a client runs collections and graphs: it is the runtime of both, Glassloom's and Dask's."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from typing import Any

from glassloom._gc import gc_paused
from glassloom.client.blocking import run_sync
from glassloom.client.collection_futures import futures_of_results
from glassloom.client.dask_collections import dask_scheduler, dask_scheduler_for
from glassloom.client.function_calls import in_place
from glassloom.client.future import Future
from glassloom.client.key_table import KeyState
from glassloom.client.large_arguments import warn_of_large_argument
from glassloom.client.link import Encoder
from glassloom.client.other_options import refuse_other_options
from glassloom.client.result_methods import ResultMethods, release_all
from glassloom.collection import compute, persist
from glassloom.graph import Graph, Key, user_origin
from glassloom.protocol.annotations import annotate, current_annotations
from glassloom.protocol.tracebacks import hides_engine_frames

_COLLECTION_OPTIONS = ("optimize_graph", "priority", "retries", "resources", "workers", "allow_other_workers")
_FEW = 100
"""Building so few tasks doesn't start the garbage collector's long passes."""


class GraphMethods(ResultMethods):
    """The part of a client that runs graphs."""

    shares_memory = False

    @property
    def process_memory_bytes(self) -> int | None:
        """What the worker that may use least memory may use, in bytes.

        None if that isn't known, if there is no worker now, or if the workers are dask.distributed's, which may be on several machines.
        """
        if self._link is None or self._record.kind == "distributed":
            return None
        return self._link.workers.least_memory_bytes

    # Collections

    @hides_engine_frames
    def compute(
        self,
        collections: Any,
        *more: Any,
        sync: bool = False,
        priority: int | None = None,
        retries: int | None = None,
        resources: Mapping[str, float] | None = None,
        workers: int | str | Sequence[int | str] | None = None,
        allow_other_workers: bool | None = None,
        optimize_graph: bool = True,
        fifo_timeout: Any = None,
        **others: Any,
    ) -> Any:
        """Start collections; return futures of their concrete results.

        Parameters
        ----------
        collections
            A collection, or a list, tuple or dict of them. They may be Dask's.
        sync
            Wait, and return the results themselves.
        priority, retries, resources, workers, allow_other_workers
            How to treat the tasks: see `glassloom.annotate`.
        optimize_graph
            Whether to rewrite the plan so that it needs fewer tasks and less memory; False runs it as it is written.
        fifo_timeout
            Accepted for compatibility: see `submit`.
        others
            Options of Dask's client: an error says what there is instead.
        """
        refuse_other_options("compute", others, _COLLECTION_OPTIONS)
        args = (collections, *more)
        with annotate(
            priority=priority,
            retries=retries,
            resources=resources,
            workers=workers,
            allow_other_workers=allow_other_workers,
        ):
            if (dask := dask_scheduler_for(args)) is not None:
                results = (
                    self.gather(dask.compute(self, args, optimize_graph))
                    if sync
                    else dask.compute(self, args, optimize_graph)
                )
            elif sync:
                results = compute(*args, scheduler=self, optimize_graph=optimize_graph)
            else:
                results = futures_of_results(self, args, optimize_graph)
        return results if more else results[0]

    def persist(
        self,
        collections: Any,
        *more: Any,
        priority: int | None = None,
        retries: int | None = None,
        resources: Mapping[str, float] | None = None,
        workers: int | str | Sequence[int | str] | None = None,
        allow_other_workers: bool | None = None,
        optimize_graph: bool = True,
        fifo_timeout: Any = None,
        **others: Any,
    ) -> Any:
        """Start collections; return equal ones whose blocks stay on the cluster.

        Parameters
        ----------
        collections
            As for `compute`.
        priority, retries, resources, workers, allow_other_workers
            How to treat the tasks: see `glassloom.annotate`.
        optimize_graph
            Whether to rewrite the plan so that it needs fewer tasks and less memory; False runs it as it is written.
        fifo_timeout
            Accepted for compatibility: see `submit`.
        others
            Options of Dask's client: an error says what there is instead.
        """
        refuse_other_options("persist", others, _COLLECTION_OPTIONS)
        args = (collections, *more)
        with annotate(
            priority=priority,
            retries=retries,
            resources=resources,
            workers=workers,
            allow_other_workers=allow_other_workers,
        ):
            if (dask := dask_scheduler_for(args)) is not None:
                results = dask.persist(self, args, optimize_graph)
            else:
                results = persist(*args, scheduler=self, optimize_graph=optimize_graph)
        return results if more else results[0]

    # The runtime that collections use

    def get(self, graph: Any, keys: Any, **options: Any) -> Any:
        """Run a graph and return the results of `keys`. It is a scheduler of Dask's: ``dask.config.set(scheduler=client.get)``.

        Parameters
        ----------
        graph
            A graph of Glassloom's or of Dask's: a dict of tasks, layers, or an expression.
        keys
            Keys of the graph. Of one of Dask's: a key, or a list of keys, which may be nested; results are nested alike.
        options
            For graphs of Dask's: ``priority``, ``retries``, ``resources``, ``workers`` and ``allow_other_workers``, as in
            `glassloom.annotate`. Options of Dask's own schedulers, such as ``num_workers``, are ignored.

        An error or Ctrl-C lets go of them: what nothing else wants is not computed any further. What is held otherwise, by
        futures or persisted collections, is.
        """
        if not isinstance(graph, Graph):
            return self._get_of_dask(graph, keys, options)
        states: list[KeyState] = []
        try:
            self._start_graph(graph, keys, states, "compute")
            return list(run_sync(self._results(keys, states)))
        finally:
            if states:
                self._connection.let_go(keys, states)  # so that the next call may have another task by the same name
            states.clear()  # a traceback may keep it

    @hides_engine_frames
    def _get_of_dask(self, graph: Any, keys: Any, options: Mapping[str, Any]) -> Any:
        if not isinstance(graph, Mapping) and not hasattr(graph, "__dask_graph__"):
            raise TypeError(
                f"get() runs a graph of Glassloom's or Dask's, not a {type(graph).__name__}; for functions use submit() or delayed()"
            )
        return dask_scheduler().run(self, graph, keys, options)

    def hold(self, graph: Graph, keys: Sequence[Key]) -> Mapping[Key, Future]:
        """Start a graph and return the futures of `keys`."""
        states: list[KeyState] = []
        try:
            self._start_graph(graph, keys, states, "persist")
            return dict(zip(keys, Future.of_states(keys, states, self), strict=True))
        finally:
            states.clear()

    def _start_graph(self, graph: Graph, keys: Sequence[Key], states: list[KeyState], kind: str) -> None:
        handling = in_place(current_annotations())
        self._start(lambda encoder: encoder.encode(graph, keys, handling), keys, states, {}, kind)

    def _start(
        self,
        encode: Callable[[Encoder], Any],
        keys: Sequence[Key],
        states: list[KeyState],
        function_tokens: Mapping[int, str],
        kind: str,
    ) -> None:
        """Start tasks of a run; add the states of `keys`, which hold their results, to `states`."""
        self._connection.check_open()
        large: list[Future] = []

        def place_large(value: Any) -> Key:
            large.extend(self._scatter([value], False))
            if kind in ("map", "submit"):
                warn_of_large_argument(value, large[-1].nbytes)
            return large[-1].key

        try:
            with gc_paused() if len(keys) > _FEW else nullcontext():
                message = encode(self._connection.encoder(place_large, function_tokens))
                states.extend(self._connection.hold_all(keys))
            self._connection.submit(message, states[:], self._run_of(kind))
        finally:
            release_all(large)  # the tasks hold them

    def _run_of(self, kind: str) -> int:
        """Return the number of the run that tasks belong to which are started here and now."""
        runs, origin = self._connection.runs, user_origin()
        return runs.begin(kind, origin) if kind != "submit" else runs.of_line(str(origin or ""), origin)

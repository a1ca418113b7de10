"""What all collections share: a thin wrapper around an expression, and `compute` and `persist` of several at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import accumulate
from pathlib import Path
from typing import Any, Self

from glassloom._gc import gc_paused
from glassloom._users_functions import require_no_users_function, without_values
from glassloom.expr import Expr, ToldApart, lower, told_apart, walk
from glassloom.expr import optimize as optimize_plan
from glassloom.graph import Graph, Key
from glassloom.graph.caller_options import caller_options
from glassloom.graph.structures import emptied, filled, is_structure, items_of
from glassloom.graph_drawing import Drawing, draw, warn_of_looks
from glassloom.local import synchronous, threads  # noqa: F401 - they make themselves known by name
from glassloom.local.default import Runtime, choose_runtime, load_runtime_later
from glassloom.protocol.tracebacks import hides_engine_frames

load_runtime_later("processes", "glassloom.client.processes")  # a client is much to import


class Collection:
    """A lazy value: an array, a frame, a delayed call. Wraps an expression; operations return new collections."""

    def __init__(self, expr: Expr) -> None:
        self._expr = expr

    def __str__(self) -> str:
        require_no_users_function(self, "the text")
        return repr(self)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_expr": _for_pickling(self._expr)}

    def __copy__(self) -> Self:
        return self._with_expr(self._expr)

    def __deepcopy__(self, memo: Any) -> Self:
        return self._with_expr(self._expr)  # nodes never change

    @property
    def expr(self) -> Expr:
        """The expression that this collection stands for."""
        return self._expr

    @property
    def name(self) -> str:
        """The name of the expression: equal for equal collections."""
        return self._expr.name

    def __glassloom_tokenize__(self) -> str:
        return self._expr.name

    @hides_engine_frames
    def compute(self, *, optimize_graph: bool = True, scheduler: str | Runtime | None = None) -> Any:
        """Run the tasks and return the concrete result (a NumPy array, a pandas frame, the call's value...).

        Parameters
        ----------
        optimize_graph
            Whether to rewrite the plan so that it needs fewer tasks and less memory; False runs it as it is written.
        scheduler
            Where to run: ``"threads"``, ``"synchronous"`` (in this thread, for debugging), ``"processes"`` (the current
            client, or a `LocalCluster` that is started when first needed and kept until exit) or a `Client`. Default:
            the option ``compute.scheduler``, or else the current client, or else threads.
        """
        (result,) = compute(self, optimize_graph=optimize_graph, scheduler=scheduler)
        return result

    @hides_engine_frames
    def persist(self, *, optimize_graph: bool = True, scheduler: str | Runtime | None = None) -> Self:
        """Start the tasks and return an equal collection whose blocks stay in memory.

        With a client this returns at once, the results stay on the workers, and the collection stands for futures.
        Without one it returns when the results are there.
        """
        (result,) = persist(self, optimize_graph=optimize_graph, scheduler=scheduler)
        return result

    def visualize(
        self,
        filename: str | Path | None = None,
        *,
        optimize_graph: bool = True,
        layers: bool | None = None,
        format: str | None = None,
        **looks: Any,
    ) -> Drawing:
        """Draw the tasks that will run, or the layers if there are more than a few hundred tasks.

        Parameters
        ----------
        filename
            Where to save the drawing too: ``.svg``, ``.dot``, or with Graphviz ``.png`` and ``.pdf``.
        optimize_graph
            Whether to draw the plan as it will run rather than as it is written.
        layers
            Whether to draw layers rather than tasks; None decides by the number of tasks.
        format
            What is added to a `filename` without an ending: ``"svg"``, ``"png"``...
        looks
            Dask's choices of how a graph looks, such as ``engine`` and ``rankdir``. There is one look here: a warning says so.

        Returns
        -------
        Drawing
            What a notebook shows as a picture.
        """
        warn_of_looks(looks)
        return visualize(self, filename=filename, optimize_graph=optimize_graph, layers=layers, format=format)

    def _with_expr(self, expr: Expr) -> Self:
        """Return a collection of this class around another expression of the same kind."""
        return type(self)(expr)


@hides_engine_frames
@without_values
def compute(
    *args: Any, traverse: bool = True, optimize_graph: bool = True, scheduler: str | Runtime | None = None
) -> tuple[Any, ...]:
    """Run several collections at once, sharing what they share, and return their concrete results.

    Parameters
    ----------
    args
        Collections; other values come back as they are.
    traverse
        Whether to look for collections inside lists, tuples, sets, dicts, named tuples and dataclasses.
    optimize_graph
        Whether to rewrite the plan so that it needs fewer tasks and less memory; False runs it as it is written.
    scheduler
        As in `Collection.compute`.

    Examples
    --------
    >>> import glassloom as gl
    >>> total = gl.delayed(sum)([1, 2, 3])
    >>> gl.compute(total, [total, "kept"])
    (6, [6, 'kept'])
    """
    found = _Found(traverse)
    rebuild = found.add_all(args)
    if not found.collections:
        return args
    runtime = choose_runtime(scheduler)
    with gc_paused():
        planned = _Planned([collection.expr for collection in found.collections])
        exprs = planned.exprs
        roots = optimize_plan(exprs, keeps_blocks=False) if optimize_graph else exprs
        if runtime.shares_memory:
            roots = [root.in_place(root) for root in roots]
        graph, keys = lower(roots, shares_memory=runtime.shares_memory)
        graph, keys = planned.with_options(graph, keys, shares_memory=runtime.shares_memory)
    flat = [key for group in keys for key in group]
    results = runtime.get(graph, flat)
    stops = accumulate(map(len, keys))
    values = [
        root.assemble(results[stop - len(group) : stop]) for root, group, stop in zip(roots, keys, stops, strict=True)
    ]
    return rebuild(values)


@hides_engine_frames
@without_values
def persist(
    *args: Any, traverse: bool = True, optimize_graph: bool = True, scheduler: str | Runtime | None = None
) -> tuple[Any, ...]:
    """Start several collections at once; return equal ones whose blocks stay in memory. See `Collection.persist`."""
    found = _Found(traverse)
    rebuild = found.add_all(args)
    if not found.collections:
        return args
    runtime = choose_runtime(scheduler)
    with gc_paused():
        planned = _Planned([collection.expr for collection in found.collections])
        roots = optimize_plan(planned.exprs) if optimize_graph else planned.exprs
        graph, keys = lower(roots, shares_memory=runtime.shares_memory)
        graph, keys = planned.with_options(graph, keys, shares_memory=runtime.shares_memory)
    flat = [key for group in keys for key in group]
    held = runtime.hold(graph, flat)
    values = [
        collection._with_expr(planned.persisted(root, {key: held[key] for key in group}))
        for collection, root, group in zip(found.collections, roots, keys, strict=True)
    ]
    return rebuild(values)


@without_values
def optimize(*args: Any, traverse: bool = True) -> tuple[Any, ...]:
    """Return equal collections whose plans are rewritten to need fewer tasks and less memory, together.

    That is done whenever a collection is computed; do it by hand to look at the plan, or to build upon it. Slices and
    columns have moved to where data is read, and what several of the collections share is still shared. That blocks of
    several operations become one task is decided later, when it is known what is built on them.

    Parameters
    ----------
    args
        Collections; other values come back as they are.
    traverse
        Whether to look for collections inside lists, tuples, sets, dicts, named tuples and dataclasses.

    Examples
    --------
    >>> import glassloom as gl
    >>> import glassloom.array as ga
    >>> (few,) = gl.optimize((ga.arange(1000, chunks=10) + 1)[:20])
    >>> gl.visualize(few, optimize_graph=False)
    Drawing(4 nodes, 2 edges)
    """
    found = _Found(traverse)
    rebuild = found.add_all(args)
    with gc_paused():
        roots = optimize_plan([collection.expr for collection in found.collections], fuse_blocks=False)
    values = [collection._with_expr(root) for collection, root in zip(found.collections, roots, strict=True)]
    return rebuild(values)


def visualize(
    *args: Any,
    filename: str | Path | None = None,
    optimize_graph: bool = True,
    layers: bool | None = None,
    format: str | None = None,
    **looks: Any,
) -> Drawing:
    """Draw the tasks of several collections together. See `Collection.visualize`.

    Examples
    --------
    >>> import glassloom as gl
    >>> total = gl.delayed(sum)([1, 2, 3])
    >>> gl.visualize(total + 1, total)
    Drawing(2 nodes, 1 edges)
    """
    warn_of_looks(looks)
    found = _Found(traverse=True)
    for arg in args:
        found.add(arg)
    if not found.collections:
        raise TypeError("visualize needs at least one array, frame or delayed call")
    roots = [collection.expr for collection in found.collections]
    drawing = draw(roots, optimize_graph=optimize_graph, layers=layers)
    if filename is not None:
        ending = "" if format is None else f".{format.removeprefix('.')}"
        drawing.save(filename if str(filename).endswith(ending) else f"{filename}{ending}")
    return drawing


def with_each(value: Any, function: Callable[[Collection], Any]) -> Any:
    """Return `value` with what a function makes of them in the places of its collections."""
    found = _Found(traverse=True)
    rebuild = found.add(value)
    return rebuild(list(map(function, found.collections)))


_LITTLE_TO_PICKLE = 2**16
"""Bytes of data below which it takes less to send them all than to find out which are needed."""


def _for_pickling(node: Expr) -> Expr:
    """Return a node of the same name and blocks, without the data of which nothing is read."""
    if sum(each.pickled_bytes for each in walk([node])) <= _LITTLE_TO_PICKLE:
        return node
    (smaller,) = optimize_plan([node], fuse_blocks=False)
    return smaller.renamed(node.name)


class _Planned:
    """Expressions that are computed with the options of other libraries that are set here and now."""

    def __init__(self, exprs: list[Expr]) -> None:
        self._options = caller_options()
        self._apart = ToldApart(exprs, {}, {})
        if self._options is not None:
            self._apart = told_apart(exprs, self._options.held_name)

    @property
    def exprs(self) -> list[Expr]:
        """What is to be lowered."""
        return self._apart.roots

    def with_options(
        self, graph: Graph, keys: list[list[Key]], *, shares_memory: bool
    ) -> tuple[Graph, list[list[Key]]]:
        """Return the graph that is to be run in place of one, and the keys of its roots' blocks; the same if all options are the defaults."""
        options, held = self._options, self._apart.held
        if options is None:
            return graph, keys
        found = [options.keys(group, graph, held) for group in keys]
        return options.graph(graph, held, shares_memory=shares_memory), found

    def persisted(self, root: Expr, held: dict[Key, Any]) -> Expr:
        """Return the leaf of a root whose blocks are held."""
        if self._options is None:
            return root.persisted(held)
        return self._apart.original(root.persisted(held, self._options.name(root.name)))


_Rebuild = Callable[[list[Any]], Any]


class _Found:
    """The collections inside nested arguments, and how to put values in their places."""

    def __init__(self, traverse: bool) -> None:
        self.collections: list[Collection] = []
        self._traverse = traverse

    def add_all(self, values: Iterable[Any], kind: Callable[[Iterable[Any]], Any] = tuple) -> _Rebuild:
        """Note the collections in several values; return a function from their results to a `kind` of the values."""
        values = list(values)
        if values and all([isinstance(value, Collection) for value in values]):
            start = len(self.collections)
            stop = start + len(values)
            self.collections += values
            return lambda results: kind(results[start:stop])
        parts = [self.add(value) for value in values]
        return lambda results: kind([part(results) for part in parts])

    def add(self, value: Any) -> _Rebuild:
        """Note the collections in `value`; return a function from their results to `value` with results put in."""
        if isinstance(value, Collection):
            position = len(self.collections)
            self.collections.append(value)
            return lambda results: results[position]
        kind = type(value)
        if self._traverse and kind in (list, tuple, set):
            return self.add_all(value, kind)
        if self._traverse and kind is dict:
            named = {name: self.add(item) for name, item in value.items()}
            return lambda results: {name: part(results) for name, part in named.items()}
        if self._traverse and is_structure(kind):
            return self._add_structure(value)
        return lambda results: value

    def _add_structure(self, value: Any) -> _Rebuild:
        before = len(self.collections)
        parts = [(name, self.add(item)) for name, item in items_of(value)]
        if len(self.collections) == before:
            return lambda results: value
        left = emptied(value)
        return lambda results: filled(left, [(name, part(results)) for name, part in parts])

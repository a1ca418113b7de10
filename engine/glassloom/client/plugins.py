"""`PluginMethods`: users' objects that are set up on every worker, and torn down when it ends."""

from __future__ import annotations

from functools import partial
from typing import Any

from glassloom._names import checked_name
from glassloom.client.blocking import Operation
from glassloom.client.workers import WorkerMethods
from glassloom.errors import OptionError
from glassloom.graph import tokenize
from glassloom.protocol.messages import PLUGIN_PREFIX
from glassloom.store.pickling import dumps
from glassloom.worker import plugins


class PluginMethods(WorkerMethods):
    """The part of a client that registers plugins."""

    def register_plugin(self, plugin: Any, name: str | None = None) -> Any:
        """Set an object up on every worker: on those that there are, and on those that come later before their first task.

        Its method ``setup(worker)`` is called on each, ``teardown(worker)`` when it is unregistered or replaced, and before
        the worker's process ends; it may have either or both. `worker` is what `get_worker` returns: things can be
        kept there as attributes. Each worker has a copy of the object. What ``setup`` raises on a later worker is shown by
        the clients like what tasks log, and the worker works all the same.

        ``teardown`` is called when workers are let go (`retire_workers`, scaling down, adaptive scaling), at `restart`, and
        when the cluster ends. All plugins of a worker together have 2 s for it. It is not called where the process is killed:
        because of its memory, because it doesn't answer or a task doesn't end, by the system, or with the head's process.

        Parameters
        ----------
        plugin
            Anything that pickles and has one of these methods.
        name
            What to call it; a plugin of the same name takes its place. Default: its attribute ``name``, or else its class's
            name and a token of its contents.

        Returns
        -------
        str
            The name, for `unregister_plugin`.

        Raises
        ------
        OptionError
            If it has neither method, is a class rather than an object, or the name isn't text.
        SerialisationError
            If it doesn't pickle.
        Exception
            What ``setup`` raised; then the plugin isn't registered, and is torn down where it was set up.

        Examples
        --------
        >>> from glassloom import Client, get_worker
        >>> class Doubling:
        ...     def setup(self, worker):
        ...         worker.factor = 2
        >>> with Client(n_workers=1, threads_per_worker=1) as client:
        ...     client.register_plugin(Doubling(), name="doubling")
        ...     client.submit(lambda x: x * get_worker().factor, 4).result()
        'doubling'
        8
        """
        return self._run(self._register_plugin(_checked(plugin), _name_of(plugin, name)))

    register_worker_plugin = register_plugin

    def unregister_plugin(self, name: str) -> Any:
        """Tear a plugin down on all workers; those that come later don't set it up.

        Raises
        ------
        OptionError
            If no worker has a plugin of that name; the message lists those there are.
        Exception
            What ``teardown`` raised.
        """
        return self._run(self._unregister_plugin(checked_name("name", name)))

    unregister_worker_plugin = unregister_plugin

    def _register_plugin(self, plugin: Any, name: str) -> Operation[str]:
        try:
            yield from self._set_up(partial(plugins.install, name, plugin), PLUGIN_PREFIX + name)
        except Exception:
            yield from self._remove_plugin(name)
            raise
        return name

    def _unregister_plugin(self, name: str) -> Operation[None]:
        registered = yield from self._remove_plugin(name)
        if registered and not any(name in names for names in registered.values()):
            known = sorted({other for names in registered.values() for other in names})
            raise OptionError(
                f"name={name!r}: no such plugin is registered; there are: {', '.join(map(repr, known)) or 'none'}"
            )

    def _remove_plugin(self, name: str) -> Operation[dict[str, list[str]]]:
        """Tear a plugin down where it is; return, for each worker, the names of those that it had."""
        call = dumps((plugins.remove, (name,), {}))
        return (yield from self._run_on_workers(call, None, forgets=PLUGIN_PREFIX + name))


def _checked(plugin: Any) -> Any:
    if isinstance(plugin, type):
        raise OptionError(f"plugin={plugin!r} is a class: register an object of it, {plugin.__name__}(...)")
    if not any(callable(getattr(plugin, method, None)) for method in ("setup", "teardown")):
        raise OptionError(
            f"plugin={plugin!r} has neither a method setup(worker) nor teardown(worker); to call a function on every worker "
            "use register_worker_callbacks(function)"
        )
    return plugin


def _name_of(plugin: Any, name: Any) -> str:
    chosen = getattr(plugin, "name", None) if name is None else name
    if chosen is None:
        return f"{type(plugin).__name__}-{tokenize(plugin)}"
    return checked_name("name", chosen)

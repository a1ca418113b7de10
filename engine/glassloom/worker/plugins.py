"""Users' plugins in a worker's process: objects that are set up once, and torn down before the process ends."""

from __future__ import annotations

import sys
import threading
import traceback
from typing import Any

from glassloom.errors import ClusterError
from glassloom.worker.task_context import current_worker
from glassloom.worker.worker_of_task import WorkerOfTask, worker_of

TEARDOWN_TIMEOUT_S = 2.0
"""How long all plugins of a worker together may take before its process ends all the same."""

_plugins: dict[str, Any] = {}
"""What was set up in this process, by name."""


def install(name: str, plugin: Any) -> None:
    """Set a plugin up; first tear down the one that has its name, if there is one. Raises what either raises."""
    remove(name)
    if hasattr(plugin, "setup"):
        plugin.setup(_this_worker())
    _plugins[name] = plugin


def remove(name: str) -> list[str]:
    """Tear a plugin down if it is here; return the names of those that were here before. Raises what it raises."""
    names = list(_plugins)
    plugin = _plugins.pop(name, None)
    if hasattr(plugin, "teardown"):
        plugin.teardown(_this_worker())
    return names


def tear_down_all(timeout_s: float = TEARDOWN_TIMEOUT_S) -> None:
    """Tear all plugins down, the latest first: the process ends after that. Never raises, and takes no longer than that."""
    if _plugins:
        thread = threading.Thread(target=_remove_all, name="teardown", daemon=True)
        thread.start()
        thread.join(timeout_s)


def _remove_all() -> None:
    for name in reversed(list(_plugins)):
        try:
            remove(name)
        except BaseException:  # the plugin is the user's
            print(f"plugin {name!r} couldn't be torn down:\n{traceback.format_exc()}", file=sys.stderr, flush=True)


def _this_worker() -> WorkerOfTask:
    options = current_worker()
    if options is None:
        raise ClusterError("plugins are set up in a cluster's workers only")
    return worker_of(options)

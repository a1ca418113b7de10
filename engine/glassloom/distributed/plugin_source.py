"""`MetricsPlugin` as something that is pickled with its source: a scheduler that has no Glassloom, or another Python, can load it."""

from __future__ import annotations

import hashlib
import pkgutil
from typing import Any

from distributed.protocol.pickle import dumps

from glassloom.distributed import metrics_plugin

SOURCE = pkgutil.get_data(metrics_plugin.__package__, "metrics_plugin.py") or b""
"""Found in the archive, too, in which our code travels to workers."""
NAME = f"glassloom-metrics-{hashlib.sha256(SOURCE).hexdigest()[:12]}"
"""Of the plugin, and of the operation by which it is read: another version of the plugin has another."""

_MAKE = "(exec(compile(source, 'glassloom/distributed/metrics_plugin.py', 'exec'), globals()), MetricsPlugin(name))[1]"


class _Sent:
    """Unpickled, it is the plugin. It names nothing but builtins."""

    def __reduce__(self) -> tuple[Any, ...]:
        return eval, (_MAKE, {"source": SOURCE, "name": NAME, "__name__": "glassloom_metrics_plugin"})


def pickled() -> bytes:
    """Return the plugin as a scheduler takes it."""
    found: bytes = dumps(_Sent())
    return found

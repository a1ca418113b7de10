"""`CellComm`: the comm between this kernel and the notebooks that show it, for the strips below cells.

It is never announced with ``comm_open``: a front end that doesn't know the target would close it for all others, and
write an error to its console. Front ends drop messages of comms that they don't know, and ours reads them all the same; one
that connects later finds the comm by asking the kernel which there are of target `TARGET`.

A message is ``{"glassloom_cells": VERSION, "now": s, "cells": [...]}``, see `cell_progress`. A front end sends ``{"ask": "cells"}``, or
``{"ask": "cancel", "cell": id}``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Protocol

TARGET = "glassloom.cell"
VERSION = 1


class Comm(Protocol):
    """What is used of a `comm.base_comm.BaseComm`."""

    def send(self, data: dict[str, Any]) -> None: ...
    def on_msg(self, callback: Callable[[dict[str, Any]], None]) -> None: ...


class CellComm:
    """Sends cells, and hands over what front ends ask. Thread-safe as far as ipykernel is: it sends from any thread.

    Parameters
    ----------
    asked
        Called with what a front end asks, in the kernel's thread that handles its messages.
    """

    def __init__(self, asked: Callable[[dict[str, Any]], None], make: Callable[[], Comm | None] | None = None) -> None:
        self._asked = asked
        self._comm = (make or _make_comm)()
        if self._comm is not None:
            self._comm.on_msg(self._on_message)

    @property
    def is_there(self) -> bool:
        """Whether this process is a kernel with comms."""
        return self._comm is not None

    def send(self, cells: list[dict[str, Any]], now_s: float) -> None:
        """Send cells to all front ends, with the time by the clock of the times in them."""
        if self._comm is not None:
            self._comm.send({"glassloom_cells": VERSION, "now": now_s, "cells": cells})

    def _on_message(self, message: dict[str, Any]) -> None:
        data = message.get("content", {}).get("data", {})
        if isinstance(data, dict):
            self._asked(data)


def _make_comm() -> Comm | None:
    """Return a comm that is registered and not announced; None if this process is no Jupyter kernel."""
    if "ipykernel" not in sys.modules:
        return None
    from ipykernel.comm.comm import BaseComm  # optional dependency
    from ipykernel.ipkernel import IPythonKernel

    if not IPythonKernel.initialized():
        return None
    comm = BaseComm(target_name=TARGET, primary=False)
    IPythonKernel.instance().comm_manager.register_comm(comm)
    made: Comm = comm
    return made

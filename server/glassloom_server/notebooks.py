"""`Notebooks`: which notebook each kernel of this server belongs to now.

A kernel is told its notebook's path once, as it starts; when the notebook is renamed or moved afterwards, only Jupyter's
sessions know. They are read in Jupyter's event loop, which owns them, and no more often than somebody follows clusters.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from logging import Logger, LoggerAdapter
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from jupyter_server.utils import ensure_async

if TYPE_CHECKING:
    from jupyter_server.services.sessions.sessionmanager import SessionManager

LOOK_S = 2.0
"""How often the sessions are read while there are listeners."""

Paths = Mapping[str, str]
"""By a kernel's id, the path of its notebook below the server's root."""
NO_PATHS: Paths = MappingProxyType({})
_MAX_KERNELS = 1000


class Notebooks:
    """Reads sessions. Belongs to one event loop, but `paths` may be read in any thread: it is replaced as a whole.

    Parameters
    ----------
    sessions
        Jupyter's; with a kernel gateway, those of the gateway.

    Attributes
    ----------
    changed
        Called when any path is another than before.
    """

    def __init__(self, sessions: SessionManager, *, log: Logger | LoggerAdapter[Logger]) -> None:
        self.paths: Paths = NO_PATHS
        self.changed: Callable[[], None] = lambda: None
        self._sessions = sessions
        self._log = log

    async def follow(self) -> None:
        """Keep `paths` current until it is cancelled."""
        while True:
            await self.look()
            await asyncio.sleep(LOOK_S)

    async def look(self) -> None:
        """Read the sessions once."""
        try:
            listed: list[dict[str, Any]] = await ensure_async(self._sessions.list_sessions())
        except Exception as error:  # session managers are other people's code, and may ask a remote gateway
            self._log.debug("Glassloom can't read Jupyter's sessions: %s", error)
            return
        found = {session["kernel"]["id"]: session["path"] for session in listed if session.get("type") == "notebook"}
        # A cluster may outlive its kernel: the last path that was known of one is kept.
        paths = dict([*(self.paths.items() - found.items()), *found.items()][-_MAX_KERNELS:])
        if paths != self.paths:
            self.paths = MappingProxyType(paths)
            self.changed()

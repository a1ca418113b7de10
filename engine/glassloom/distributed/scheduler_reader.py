"""`SchedulerReader`: a connection of its own to a scheduler of dask.distributed, over which the plugin there is read."""

from __future__ import annotations

import contextlib
import secrets
import ssl
from typing import Any

import distributed
import msgspec
from distributed.comm.core import connect
from glassloom_metrics.time_limit import time_limit

from glassloom.distributed.connecting import SHARE_TO_CONNECT, cause_of
from glassloom.distributed.metrics_batches import Answer
from glassloom.distributed.plugin_source import NAME, pickled
from glassloom.distributed.remote_workers import VERSION
from glassloom.errors import ClusterError, ClusterNotFound, OptionError

TIMEOUT_S = 8.0
"""How long a scheduler may take to answer."""
WAIT_S = 1.0
"""How long it may collect nothing before it says so."""


class SchedulerReader:
    """Reads one scheduler. Lives in one event loop.

    Parameters
    ----------
    address
        Such as ``"tcp://scheduler:8786"``.
    security
        A `distributed.Security`; None: of Dask's configuration.

    Attributes
    ----------
    scheduler
        Id of the scheduler that answered last.
    """

    def __init__(self, address: str, security: Any = None, *, timeout_s: float | None = None) -> None:
        self.address, self._timeout_s = address, TIMEOUT_S if timeout_s is None else timeout_s
        self._security = distributed.Security() if security is None else security
        self._name = secrets.token_hex(8)
        self._comm: Any = None
        self._log, self._since = "", -1
        self.scheduler = ""

    async def open(self) -> None:
        """Connect, and see that the scheduler has the plugin.

        Raises
        ------
        ClusterNotFound
            If no scheduler answers at the address.
        OptionError
            If the certificates can't be used.
        ClusterError
            If the scheduler doesn't take the plugin. It says what to do.
        """
        self.abort()
        try:
            options = self._security.get_connection_args("client")
        except (ssl.SSLError, OSError, ValueError, TypeError) as error:
            raise OptionError(f"the certificates for {self.address} can't be used: {error}; {self._files()}") from error
        if self.address.startswith(("tls://", "gateway://")) and options.get("ssl_context") is None:
            raise OptionError(
                f"{self.address!r} needs certificates: --tls-ca-file, --tls-cert and --tls-key, or distributed.comm.tls of Dask's "
                f"configuration; {self._files()}"
            )
        try:
            async with time_limit(self._timeout_s):
                self._comm = await connect(self.address, timeout=SHARE_TO_CONNECT * self._timeout_s, **options)
            told = await self._ask("identity")
        except (ValueError, TypeError, RuntimeError) as error:
            raise OptionError(f"can't connect to {self.address}: {error}") from error
        except (OSError, TimeoutError) as error:
            cause = cause_of(error, self.address) or "what listens there doesn't say that it is one"
            raise ClusterNotFound(
                f"no scheduler of dask.distributed answers at {self.address} within {self._timeout_s:g} s: {cause}. Is the "
                "address that of the scheduler, can it be reached from here, and do both sides use TLS, or neither?"
            ) from error
        if not isinstance(told, dict) or told.get("type") != "Scheduler":
            kind = told.get("type") if isinstance(told, dict) else type(told).__name__
            raise ClusterNotFound(f"what answers at {self.address} is no scheduler of dask.distributed, but {kind!r}")
        self.scheduler = str(told.get("id", ""))
        await self._install()

    async def _install(self) -> None:
        try:
            answer = await self._ask("register_scheduler_plugin", plugin=pickled(), name=NAME, idempotent=True)
        except (OSError, TimeoutError) as error:
            raise ClusterNotFound(f"the scheduler at {self.address} went away: {error}") from error
        if isinstance(answer, dict) and "exception" in answer and not await self._has_plugin():
            raise ClusterError(
                f"the scheduler at {self.address} doesn't take the plugin by which Glassloom reads it: "
                f"{answer.get('exception_text') or answer.get('text')}; install glassloom=={VERSION} there, and start it with "
                "--preload glassloom.distributed.metrics_plugin"
            )

    async def _has_plugin(self) -> bool:
        """Whether the scheduler was started with the plugin: those that take no plugins refuse one that they have, too."""
        with contextlib.suppress(OSError, TimeoutError):
            told = await self._ask(NAME, reader=self._name, log="", since=-1, wait_s=0.0)
            return isinstance(told, dict) and "log" in told
        return False

    def _files(self) -> str:
        """Say which files are given. What isn't a path is a certificate or a key itself, and isn't shown."""
        told = self._security.get_tls_config_for_role("client")
        given = {name: str(value) for name in ("ca_file", "cert", "key") if (value := told.get(name))}
        texts = [f"{name} {'as text' if chr(10) in value else value}" for name, value in given.items()]
        return f"given are {', '.join(texts)}" if texts else "none are given"

    async def read(self) -> Answer:
        """Return what is new, or nothing new after a second.

        Raises
        ------
        OSError, TimeoutError
            If the connection is lost, or the scheduler doesn't answer.
        """
        told = await self._ask(NAME, reader=self._name, log=self._log, since=self._since, wait_s=WAIT_S)
        try:
            answer = msgspec.convert(told, Answer)
        except msgspec.ValidationError as error:
            raise ConnectionError(f"the plugin is gone from the scheduler ({error})") from error
        self._log, self._since = answer.log, answer.first + len(answer.batches)
        return answer

    @property
    def position(self) -> int:
        """Number of the batch that comes next."""
        return self._since

    async def note_run(self, client: str, key: Any, info: list[Any]) -> None:
        """Tell the plugin of a run whose graph is about to be handed in."""
        await self._ask(f"{NAME}-run", client=client, key=key, info=info)

    async def close(self) -> None:
        """Tell the plugin that nobody reads any more, as far as the scheduler can be reached."""
        if self._comm is not None:
            with contextlib.suppress(OSError, TimeoutError):
                async with time_limit(2.0):
                    await self._ask(NAME, reader=self._name, leaves=True)
        self.abort()

    def abort(self) -> None:
        """End the connection at once."""
        if self._comm is not None:
            self._comm.abort()
            self._comm = None

    async def _ask(self, op: str, **arguments: Any) -> Any:
        if self._comm is None:  # it couldn't be opened again
            raise ConnectionError("there is no connection")
        async with time_limit(self._timeout_s + WAIT_S):
            await self._comm.write({"op": op, "reply": True, **arguments})
            return await self._comm.read()

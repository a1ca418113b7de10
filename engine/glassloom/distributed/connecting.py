"""Connecting to a cluster of dask.distributed: by address, or with what somebody has of it already."""

from __future__ import annotations

import asyncio
import logging
import platform
import socket
import ssl
from asyncio import CancelledError
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from typing import Any, NamedTuple

import distributed
from distributed.comm.addressing import parse_host_port
from distributed.comm.core import connect as open_comm
from distributed.core import send_recv
from distributed.deploy.cluster import Cluster
from glassloom_metrics.time_limit import time_limit

from glassloom.errors import ClusterError, ClusterNotFound, OptionError

TIMEOUT_S = 8.0
"""How long a scheduler may take to answer."""
SHARE_TO_CONNECT = 0.9
"""Of that time: then the error says why there is no connection."""
_REFUSAL_S = 0.5
_PORTS = 2**16
_GIVES_UP = "Failed to reconnect to scheduler"
"""What a client logs whose time to reconnect is over, also one that is closed between two attempts."""
_HERE = version("distributed")
_VERSIONS = "distributed is {there} there and {here} here: install the same version on both sides"


class Connected(NamedTuple):
    """A client of dask.distributed, and whether it is ours to close."""

    dask: distributed.Client
    is_own: bool
    address: str


def connect(target: Any, security: Any) -> Connected:
    """Return a client of dask.distributed.

    Parameters
    ----------
    target
        An address such as ``"tcp://scheduler:8786"``, a `distributed.Client`, or a cluster of `distributed.deploy`.
    security
        A `distributed.Security`, for ``tls://``.

    Raises
    ------
    ClusterNotFound
        If no scheduler answers there.
    OptionError
        If it can't be connected to as asked.
    """
    if security is not None and not isinstance(security, distributed.Security):
        raise OptionError(
            f"security={security!r} should be a distributed.Security, such as "
            "Security(tls_ca_file=..., tls_client_cert=..., tls_client_key=...)"
        )
    if isinstance(target, distributed.Client):
        if target.asynchronous:
            raise OptionError(
                "the distributed.Client is asynchronous; make it without asynchronous=True, or give its address"
            )
        if target.status != "running":
            raise ClusterError(f"the distributed.Client is {target.status}; make a new one")
        return Connected(target, False, _address_of(target))
    if isinstance(target, Cluster):
        target = target if security is None else target.scheduler_address
    return _connect(target, security, TIMEOUT_S)


def _connect(target: Any, security: Any, timeout_s: float) -> Connected:
    name = target if isinstance(target, str) else target.scheduler_address
    if isinstance(target, str) and target.startswith("tls://") and security is None:
        raise OptionError(f"{target!r} needs certificates: Client({target!r}, security=distributed.Security(...))")
    if isinstance(target, str):
        _check_port(target)
    there = ""
    try:
        if isinstance(target, str):
            there = _see_that_a_scheduler_answers(target, security, timeout_s)
        client = distributed.Client(
            target, timeout=timeout_s, security=security, set_as_default=False, name="glassloom"
        )
    except ClusterError:
        raise
    except (ssl.SSLError, FileNotFoundError) as error:
        raise OptionError(f"the certificates for {name} can't be used: {error}") from error
    except (
        OSError,
        TimeoutError,
        MemoryError,
    ) as error:  # the latter of sizes that another protocol's greeting would mean
        raise ClusterNotFound(
            f"no scheduler of dask.distributed answers at {name} within {timeout_s:g} s: {cause_of(error, name)}. Is the address that of the "
            "scheduler, can it be reached from here, and do both sides use TLS, or neither?"
        ) from error
    except (ValueError, TypeError, RuntimeError) as error:
        tls = "; perhaps the scheduler there doesn't use TLS" if name.startswith("tls://") else ""
        other = f"; {_VERSIONS.format(there=there, here=_HERE)}" if there else ""
        raise OptionError(f"can't connect to {name}: {error}{tls}{other}") from error
    return Connected(client, True, _address_of(client))


def _check_port(address: str) -> None:
    port = address.rpartition(":")[2]
    if port.isdecimal() and not 0 < int(port) < _PORTS:
        raise OptionError(f"{address!r}: the port {port} should be between 1 and {_PORTS - 1}")


def _see_that_a_scheduler_answers(address: str, security: Any, timeout_s: float) -> str:
    """Return the version of distributed of the scheduler at an address, "" if it is ours.

    Raises if what listens there is something else, or says nothing: dask.distributed itself would wait for it without end. Also if its
    Python is another one, which can't read what dask.distributed sends.
    """

    async def greet() -> tuple[dict[str, Any], dict[str, Any]]:
        options = {} if security is None else security.get_connection_args("client")
        try:
            async with time_limit(timeout_s) as deadline:
                comm = await open_comm(address, timeout=SHARE_TO_CONNECT * timeout_s, **options)
                try:
                    answer: dict[str, Any] = await send_recv(comm, op="identity")
                    versions: dict[str, Any] = await send_recv(comm, op="versions")
                finally:
                    comm.abort()
        except TimeoutError:
            if deadline.expired():
                raise TimeoutError("what listens there doesn't say that it is one") from None
            raise
        return answer, versions

    with ThreadPoolExecutor(1) as pool:  # the caller's thread may have an event loop already
        identity, versions = pool.submit(asyncio.run, greet()).result()
    kind = identity.get("type", "server")
    if "Scheduler" not in kind:
        at = f"; its scheduler is at {identity['scheduler']}" if identity.get("scheduler") else ""
        raise OptionError(f"{address} is the address of a {kind}, not that of the scheduler{at}")
    packages = versions.get("packages", {})
    require_same_python(f"the scheduler of {address}", packages)
    theirs = str(packages.get("distributed", ""))
    return "" if theirs == _HERE else theirs


def require_same_python(who: str, packages: Mapping[str, Any]) -> None:
    """Raise `ClusterError` if the versions that a scheduler or worker tells are those of another Python than this process's."""
    here, there = (
        ".".join(text.split(".")[:2]) for text in (platform.python_version(), str(packages.get("python", "")))
    )
    if there and there != here:
        raise ClusterError(
            f"{who} runs Python {there}, and this process Python {here}: code can't be sent between them; use the same Python"
        )


def scheduler_of(client: distributed.Client) -> Any:
    """Return what calls the scheduler of a connected client."""
    return client.scheduler


def workers_told_of(client: distributed.Client) -> dict[str, Any]:
    """Return what the scheduler says of each of its workers, by address. Waits.

    `distributed.Client.scheduler_info` isn't asked: that client looks every two seconds how the scheduler is, without workers,
    and returns what was seen last, so that a cluster may seem to have none.
    """
    identity = client.sync(scheduler_of(client).identity, n_workers=-1)
    workers: dict[str, Any] = identity["workers"]
    return workers


def close(client: distributed.Client) -> None:
    """Close a client and end its threads, also if it tries to reach a scheduler that is lost. That it gives this up isn't logged.

    Closing it again does nothing. A client that has given up its scheduler has closed itself, without its event loop's thread.
    """
    log = logging.getLogger("distributed.client")
    log.addFilter(_is_not_of_closing)
    try:
        client.close()
        client._loop_runner.stop()
    finally:
        log.removeFilter(_is_not_of_closing)


def _is_not_of_closing(record: logging.LogRecord) -> bool:
    was_cancelled = record.exc_info is not None and isinstance(record.exc_info[1], CancelledError)
    return not was_cancelled and not str(record.msg).startswith(_GIVES_UP)


def _address_of(client: distributed.Client) -> str:
    return str(scheduler_of(client).address)


def cause_of(error: BaseException, address: str) -> str:
    """Return what the innermost error says that knows more than that time was over."""
    told = None
    outer = str(error)
    while error.__cause__ is not None:
        error = error.__cause__
        if not isinstance(error, (TimeoutError, CancelledError)):
            told = f"{type(error).__name__}: {error}"
    return told or _refusal(address) or outer


def _refusal(address: str) -> str | None:
    """Return why a connection fails now, if it does: of many attempts dask.distributed tells the last, which it may have given no time."""
    scheme, _, place = address.rpartition("://")
    if scheme not in {"", "tcp", "tls"}:
        return None
    try:
        with socket.create_connection(parse_host_port(place), _REFUSAL_S):
            return None
    except (OSError, ValueError) as error:
        return None if isinstance(error, TimeoutError) else f"{type(error).__name__}: {error}"

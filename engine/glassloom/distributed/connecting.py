"""Connecting to a cluster of dask.distributed: by address, or with what somebody has of it already."""

from __future__ import annotations

import asyncio
import ssl
from asyncio import CancelledError
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import distributed
from distributed.comm.core import connect as open_comm
from distributed.deploy.cluster import Cluster

from glassloom.errors import ClusterError, ClusterNotFound, OptionError

TIMEOUT_S = 8.0
"""How long a scheduler may take to answer."""


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
    try:
        if isinstance(target, str):
            _see_that_it_answers(target, security, timeout_s)
        client = distributed.Client(
            target, timeout=timeout_s, security=security, set_as_default=False, name="glassloom"
        )
    except (ssl.SSLError, FileNotFoundError) as error:
        raise OptionError(f"the certificates for {name} can't be used: {error}") from error
    except (OSError, TimeoutError) as error:
        raise ClusterNotFound(
            f"no scheduler of dask.distributed answers at {name} within {timeout_s:g} s: {_cause(error)}. Is the address that of the "
            "scheduler, can it be reached from here, and do both sides use TLS, or neither?"
        ) from error
    except (ValueError, TypeError, RuntimeError) as error:
        raise OptionError(f"can't connect to {name}: {error}") from error
    return Connected(client, True, _address_of(client))


def _see_that_it_answers(address: str, security: Any, timeout_s: float) -> None:
    """Raise TimeoutError if what listens at an address says nothing: dask.distributed itself would wait for it without end."""

    async def greet() -> None:
        options = {} if security is None else security.get_connection_args("client")
        deadline = asyncio.timeout(timeout_s)
        try:
            async with deadline:
                comm = await open_comm(address, timeout=timeout_s, **options)
        except TimeoutError:
            if deadline.expired():
                raise TimeoutError("what listens there doesn't say that it is one") from None
            raise
        comm.abort()

    with ThreadPoolExecutor(1) as pool:  # the caller's thread may have an event loop already
        pool.submit(asyncio.run, greet()).result()


def scheduler_of(client: distributed.Client) -> Any:
    """Return what calls the scheduler of a connected client."""
    return client.scheduler


def _address_of(client: distributed.Client) -> str:
    return str(scheduler_of(client).address)


def _cause(error: BaseException) -> str:
    """Return what the innermost error says that knows more than that time was over."""
    told = str(error)
    while error.__cause__ is not None:
        error = error.__cause__
        if not isinstance(error, (TimeoutError, CancelledError)):
            told = f"{type(error).__name__}: {error}"
    return told

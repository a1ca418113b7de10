"""A cluster of dask.distributed among the processes of an MPI job. Imports mpi4py, so it is imported when asked for.

Rank 0 is the scheduler, rank 1 goes on with the script, the others are workers. Rank 1 ends the cluster by a message of MPI, which needs
neither a connection nor threads: a script ends in many ways, most of them late in the life of its interpreter.
"""

from __future__ import annotations

import asyncio
import atexit
import logging
import math
import os
import sys
import traceback
from collections.abc import Mapping
from importlib import import_module
from time import monotonic, sleep
from typing import Any

import distributed

from glassloom import config
from glassloom.errors import ClusterStartError, OptionError

try:
    from mpi4py import MPI
except ModuleNotFoundError:
    raise
except (ImportError, RuntimeError) as error:
    raise OptionError(
        f"initialize_mpi() needs a library of MPI, which mpi4py can't load: {error}. Install one, such as openmpi-bin of Debian"
    ) from error

_SCHEDULER, _SCRIPT = 0, 1
_LEAST_RANKS = 3
_ADDRESS, _END = 1, 2
"""Tags of messages: the scheduler's address, and that the cluster is to end."""
_POLL_S = 0.05
_WORKING = (distributed.Status.init, distributed.Status.running, distributed.Status.paused)
_WORKER_BOUND_S = 3.0
"""How long a worker waits for its running tasks when the cluster ends."""
_END_BOUND_S = 15.0
"""How long the other ranks may take to end. Then MPI aborts them."""


def initialize(
    *,
    nthreads: int,
    memory_limit: int | float | str | None,
    interface: str | None,
    protocol: str | None,
    local_directory: str | None,
    dashboard_address: str | None,
    worker_class: str,
    worker_options: Mapping[str, Any] | None,
    comm: Any,
) -> str:
    """See `glassloom.distributed.initialize_mpi`."""
    comm = (MPI.COMM_WORLD if comm is None else comm).Dup()  # the script's own messages can't be taken for ours
    if comm.Get_size() < _LEAST_RANKS:
        raise ClusterStartError(
            f"initialize_mpi() needs {_LEAST_RANKS} ranks or more, for the scheduler, the script and a worker, and there are "
            f"{comm.Get_size()}: mpirun -n 4 python script.py"
        )
    rank = comm.Get_rank()
    if rank == _SCRIPT:
        address = _received_address(comm)
        _wait(comm.Ibarrier())  # all workers are there
        atexit.register(_end_others, comm)
        config.set({"client.address": address})
        return address
    logging.getLogger("distributed").setLevel(logging.ERROR)  # a line for each connection, from each rank
    try:
        if rank == _SCHEDULER:
            asyncio.run(_schedule(comm, interface, protocol, dashboard_address))
        else:
            options = {
                "interface": interface,
                "protocol": protocol,
                "nthreads": nthreads,
                "memory_limit": memory_limit,
                "local_directory": local_directory,
                "dashboard": False,
                "name": rank,
                **(worker_options or {}),
            }
            asyncio.run(_work(comm, _class_named(worker_class), options))
        _wait(comm.Ibarrier())
    except BaseException:  # MPI waits for all ranks before one ends
        traceback.print_exc()
        sys.stderr.flush()
        comm.Abort(1)
    sys.exit()


async def _schedule(comm: Any, interface: str | None, protocol: str | None, dashboard_address: str | None) -> None:
    async with distributed.Scheduler(
        interface=interface,
        protocol=protocol,
        dashboard=dashboard_address is not None,
        dashboard_address=dashboard_address,
    ) as scheduler:
        sent = [comm.isend(scheduler.address, dest=rank, tag=_ADDRESS) for rank in range(1, comm.Get_size())]
        await _completed(comm.Ibarrier())
        for request in sent:
            request.wait()
        while scheduler.status is distributed.Status.running:  # or the script has shut it down
            if comm.iprobe(source=_SCRIPT, tag=_END):
                await scheduler.close()
            await asyncio.sleep(_POLL_S)


async def _work(comm: Any, worker_class: Any, options: Mapping[str, Any]) -> None:
    async with worker_class(_received_address(comm), **options) as worker:
        await _completed(comm.Ibarrier())
        while worker.status in _WORKING:
            await asyncio.sleep(_POLL_S)
        try:
            await asyncio.wait_for(worker.finished(), _WORKER_BOUND_S)
        except TimeoutError:  # a task is running, which cannot be interrupted
            await _completed(comm.Ibarrier())
            sys.stdout.flush()
            sys.stderr.flush()
            MPI.Finalize()
            os._exit(0)


def _received_address(comm: Any) -> str:
    while not comm.iprobe(source=_SCHEDULER, tag=_ADDRESS):  # MPI's own waiting takes a whole CPU
        sleep(_POLL_S)
    return str(comm.recv(source=_SCHEDULER, tag=_ADDRESS))


async def _completed(request: Any) -> None:
    while not request.Test():
        await asyncio.sleep(_POLL_S)


def _wait(request: Any, bound_s: float = math.inf) -> bool:
    """Wait for something; tell whether it came in time."""
    deadline = monotonic() + bound_s
    while not request.Test():
        if monotonic() > deadline:
            return False
        sleep(_POLL_S)
    return True


def _end_others(comm: Any) -> None:
    """End the cluster. Called as the script's interpreter ends."""
    message = comm.isend(None, dest=_SCHEDULER, tag=_END)
    if not _wait(comm.Ibarrier(), _END_BOUND_S):
        print(f"the cluster of MPI didn't end within {_END_BOUND_S:g} s and is aborted", file=sys.stderr, flush=True)
        comm.Abort(1)
    message.wait()


def _class_named(name: str) -> Any:
    module, _, attribute = name.rpartition(".")
    try:
        return getattr(import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise OptionError(f"worker_class={name!r} can't be imported: {error}") from error

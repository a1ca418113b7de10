"""Glassloom and Dask. Nothing else in Glassloom imports Dask, and what is imported here by name doesn't either.

- Dask's collections on our engine: ``Client(dask=True)``, ``dask.config.set(scheduler=client.get)``, or, on threads,
  ``dask.config.set(scheduler=glassloom.get)``;
- joblib on our engine: `register_joblib`;
- a cluster of dask.distributed in an MPI job: `initialize_mpi`.

>>> import dask
>>> import glassloom
>>> with dask.config.set(scheduler=glassloom.get):
...     dask.delayed(sum)([1, 2]).compute()
3
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from glassloom.distributed.optional import load

__all__ = ["initialize_mpi", "register_joblib"]


def register_joblib() -> None:
    """Make the backend ``"glassloom"`` known to joblib: ``joblib.parallel_config("glassloom")``.

    A `Client` does so by itself, whether joblib is imported before or after it is made.

    Calls then run on the newest open `Client`, or on the client that is given: ``parallel_config("glassloom", client=...)``.

    Raises
    ------
    OptionError
        If joblib isn't installed.

    Examples
    --------
    >>> import joblib
    >>> from glassloom import Client
    >>> from glassloom.distributed import register_joblib
    >>> register_joblib()
    >>> with Client(n_workers=1, threads_per_worker=2), joblib.parallel_config("glassloom"):
    ...     joblib.Parallel()(joblib.delayed(abs)(x) for x in [-1, -2])
    [1, 2]
    """
    load("joblib_backend", "register_joblib()").register()


def initialize_mpi(
    *,
    nthreads: int = 1,
    memory_limit: int | float | str | None = "auto",
    interface: str | None = None,
    protocol: str | None = None,
    local_directory: str | None = None,
    dashboard_address: str | None = None,
    worker_class: str = "distributed.Worker",
    worker_options: Mapping[str, Any] | None = None,
    comm: Any = None,
) -> str:
    """Make the processes of an MPI job a cluster of dask.distributed: rank 0 the scheduler, rank 1 the script, the rest workers.

    It returns in rank 1 only, when all workers are there. Then ``Client()`` connects to the cluster. The other ranks work until the script
    ends, be it by an error, and end then. If one of them dies, MPI ends all.

    Parameters
    ----------
    nthreads, memory_limit, local_directory
        Of each worker, as dask.distributed takes them.
    interface
        Of the network, such as ``"ib0"``.
    protocol
        Such as ``"tcp"`` or ``"ucx"``.
    dashboard_address
        Of dask.distributed's own dashboard, such as ``":8787"``. None: there is none.
    worker_class
        The class of the workers, such as ``"dask_cuda.CUDAWorker"``.
    worker_options
        Further arguments of that class.
    comm
        A communicator of mpi4py. None: all ranks.

    Returns
    -------
    The scheduler's address.

    Raises
    ------
    ClusterStartError
        If there are fewer than three ranks.
    OptionError
        If mpi4py or dask.distributed isn't installed, or there is no such class.

    Examples
    --------
    A script ``pi.py``, run with ``mpirun -n 4 python pi.py``::

        from glassloom import Client
        from glassloom.distributed import initialize_mpi

        initialize_mpi()
        with Client() as client:
            print(client.submit(sum, [1, 2]).result())
    """
    address: str = load("mpi", "initialize_mpi()").initialize(
        nthreads=nthreads,
        memory_limit=memory_limit,
        interface=interface,
        protocol=protocol,
        local_directory=local_directory,
        dashboard_address=dashboard_address,
        worker_class=worker_class,
        worker_options=worker_options,
        comm=comm,
    )
    return address

"""`get`: Dask's graphs on the threads of this process. Imports Dask when it is called."""

from __future__ import annotations

from typing import Any

from glassloom.distributed.optional import load
from glassloom.local.threads import default_threads
from glassloom.protocol.tracebacks import hides_engine_frames


@hides_engine_frames
def get(dsk: Any, keys: Any, **options: Any) -> Any:
    """Run a graph of Dask's on the threads of this process: ``dask.config.set(scheduler=glassloom.get)``.

    Parameters
    ----------
    dsk
        A dict of tasks, as in `dask.task_spec` or as tuples, or an expression or layers of Dask's.
    keys
        A key, or a list of keys, which may be nested.
    options
        ``priority`` and ``retries``. Those of Dask's own schedulers, such as ``num_workers``, are ignored.

    Returns
    -------
    The result of the key, or a tuple of results, nested as `keys`.

    Raises
    ------
    GraphError
        If a task needs a key that no task makes.
    OptionError
        If Dask isn't installed.
    Exception
        What a task raised, with a note that names the task and the user's line.

    Examples
    --------
    >>> import glassloom
    >>> glassloom.get({"x": 1, "y": (sum, ["x", 10])}, ["x", ["y"]])
    (1, (11,))
    """
    return load("dask_scheduler", "glassloom.get").run(default_threads(), dsk, keys, options)

"""`record`: records whatever collections compute on, a client's cluster or this process's threads."""

from __future__ import annotations

import os

from glassloom_metrics.registry import ClusterRecord

from glassloom.client.base import ClientBase
from glassloom.errors import OptionError
from glassloom.local.default import choose_runtime
from glassloom.local.threads import ThreadsRuntime
from glassloom.recordings.cluster_recording import ClusterRecording, start_recording


def record(path: str | os.PathLike[str], *, since_start: bool = False, overwrite: bool = False) -> ClusterRecording:
    """Record to a file what runs where collections compute: on the current client's cluster, or on threads without one.

    Parameters
    ----------
    path
        Of the file, ``.glr`` by custom.
    since_start
        Whether to record all that the log still has, too.
    overwrite
        Whether a file that is there is replaced.

    Returns
    -------
    ClusterRecording
        Use it in a ``with`` block, or call its `stop`.

    Raises
    ------
    FileExistsError
        If there is a file and `overwrite` is False.
    OptionError
        If nothing is published that could be recorded.
    ClusterError
        If the cluster can't be recorded.

    Examples
    --------
    >>> import glassloom, tempfile
    >>> path = tempfile.mkdtemp() + "/run.glr"
    >>> with glassloom.record(path):  # doctest: +SKIP
    ...     glassloom.delayed(sum)([1, 2]).compute()
    3
    """
    return start_recording(current_record(), path, since_start=since_start, overwrite=overwrite)


def current_record() -> ClusterRecord:
    """Return the record of the cluster that collections compute on now; raises `OptionError` if there is none."""
    runtime = choose_runtime(None)
    if isinstance(runtime, ClientBase):
        runtime._connection.owner.require()
        return runtime._published_record()
    if not isinstance(runtime, ThreadsRuntime):
        raise OptionError(
            f"{type(runtime).__name__} publishes nothing that could be recorded: compute on threads or a Client"
        )
    found = runtime.cluster_record()
    if found is None:
        raise OptionError(
            "the pool of threads publishes no metrics, so there is nothing to record: set the option threads.publish to true "
            "before the first computation; if it is, the log says what is wrong"
        )
    return found

"""`RecordMethod`: the part of a client that records its cluster to a file."""

from __future__ import annotations

import asyncio
import os
from typing import Any

from glassloom.client.base import ClientBase
from glassloom.recordings.cluster_recording import start_recording


class RecordMethod(ClientBase):
    """The part of a client that records its cluster."""

    def record(self, path: str | os.PathLike[str], *, since_start: bool = False, overwrite: bool = False) -> Any:
        """Record what the cluster does to a file, from now on; `glassloom.replay` shows it again.

        Parameters
        ----------
        path
            Of the file, ``.glr`` by custom.
        since_start
            Whether to record all that the cluster's log still has, too: everything since its start, unless that is long ago.
        overwrite
            Whether a file that is there is replaced.

        Returns
        -------
        ClusterRecording
            Use it in a ``with`` block, or call its `stop`. An asynchronous client returns something to await, for
            ``async with``.

        Raises
        ------
        FileExistsError
            If there is a file and `overwrite` is False.
        ClusterError
            If the cluster can't be recorded.

        Examples
        --------
        >>> import os, tempfile
        >>> from glassloom import Client
        >>> path = os.path.join(tempfile.mkdtemp(), "run.glr")
        >>> with Client(n_workers=1, threads_per_worker=1) as client:
        ...     with client.record(path):
        ...         client.submit(abs, -1).result()
        1
        >>> os.path.getsize(path) > 0
        True
        """
        self._connection.owner.require()
        record = self._published_record()
        if self.asynchronous:
            return asyncio.to_thread(start_recording, record, path, since_start=since_start, overwrite=overwrite)
        return start_recording(record, path, since_start=since_start, overwrite=overwrite)

"""`ProfileMethod`: the part of a client that asks what tasks were doing."""

from __future__ import annotations

import asyncio
import math
import os
import socket
from collections.abc import Iterable, Iterator
from numbers import Real
from pathlib import Path
from typing import Any

from glassloom_metrics.call_tree import SampledStacks
from glassloom_metrics.framing import FrameSplitter, frame
from glassloom_metrics.peer import require_own
from glassloom_metrics.protocol import Connect, Message, Position, Refused, WorkerJoined, decode_known, encode
from glassloom_metrics.registry import ClusterRecord

from glassloom import config
from glassloom.client.base import ClientBase
from glassloom.errors import ClusterClosed, ClusterError, OptionError
from glassloom.recordings.flame_files import collapsed, speedscope

_TOPICS = ["stacks", "profile", "layers", "worker-joined"]
_SETTLE_S = 1.6
"""How long it takes until what tasks were doing is in the cluster's log: half a second in a worker, one in the head."""
_READ_BYTES = 2**18


class ProfileMethod(ClientBase):
    """The part of a client that asks what tasks were doing."""

    def profile(
        self,
        key: str | None = None,
        start: float | None = None,
        stop: float | None = None,
        workers: str | Iterable[str] | None = None,
        *,
        filename: str | os.PathLike[str] | None = None,
    ) -> Any:
        """Return where tasks spent their time: a call tree of samples of their stacks.

        While tasks run, each worker looks about 20 times a second (the option ``metrics.profile-interval``) what its threads
        are doing. The tree is of the functions that tasks call, and those that these call; of the engine's own functions the
        innermost is shown where there is no other. What waits is counted as well as what computes, but a task that waits for
        other tasks isn't. It takes up to two seconds until all that has happened is known.

        Unlike that of dask.distributed, each sample is worth the time that its thread has run tasks since the one before it (``"seconds"``), the profile is
        kept with the cluster's log and in recordings, and there is no plot: files open in flame graph viewers.

        Parameters
        ----------
        key
            Only tasks of this name, such as that of the function, or whose name begins with it and a dash; None: all.
        start, stop
            Only what was seen between, in seconds since the epoch, to the second; None: no bound.
        workers
            Only these, by name; None: all, also those that are gone.
        filename
            Write a file instead of returning the tree: for https://www.speedscope.app if the name ends in ``.json``, else
            collapsed stacks with milliseconds, for ``flamegraph.pl`` and others.

        Returns
        -------
        dict
            A node: ``"description"`` of its function (``"name"``, ``"filename"``, ``"line_number"``), ``"count"`` of samples,
            ``"seconds"`` that they stand for, both with those of its ``"children"`` (by function), and the same two numbers by
            line of the function in ``"lines"``. The root stands for all.

        Raises
        ------
        ClusterClosed
            If the cluster ends meanwhile.
        TimeoutError
            If its head doesn't answer.

        Examples
        --------
        >>> from glassloom import Client
        >>> with Client(n_workers=1, threads_per_worker=1) as client:
        ...     client.profile()["count"]
        0
        """
        for name, at_s in (("start", start), ("stop", stop)):
            if at_s is not None and (not isinstance(at_s, Real) or isinstance(at_s, bool)):
                raise OptionError(f"{name}={at_s!r} should be seconds since the epoch, as `time.time` returns them")
        self._connection.owner.require()
        self._require_own_cluster("profile()", "use profile() of distributed.Client")
        names = None if workers is None else {workers} if isinstance(workers, str) else set(workers)
        asked = (self._record, key, (start, stop), names, filename)
        return asyncio.to_thread(_profile, *asked) if self.asynchronous else _profile(*asked)


def _profile(
    record: ClusterRecord,
    key: str | None,
    window: tuple[float | None, float | None],
    workers: set[str] | None,
    filename: str | os.PathLike[str] | None,
) -> dict[str, Any] | None:
    profile = _read(record, window, workers)

    def is_wanted(layer: str) -> bool:
        return key is None or layer == key or layer.startswith(f"{key}-")

    if filename is None:
        return profile.tree(is_wanted)
    path = Path(filename)
    make = speedscope if path.suffix == ".json" else collapsed
    path.write_bytes(make(profile, record.name, is_wanted))
    return None


def _read(record: ClusterRecord, window: tuple[float | None, float | None], workers: set[str] | None) -> SampledStacks:
    """Return what the cluster's log has of the profile, all that has happened until now included."""
    numbers: set[int] = set()
    profile = SampledStacks(*window, None if workers is None else numbers)
    until_s = math.inf
    for message in _messages(record):
        if isinstance(message, Position):
            if message.at_s >= until_s:
                return profile
            until_s = min(until_s, message.at_s + _SETTLE_S)
        elif isinstance(message, WorkerJoined) and workers is not None and message.name in workers:
            numbers.add(message.worker)
        else:
            profile.apply(message)
    raise ClusterClosed(f"cluster {record.name!r} has ended")


def _messages(record: ClusterRecord) -> Iterator[Message]:
    """Yield messages of the cluster's log and its signs of life, until it ends."""
    splitter, timeout_s = FrameSplitter(), config.get("timeouts.request")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as link:
        link.settimeout(timeout_s)
        try:
            link.connect(record.socket)
            require_own(link)
            link.sendall(frame(encode(Connect("metrics", record.secret, topics=_TOPICS))))
            while data := link.recv(_READ_BYTES):
                for payload in splitter.feed(data):
                    message = decode_known(payload)
                    if isinstance(message, Refused):
                        raise ClusterError(f"cluster {record.name!r} tells no profile: {message.reason}")
                    if message is not None:
                        yield message
        except TimeoutError:
            raise TimeoutError(
                f"the head of cluster {record.name!r} (process {record.pid}) has said nothing for {timeout_s:g} s"
            ) from None
        except OSError as error:
            raise ClusterClosed(f"cluster {record.name!r} can't be reached: {error}") from error

"""Publishes the metrics of computations that run on this process's own threads, as a cluster like any other.

A daemon thread with an event loop of its own; the runtime hands it rows under a lock and is never waited for.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import shutil
import threading
from collections.abc import Callable
from pathlib import Path

from glassloom_metrics.protocol import PROTOCOL_VERSION, Hello, Life, WorkerJoined
from glassloom_metrics.publisher import Publisher
from glassloom_metrics.recorder import Recorder
from glassloom_metrics.registry import ClusterRecord, process_started_s, remove_record, write_record

from glassloom import config
from glassloom.protocol.clock import Clock
from glassloom.protocol.identity import cluster_directory, kernel_id, new_cluster_id, version
from glassloom.sampling.process import ProcessSampler

FLUSH_S = 0.1
SAMPLE_S = 0.5


class ThreadsMetrics:
    """One in-process cluster: recorder, socket and registry record.

    Parameters
    ----------
    nthreads
        Size of the thread pool.
    before_flush
        Called with the recorder before each flush, to add progress.
    """

    def __init__(self, nthreads: int, before_flush: Callable[[Recorder], None]) -> None:
        self.clock = Clock()
        self.id = new_cluster_id()
        self.name = f"threads-{os.getpid()}"
        self._directory = cluster_directory(self.id)
        self._secret = secrets.token_hex(16)
        self._before_flush = before_flush
        started_at_s = self.clock.now_s()
        hello = Hello(PROTOCOL_VERSION, self.id, self.name, "threads", started_at_s)
        self.recorder = Recorder(
            hello, memory_bytes=config.get("metrics.log-memory"), spool_path=Path(self._directory) / "spool.glr"
        )
        self.recorder.record(Life(started_at_s, "started"))
        self.recorder.record(WorkerJoined(started_at_s, 0, self.name, os.getpid(), nthreads))
        self.lock = threading.Lock()
        self._stop = threading.Event()
        self._sampler = ProcessSampler()
        self._thread = threading.Thread(target=self._run, name="glassloom-metrics", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the cluster: subscribers get the rest, files and record go."""
        self._stop.set()
        self._thread.join(timeout=3.0)

    def _run(self) -> None:
        with contextlib.suppress(OSError):  # no metrics rather than no computation: the disk or home may be read-only
            asyncio.run(self._serve())
        remove_record(self.id)
        shutil.rmtree(self._directory, ignore_errors=True)

    async def _serve(self) -> None:
        publisher = Publisher(self.recorder, self._secret, _ignore)
        socket = f"{self._directory}/head.sock"
        await publisher.serve(socket)
        pid = os.getpid()
        write_record(
            ClusterRecord(
                id=self.id,
                name=self.name,
                kind="threads",
                pid=pid,
                pid_started_s=process_started_s(pid),
                socket=socket,
                secret=self._secret,
                started_at_s=self.clock.now_s(),
                directory=str(self._directory),
                shm_prefix="",
                started_by="notebook" if kernel_id() else "script",
                kernel_id=kernel_id(),
                version=version(),
            )
        )
        next_sample_s = 0.0
        while not self._stop.is_set():
            await asyncio.sleep(FLUSH_S)
            self._flush(publisher, sample=self.clock.now_s() >= next_sample_s)
            if self.clock.now_s() >= next_sample_s:
                next_sample_s = self.clock.now_s() + SAMPLE_S
        self._flush(publisher, sample=True)
        self.recorder.record(Life(self.clock.now_s(), "closing"))
        await publisher.close()

    def _flush(self, publisher: Publisher, *, sample: bool) -> None:
        with self.lock:
            before = len(self.recorder)
            self._before_flush(self.recorder)
            if sample:
                self.recorder.record(self._sampler.sample(0, self.clock.now_s()))
            self.recorder.flush(self.clock.now_s())
            grown = len(self.recorder) > before
        if grown:
            publisher.notify()


async def _ignore(command: str) -> None:
    """The user's own process is not shut down from outside."""

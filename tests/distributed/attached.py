"""What tests of attached clusters share: an attachment in a thread of this process, and all that its record has told."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

import distributed
from glassloom.distributed.attachment import Attachment
from glassloom.distributed.scheduler_reader import SchedulerReader
from glassloom_metrics.protocol import Layers, Message, Progress, TaskEvents, column, decode_known
from glassloom_metrics.registry import ClusterRecord
from glassloom_metrics.subscriber import subscribe_frames

T = TypeVar("T")
WAIT_S = 60.0


def wait_for(find: Callable[[], T], what: str) -> T:
    """Return what isn't false any more; raises TimeoutError."""
    until_s = time.monotonic() + WAIT_S
    while not (found := find()):
        if time.monotonic() > until_s:
            raise TimeoutError(what)
        time.sleep(0.02)
    return found


class Told:
    """All messages of a record's log."""

    def __init__(self, record: ClusterRecord) -> None:
        self.record = record
        self.messages: list[Message] = []
        self.ended = threading.Event()
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        async def read() -> None:
            async for payload in subscribe_frames(self.record, since=0, log_id=""):
                message = decode_known(payload)
                if message is not None:
                    self.messages.append(message)

        with suppress(OSError):
            asyncio.run(read())
        self.ended.set()

    def of(self, kind: type[T]) -> list[T]:
        return [message for message in list(self.messages) if isinstance(message, kind)]

    def rows(self) -> list[dict[str, Any]]:
        """Return the rows of tasks, with names of layers."""
        names = {}
        for message in self.of(Layers):
            names |= dict(zip(message.ids, message.prefixes, strict=True))
        rows = []
        for events in self.of(TaskEvents):
            columns = {name: list(column(events, name)) for name in ("layer", "worker", "lane", "action", "ok", "attempt", "start_s", "duration_s", "nbytes", "producer")}  # fmt: skip
            for place, index in enumerate(events.index):
                row = {name: values[place] for name, values in columns.items()}
                rows.append({**row, "name": names[row["layer"]], "index": index})
        return rows

    def progress(self) -> dict[str, tuple[int, ...]]:
        """Return the newest counts by layer: `STATES`."""
        names, counts = {}, {}
        for message in list(self.messages):
            if isinstance(message, Layers):
                names |= dict(zip(message.ids, message.prefixes, strict=True))
            elif isinstance(message, Progress):
                columns = (message.waiting, message.ready, message.running, message.memory, message.released, message.erred)  # fmt: skip
                for layer, *row in zip(message.layers, *columns, strict=True):
                    counts[layer] = tuple(row)
        return {names[layer]: row for layer, row in counts.items()}


@contextmanager
def attached(address: str, security: distributed.Security | None = None, **options: Any) -> Iterator[Told]:
    """Attach in a thread; yield what is told."""
    ready: list[ClusterRecord] = []
    problem: list[BaseException] = []
    running: list[Any] = []

    def run() -> None:
        async def follow() -> None:
            reader = SchedulerReader(address, security, timeout_s=options.pop("timeout_s", 8.0))
            attachment = Attachment(reader, on_ready=ready.append, **options)
            running.extend([asyncio.get_running_loop(), attachment])
            await attachment.run()

        try:
            asyncio.run(follow())
        except BaseException as error:
            problem.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        wait_for(lambda: ready or problem, "no attachment")
        if problem:
            raise problem[0]
        yield Told(ready[0])
    finally:
        if thread.is_alive() and running:
            loop, attachment = running
            with suppress(RuntimeError):  # it has ended
                loop.call_soon_threadsafe(attachment.end, "the test is over")
        thread.join(WAIT_S)
    assert not thread.is_alive()

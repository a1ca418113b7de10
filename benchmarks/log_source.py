"""A log without a head: a recorder full of made-up tasks, published as a cluster's is, until stdin ends.

    python -m benchmarks.log_source TASKS ROWS_A_MESSAGE

prints ``ready`` once the cluster is in the registry (``JUPYTER_RUNTIME_DIR``), under the id `CLUSTER_ID`.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import sys

from glassloom_metrics.errors import CommandRefused
from glassloom_metrics.protocol import Command
from glassloom_metrics.publisher import Publisher
from glassloom_metrics.registry import ClusterRecord, process_started_s, remove_record, runtime_dir, write_record

from benchmarks.large_log import STARTED_AT_S, recorder_of

CLUSTER_ID = "bench"


async def _no_command(command: Command) -> str:
    """Take no commands."""
    raise CommandRefused(f"no {command.name!r} here")


async def publish(tasks: int, rows_a_message: int) -> None:
    """Serve the log of so many tasks until stdin ends."""
    directory, pid = runtime_dir(), os.getpid()
    record = ClusterRecord(
        id=CLUSTER_ID,
        name=CLUSTER_ID,
        kind="processes",
        pid=pid,
        pid_started_s=process_started_s(pid),
        socket=str(directory / "bench.sock"),
        secret=secrets.token_hex(8),
        started_at_s=STARTED_AT_S,
        directory=str(directory / "none"),
        shm_prefix="",
    )
    publisher = Publisher(recorder_of(tasks, rows_a_message), record.secret, _no_command)
    await publisher.serve(record.socket)
    write_record(record)
    print("ready", flush=True)
    await asyncio.to_thread(sys.stdin.read)
    remove_record(record.id)
    await publisher.close()


if __name__ == "__main__":
    asyncio.run(publish(int(sys.argv[1]), int(sys.argv[2])))

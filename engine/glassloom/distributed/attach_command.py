"""``glassloom attach``: a process that shows a cluster of dask.distributed until it is interrupted, or the cluster ends."""

from __future__ import annotations

import asyncio
import importlib
import json
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import distributed
from glassloom_metrics.registry import ClusterRecord, is_alive

from glassloom.distributed import attachment_holders as holders
from glassloom.distributed.attachment import Attachment
from glassloom.distributed.scheduler_reader import SchedulerReader
from glassloom.errors import OptionError

_LOOK_S = 0.2


def attach(address: str, *, name: str | None, tls: Mapping[str, str | None], as_json: bool, for_clients: bool) -> int:
    """Attach and wait; return the exit status.

    Parameters
    ----------
    address
        Of the scheduler.
    name
        What the cluster is called; default its address.
    tls
        Arguments of `distributed.Security`; those that are None are Dask's configuration's.
    as_json
        Whether to print the record's id and name as JSON.
    for_clients
        Whether standard input has clients' `tls`, and the first who holds the attachment, as JSON. It ends when nobody holds it.

    Raises
    ------
    GlassloomError, OSError
        As `Attachment.run`.
    """
    holder = None
    if for_clients:
        told = json.loads(sys.stdin.readline())
        tls, holder = told["tls"], told["holder"]
    if address.startswith("gateway://"):
        try:
            importlib.import_module("dask_gateway")  # makes such addresses known to dask.distributed
        except ImportError as error:
            raise OptionError(f"{address!r} needs dask-gateway, which can't be imported: {error}") from error
    given = {option: value for option, value in tls.items() if value is not None}
    security = distributed.Security(**given, **({"require_encryption": True} if given else {}))
    return asyncio.run(_run(SchedulerReader(address, security), name, as_json, holder))


async def _run(reader: SchedulerReader, name: str | None, as_json: bool, holder: str | None) -> int:
    await reader.open()
    with holders.attaching(reader.scheduler) as is_ours:
        if not is_ours:
            reader.abort()
            return 0 if holder else await _share(reader.scheduler, as_json)

        def is_ready(record: ClusterRecord) -> None:
            holders.hold(record, holder or holders.new_holder())
            print(_introduction(record, as_json), flush=True)

        async def detach(_: Mapping[str, Any]) -> str:
            attachment.end("detached")
            return "The cluster is no longer shown here. It runs on."

        attachment = Attachment(
            reader, name=name, is_held=holders.is_held, on_ready=is_ready, commands={"detach": detach}
        )
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, attachment.end, "interrupted")
        print(f"No longer attached: {await attachment.run()}.", file=sys.stderr)
    return 0


async def _share(scheduler: str, as_json: bool) -> int:
    """Keep the attachment that another process of this user's has, until it ends, or this one is interrupted."""
    while (record := holders.find_attachment(scheduler)) is None:
        await asyncio.sleep(_LOOK_S)
        with holders.attaching(scheduler) as is_free:
            if is_free:
                print("glassloom: the process that was attached has ended; try again", file=sys.stderr)
                return 1
    holder = holders.new_holder()
    holders.hold(record, holder)
    print(_introduction(record, as_json), flush=True)
    try:
        while is_alive(record) and Path(record.directory).exists():
            await asyncio.sleep(_LOOK_S)
    finally:
        holders.release(record, holder)
    return 0


def _introduction(record: ClusterRecord, as_json: bool) -> str:
    if as_json:
        return json.dumps({"id": record.id, "name": record.name})
    return (
        f"Attached to the cluster at {record.address}, as {record.name!r}, id {record.id}. The panel and the dashboards show it "
        "from now on.\nTo end that: Ctrl-C. The cluster runs on."
    )

"""The types of the REST API: what a request may hold, and what an answer looks like."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from glassloom_metrics.folds import ClusterSummary
from glassloom_metrics.open_recordings import RecordingRecord
from glassloom_metrics.registry import ClusterRecord

from glassloom_server.errors import RequestMalformed

Name = Annotated[str, msgspec.Meta(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f]+$")]
Count = Annotated[int, msgspec.Meta(ge=1, le=4096)]
ByteSize = Annotated[str, msgspec.Meta(min_length=1, max_length=40, pattern=r"^[\w. ]+$")]


class StartRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Body of ``POST clusters``; what is left out, the engine chooses.

    ``memory_limit`` is that of each worker, such as ``"2 GiB"``. ``kernel_name`` names the kernelspec whose Python runs
    the cluster.
    """

    name: Name | None = None
    n_workers: Count | None = None
    threads_per_worker: Count | None = None
    memory_limit: ByteSize | None = None
    kernel_name: str | None = None


def describe_cluster(record: ClusterRecord, summary: ClusterSummary) -> dict[str, Any]:
    """Return one element of ``{"clusters": [...]}``: no secret, no path."""
    return {
        "id": record.id,
        "name": record.name,
        "kind": record.kind,
        "pid": record.pid,
        "started_at": record.started_at_s,
        "started_by": record.started_by,
        "kernel_id": record.kernel_id,
        **summary.as_dict(),
    }


def describe_recording(record: RecordingRecord) -> dict[str, Any]:
    """Return one element of ``{"recordings": [...]}``: no path, but the file's name in the recording's."""
    return {
        "id": record.id,
        "name": record.name,
        "pid": record.pid,
        "started_at": record.started_at_s,
        "opened_at": record.opened_at_s,
    }


def describe_elsewhere(record: ClusterRecord) -> dict[str, Any]:
    """Return one element of ``{"elsewhere": [...]}``: a cluster of another host or container, which can't be reached from here."""
    return {"id": record.id, "name": record.name, "host": record.host.name, "started_at": record.started_at_s}


def decode_start_request(body: bytes) -> StartRequest:
    """Return the body of ``POST clusters``; an empty one asks for all defaults. Raises `RequestMalformed`."""
    try:
        return msgspec.json.decode(body or b"{}", type=StartRequest)
    except msgspec.DecodeError as error:
        raise RequestMalformed(str(error)) from error

"""The cluster's record: telling the starter and the registry that the cluster is there. Neither can stop it."""

from __future__ import annotations

import contextlib
import json
import os
from typing import Any

import msgspec
from glassloom_metrics.registry import ClusterRecord, jupyter_runtime_dir, process_started_s, write_record

from glassloom.protocol.identity import version
from glassloom.protocol.options import HeadOptions
from glassloom.protocol.places import ClusterPlaces


def register(options: HeadOptions, places: ClusterPlaces, secret: str, started_at_s: float) -> str:
    """Publish the record of a cluster that is ready; return a warning for people if it can't be written."""
    pid = os.getpid()
    record = ClusterRecord(
        id=places.cluster_id,
        name=options.name,
        kind="processes",
        pid=pid,
        pid_started_s=process_started_s(pid),
        socket=places.socket,
        secret=secret,
        started_at_s=started_at_s,
        directory=places.directory,
        shm_prefix=places.shm_prefix,
        started_by=options.started_by,
        kernel_id=options.kernel_id,
        version=version(),
        notebook=options.notebook,
        script=options.script,
    )
    warning = ""
    try:
        write_record(record)
    except OSError as error:
        warning = (
            f"cluster {options.name!r} runs, but can be found neither by its name nor by the panel: its record can't be "
            f"written to {str(jupyter_runtime_dir())!r} ({error.strerror or error}); let JUPYTER_RUNTIME_DIR name a folder "
            "that can be written to"
        )
    print_json({"record": msgspec.to_builtins(record), "warning": warning})
    return warning


def print_json(message: dict[str, Any]) -> None:
    """Tell the process that started us, which reads one line."""
    with contextlib.suppress(OSError):
        print(json.dumps(message), flush=True)

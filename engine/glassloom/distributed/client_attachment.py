"""`ClientAttachment`: keeps a cluster of dask.distributed in the registry as long as a client of ours uses it.

All clients of a user share one process that is attached (`attachment_holders.py`). A scheduler in this very process can be reached from
nowhere else: a thread is attached to it.
"""

from __future__ import annotations

import asyncio
import json
import logging
import subprocess
import sys
import threading
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import distributed
from glassloom_metrics.registry import ClusterRecord

from glassloom._supervision import Crash, start_thread
from glassloom.distributed import attachment_holders as holders
from glassloom.distributed.attachment import Attachment
from glassloom.distributed.scheduler_reader import SchedulerReader

_LOOK_S = 0.1
_START_S = 60.0
"""How long an attachment may take to be there."""
_TLS = ("tls_ca_file", "tls_client_cert", "tls_client_key")
_log = logging.getLogger("glassloom")


class ClientAttachment:
    """Attaches in the background. Thread-safe.

    Parameters
    ----------
    address, scheduler
        Where the scheduler is, and what it calls itself.
    security
        As the client connects; None: of Dask's configuration.
    """

    def __init__(self, address: str, scheduler: str, security: Any) -> None:
        self._address, self._scheduler = address, scheduler
        self._security = distributed.Security() if security is None else security
        self._holder = holders.new_holder()
        self._closed = threading.Event()
        self._tried = threading.Event()
        """Set once there is a record, or will be none."""
        self._record: ClusterRecord | None = None
        start_thread("glassloom-attach", self._run, on_crash=self._crashed)

    def record(self, timeout_s: float = 0.0) -> ClusterRecord | None:
        """Return the cluster's record, None if there is none within a time."""
        self._tried.wait(timeout_s)
        return self._record

    def close(self) -> None:
        """Let the attachment end, unless others use it. Takes no lock."""
        self._closed.set()

    def _crashed(self, crash: Crash) -> None:
        self._tried.set()
        _log.warning("the panel and the dashboards don't show the cluster at %s: %s", self._address, crash.reason)

    def _run(self) -> None:
        if self._address.startswith("inproc://"):
            self._attach_here()
            return
        process = None
        record = holders.find_attachment(self._scheduler)
        if record is None:
            process = self._start()
            until_s = monotonic() + _START_S
            while record is None and monotonic() < until_s and process.poll() in (None, 0):
                sleep(
                    _LOOK_S
                )  # also of a client that is closed by then: its attachment is there for it until it says otherwise
                record = holders.find_attachment(self._scheduler)
        if record is not None:
            holders.hold(record, self._holder)
            self._record = record
        elif not self._closed.is_set():
            _log.warning(
                "the panel and the dashboards don't show the cluster at %s; `glassloom attach %s` says why",
                self._address,
                self._address,
            )
        self._tried.set()
        self._closed.wait()
        if record is not None:
            holders.release(record, self._holder)
        if process is not None:
            process.wait()

    def _start(self) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "glassloom", "attach", self._address, "--for-clients"]
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )
        tls = _certificates(self._security)
        assert process.stdin is not None, "it is a pipe"
        with process.stdin:
            process.stdin.write(json.dumps({"tls": tls, "holder": self._holder}) + "\n")
        return process

    def _attach_here(self) -> None:
        with holders.attaching(self._scheduler) as is_ours:
            if is_ours:
                asyncio.run(self._follow())
        self._record = self._record or holders.find_attachment(self._scheduler)
        self._tried.set()

    async def _follow(self) -> None:
        attachment = Attachment(
            SchedulerReader(self._address, self._security), is_held=self._is_open, on_ready=self._is_ready
        )
        await attachment.run()

    def _is_open(self, _: Path) -> bool:
        return not self._closed.is_set()

    def _is_ready(self, record: ClusterRecord) -> None:
        self._record = record
        self._tried.set()


def _certificates(security: Any) -> dict[str, str]:
    """Return what connects another process. dask-gateway's has a key, and a certificate that is its own authority."""
    if hasattr(security, "tls_cert"):
        return {
            "tls_ca_file": security.tls_cert,
            "tls_client_cert": security.tls_cert,
            "tls_client_key": security.tls_key,
        }
    return {name: value for name in _TLS if (value := getattr(security, name, None)) is not None}

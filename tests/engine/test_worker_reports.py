"""The head has a handler for every message that a worker can send."""

from __future__ import annotations

import inspect
from typing import get_args
from unittest.mock import MagicMock

from glassloom.head.worker_reports import WorkerReports
from glassloom.protocol import messages


def test_every_message_of_a_worker_has_a_handler() -> None:
    parts = [name for name in inspect.signature(WorkerReports).parameters if name != "scheduler"]
    reports = WorkerReports(MagicMock(), **{name: MagicMock() for name in parts})
    assert set(reports._handlers) == set(get_args(messages.FromWorker))

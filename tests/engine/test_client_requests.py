"""The head has a handler for every message that a client can send."""

from __future__ import annotations

import inspect
from typing import get_args
from unittest.mock import Mock

from glassloom.head.client_requests import ClientRequests
from glassloom.protocol import messages


def test_every_message_of_a_client_has_a_handler() -> None:
    parts = [name for name in inspect.signature(ClientRequests).parameters if name not in ("options", "scheduler")]
    requests = ClientRequests(Mock(), Mock(), **{name: Mock() for name in parts})
    assert set(requests._handlers) == set(get_args(messages.FromClient))

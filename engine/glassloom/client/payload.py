"""Payloads: values that are stored at the head until they are asked for, with the futures and persisted collections in them."""

from __future__ import annotations

import io
import pickle
from typing import Any

import cloudpickle

from glassloom.client.base import ClientBase
from glassloom.client.future import Future, send_for
from glassloom.errors import OptionError, SerialisationError
from glassloom.expr import Persisted
from glassloom.graph import Key
from glassloom.protocol import messages
from glassloom.protocol.coordination import Outcome, Payload
from glassloom.units import format_bytes

MAX_BYTES = 4 * 2**20


def dump_with_futures(value: Any) -> Payload:
    """Return `value` as a payload. Futures in it, and those of persisted collections, travel as their keys.

    Raises
    ------
    SerialisationError
        If it can't be pickled.
    OptionError
        If it is too large to wait at the head.
    """
    buffer = io.BytesIO()
    packer = _Pickler(buffer, protocol=5)
    try:
        packer.dump(value)
    except Exception as error:  # pickling runs the user's code
        raise SerialisationError(
            f"a value of type {type(value).__qualname__} can't be sent to another process: {type(error).__name__}: {error}"
        ) from error
    data = buffer.getvalue()
    if len(data) > MAX_BYTES:
        raise OptionError(
            f"a value of {format_bytes(len(data))} is too large here, where {format_bytes(MAX_BYTES)} are allowed; use a "
            "future of it, client.scatter(value), or a persisted collection"
        )
    return Payload(data, list(packer.keys))


def load_with_futures(client: ClientBase, request: int, outcome: Outcome) -> list[Any] | None:
    """Return the values that answered a request, None if it wasn't granted.

    `client` holds the results of the futures in them from now on.
    """
    if outcome.status != "done":
        return None
    futures = {key: Future(key, client) for payload in outcome.payloads for key in payload.keys}
    send_for(client._connection, messages.Claim(request), list(futures.values()))
    return [_Unpacker(payload, futures).load() for payload in outcome.payloads]


class _Pickler(cloudpickle.Pickler):
    """A pickler that notes futures by their keys."""

    def __init__(self, file: io.BytesIO, protocol: int) -> None:
        super().__init__(file, protocol=protocol)
        self.keys: dict[Key, None] = {}

    def persistent_id(self, value: Any) -> Key | None:
        if not isinstance(value, Future):
            return None
        self.keys[value.key] = None
        return value.key

    def reducer_override(self, value: Any) -> Any:
        if isinstance(value, Persisted):  # by itself it leaves its futures behind
            return Persisted, (value.name, value.held)
        return super().reducer_override(value)


class _Unpacker(pickle.Unpickler):
    def __init__(self, payload: Payload, futures: dict[Key, Future]) -> None:
        super().__init__(io.BytesIO(payload.data))
        self._futures = futures

    def persistent_load(self, key: Key) -> Future:
        return self._futures[key]

"""Reading results in the client's process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from glassloom.errors import SerialisationError
from glassloom.graph import Key, key_text
from glassloom.protocol import failure
from glassloom.store.pickling import loads_all
from glassloom.store.segment import Location, read_location


def read_small_results(keys: Sequence[Key], pickles: Sequence[bytes]) -> list[Any]:
    """Return results that came with the news that they are there. Raises as `read_result`."""
    try:
        return loads_all(pickles)
    except Exception:  # unpickling runs the user's code; one by one, the error says which task's result it is
        return [read_result(key, data) for key, data in zip(keys, pickles, strict=True)]


def read_result(key: Key, location: Location) -> Any:
    """Return a result.

    Raises
    ------
    DataLost
        If it is gone.
    SerialisationError
        If it can't be unpickled here; it names the task.
    """
    try:
        return read_location(location)
    except SerialisationError as error:
        raise failure.annotate(error, key_text(key), "") from error.__cause__

"""Reading results in the client's process."""

from __future__ import annotations

from typing import Any

from glassloom.errors import SerialisationError
from glassloom.graph import Key, key_text
from glassloom.protocol import failure
from glassloom.store.segment import Location, read_location


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

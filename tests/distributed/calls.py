"""Functions that tests run on workers, which import them from here."""

from __future__ import annotations

import os
import threading
import time
from typing import Any


def inc(value: int) -> int:
    return value + 1


def slow_inc(value: int) -> int:
    time.sleep(0.2)
    return value + 1


def add(left: Any, right: Any) -> Any:
    return left + right


def fail(value: Any) -> Any:
    raise ValueError(f"no {value}")


def process(_: Any = None) -> int:
    return os.getpid()


def thread(_: Any = None) -> str:
    return threading.current_thread().name


def total(values: Any) -> Any:
    return sum(values)


def attempts(path: str, needed: int) -> int:
    """Fail until called `needed` times."""
    with open(path, "a") as file:
        file.write("x")
    done = os.path.getsize(path)
    if done < needed:
        raise ValueError(f"attempt {done}")
    return done


def when_there_is(path: str, value: Any) -> Any:
    """Return the value once there is such a file."""
    while not os.path.exists(path):
        time.sleep(0.02)
    return value

"""Cases of calls that share something large: a global that the function reads, or a keyword argument of a map."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.engine import beside_peers
from benchmarks.meter import Figures, Meter

N_CALLS = 1_000
ARRAY_BYTES = 16_000_000

KEYWORDS: dict[str, Callable[[], Any]] = {
    "array": lambda: np.arange(ARRAY_BYTES // 8),
    "list": lambda: list(range(200_000)),
    "dict": lambda: {number: str(number) for number in range(50_000)},
    "bytes": lambda: bytes(2_000_000),
    "text": lambda: "ab" * 1_000_000,
}


def length_of(number: int, data: Any) -> int:
    return len(data) + number


def reader_of_large_global() -> Callable[[int], int]:
    """Return a function such as a notebook has, which reads a large array."""
    cell: dict[str, Any] = {"__name__": "__main__", "table": np.arange(ARRAY_BYTES // 8)}
    exec("def read(number):\n    return int(table[0]) + number", cell)
    function: Callable[[int], int] = cell["read"]
    return function


def large_global(client: Any) -> Figures:
    """Submit calls of a function that reads a large array, one by one: it is hashed, pickled and sent for the first."""
    function = reader_of_large_global()
    first_s = _measure(lambda: client.gather([client.submit(function, 0)]), [0])
    numbers = range(1, N_CALLS + 1)
    further_s = _measure(lambda: client.gather([client.submit(function, n) for n in numbers]), list(numbers))
    return {"first_cpu_ms": first_s * 1e3, "cpu_us_per_further_call": further_s / N_CALLS * 1e6}


def large_keyword(kind: str) -> Callable[[Any], Figures]:
    """Return a case: map a function with a large keyword argument, over one number and over many."""

    def case(client: Any) -> Figures:
        data = KEYWORDS[kind]()
        one = _measure(lambda: client.gather(client.map(length_of, [0], data=data)), [len(data)])
        numbers = range(1, N_CALLS + 1)
        expected = [number + len(data) for number in numbers]
        many_s = _measure(lambda: client.gather(client.map(length_of, numbers, data=data)), expected)
        return {"first_cpu_ms": one * 1e3, "cpu_us_per_further_call": max(0.0, many_s - one) / N_CALLS * 1e6}

    return case


def _measure(run: Callable[[], Any], expected: Any) -> float:
    """Return the CPU seconds that a computation takes in all processes."""
    meter = Meter()
    results = run()
    cpu_s = meter.cpu_s()
    if results != expected:
        raise AssertionError("wrong results")
    return cpu_s


CASES = {
    "large-global": beside_peers(large_global),
    **{f"large-keyword-{kind}": beside_peers(large_keyword(kind)) for kind in KEYWORDS},
}

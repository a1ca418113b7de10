"""How much the tests try: all of it in `make long` (``GLASSLOOM_LONG_TESTS=1``), a part in `make test`.

Markers say what `make long` runs: ``long``, what `make test` leaves out, ``more``, what tries more there by `LONG_TESTS`, and hypothesis' own,
whose examples `examples` counts.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TypeVar

Case = TypeVar("Case")
LONG_TESTS = os.environ.get("GLASSLOOM_LONG_TESTS") == "1"


def examples(n_long: int) -> int:
    """Return how many examples of a property to try: `n_long` in `make long`, else a fifth. Each run draws others."""
    return n_long if LONG_TESTS else max(n_long // 5, 1)


def cases(every: Iterable[Case], few: Iterable[Case]) -> list[Case]:
    """Return the cases of a parameter to try: in `make test` a `few`, in `make long` all the others."""
    few = list(few)
    return [case for case in every if case not in few] if LONG_TESTS else few

"""How much the tests try: all of it in `make long` (``GLASSLOOM_LONG_TESTS=1``), a part in `make test`.

Markers say what `make long` runs: ``long``, what `make test` leaves out, ``more``, what tries more there by `LONG_TESTS`, and hypothesis' own,
whose examples `examples` counts.
"""

from __future__ import annotations

import os

LONG_TESTS = os.environ.get("GLASSLOOM_LONG_TESTS") == "1"


def examples(n_long: int) -> int:
    """Return how many examples of a property to try: `n_long` in `make long`, else a third. Each run draws others."""
    return n_long if LONG_TESTS else max(n_long // 3, 1)

"""The dashboards' process, watched by its garbage collector: prints all pauses as JSON when it ends.

    python -m benchmarks.pauses ARGUMENTS

takes the arguments of ``python -m glassloom_dashboards``.
"""

from __future__ import annotations

import gc
import json
import sys
import time
from typing import Any

from glassloom_dashboards.__main__ import main


class Pauses:
    """Notes of each collection when it began (monotonic), its generation, and how long it took."""

    def __init__(self) -> None:
        self.rows: list[tuple[float, int, float]] = []
        self._begun_s = 0.0

    def note(self, phase: str, info: dict[str, Any]) -> None:
        """Note the beginning or the end of a collection."""
        if phase == "start":
            self._begun_s = time.monotonic()
        else:
            self.rows.append((self._begun_s, info["generation"], time.monotonic() - self._begun_s))


if __name__ == "__main__":
    pauses = Pauses()
    gc.callbacks.append(pauses.note)
    main(sys.argv[1:])
    gc.callbacks.remove(pauses.note)
    print(json.dumps(pauses.rows), flush=True)

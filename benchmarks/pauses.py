"""The dashboards' process, watched by its garbage collector: prints the longest pauses as JSON when it ends.

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

FULL = 2


class Pauses:
    """Notes how long collections took, by generation."""

    def __init__(self) -> None:
        self.longest_s = [0.0, 0.0, 0.0]
        self.n_full = 0
        self._begun_s = 0.0

    def note(self, phase: str, info: dict[str, Any]) -> None:
        """Note the beginning or the end of a collection."""
        if phase == "start":
            self._begun_s = time.perf_counter()
            return
        generation = info["generation"]
        self.n_full += generation == FULL
        self.longest_s[generation] = max(self.longest_s[generation], time.perf_counter() - self._begun_s)


if __name__ == "__main__":
    pauses = Pauses()
    gc.callbacks.append(pauses.note)
    main(sys.argv[1:])
    gc.callbacks.remove(pauses.note)
    figures = {"longest_pause_ms": 1e3 * max(pauses.longest_s), "longest_full_ms": 1e3 * pauses.longest_s[FULL]}
    print(json.dumps(figures | {"full_collections": pauses.n_full}), flush=True)

"""Counts the faults that tests inject: each test marked ``fault("what is done")`` is one case."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest


@dataclass
class FaultReport:
    """What was injected, how often, what came of it, and the longest time until all was well again."""

    cases: dict[str, list[tuple[str, float]]] = field(default_factory=dict)

    def add(self, item: pytest.Item, report: pytest.TestReport) -> None:
        """Take note of a test's outcome, if it injects a fault."""
        marker = item.get_closest_marker("fault")
        if marker is None or report.outcome == "skipped":
            return
        if report.when == "call" or report.outcome != "passed":
            self.cases.setdefault(marker.args[0], []).append((report.outcome, report.duration))

    def lines(self) -> Iterator[str]:
        """Yield the report: a line a case, then the sums."""
        runs = [run for case in self.cases.values() for run in case]
        for name, case in sorted(self.cases.items()):
            good = sum(outcome == "passed" for outcome, _ in case)
            longest_s = max(duration_s for _, duration_s in case)
            yield f"{good} of {len(case)} well   {longest_s:5.1f} s   {name}"
        n_good = sum(outcome == "passed" for outcome, _ in runs)
        yield (
            f"{len(self.cases)} faults in {len(runs)} runs: {n_good} recomputed or ended with a clear error, "
            f"{len(runs) - n_good} did not"
        )

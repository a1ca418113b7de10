"""What ``glassloom doctor`` prints: `glassloom_metrics.doctor` does the looking. Parses no arguments."""

from __future__ import annotations

import asyncio

from glassloom_metrics.doctor import BAD, GOOD, UNKNOWN, Hop, examine

_MARKS = {GOOD: "ok", BAD: "BAD", UNKNOWN: "?"}


def doctor_report(cluster: str | None) -> tuple[str, bool]:
    """Walk the hops of a cluster, by default the newest; return the report, and whether all that was seen is well."""
    hops = asyncio.run(examine(cluster))
    return report_of(hops), all(hop.state != BAD for hop in hops)


def report_of(hops: list[Hop]) -> str:
    """Return how the hops are, one a line, with what to do below those that are broken.

    >>> print(report_of([Hop("record", "The cluster's record", "bad", "No cluster 'x' runs.", "Start one.")]))
    BAD  The cluster's record: No cluster 'x' runs.
         Start one.
    """
    lines = []
    for hop in hops:
        mark = _MARKS.get(hop.state, "-")
        lines.append(f"{mark:<3}  {hop.title}{f': {hop.detail}' if hop.detail else ''}")
        if hop.mend:
            lines.append(f"     {hop.mend}")
    return "\n".join(lines)

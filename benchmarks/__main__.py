"""Runs the cases: every contender in turn, round after round, each in a fresh process; prints medians and ratios.

    python -m benchmarks                          all cases, 5 rounds
    python -m benchmarks noop-100k --rounds 3
    python -m benchmarks dashboards-load --rounds 1 --minutes 3

A machine's speed drifts: quote ratios, which compare what ran side by side. A contender that fails in a round is told of
and left out of that round; the others go on, and the exit status is 1.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import platform
import statistics
import subprocess
import sys
from collections.abc import Sequence

from benchmarks.cases import CASES
from benchmarks.dashboards import MINUTES_VARIABLE, minutes
from benchmarks.meter import Figures, cpu_count

_TIMEOUT_S = 600

Rounds = dict[str, list[Figures | None]]
"""The figures of each contender's rounds; None for a round in which it failed."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return its exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__.splitlines()[0])
    parser.add_argument("cases", nargs="*", help=f"of {', '.join(CASES)}; default all")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--minutes", type=float, default=10.0, help="how long the long cases of the dashboards run")
    parser.add_argument("--json", help="write all figures to this file")
    parser.add_argument("--only", nargs=2, metavar=("CASE", "CONTENDER"), help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    os.environ.setdefault(MINUTES_VARIABLE, str(options.minutes))
    if options.only:
        case, contender = options.only
        print(json.dumps(CASES[case][contender]()))
        return 0
    unknown = [case for case in options.cases if case not in CASES]
    if unknown:
        parser.error(f"no case {unknown[0]!r}; there are {', '.join(CASES)}")
    print(f"{platform.machine()}, {cpu_count()} CPUs, Python {platform.python_version()}")
    measured: dict[str, Rounds] = {}
    for case in options.cases or CASES:
        measured[case] = _measure(case, options.rounds)
        _print_case(case, measured[case])
        if options.json:  # after each case: the next one may be interrupted
            with open(options.json, "w") as file:
                json.dump(measured, file, indent=1)
    return int(any(None in figures for rounds in measured.values() for figures in rounds.values()))


def _measure(case: str, n_rounds: int) -> Rounds:
    rounds: Rounds = {contender: [] for contender in CASES[case] if _is_installed(contender)}
    for contender in CASES[case].keys() - rounds.keys():
        print(f"{case}: without {contender}, which isn't installed", file=sys.stderr)
    for number in range(n_rounds):
        for contender in rounds:
            print(f"{case}: round {number + 1} of {n_rounds}, {contender}", file=sys.stderr)
            rounds[contender].append(_run(case, contender))
    return rounds


def _is_installed(contender: str) -> bool:
    """Tell whether a contender's package is there; its name begins with that of the package."""
    return importlib.util.find_spec(contender.split()[0]) is not None


def _run(case: str, contender: str) -> Figures | None:
    """Return a contender's figures, None if it failed: its process has written why, or it is told here."""
    command = [sys.executable, "-m", "benchmarks", "--only", case, contender]
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, timeout=_TIMEOUT_S + 90 * minutes(), check=True)
        figures: Figures = json.loads(done.stdout.splitlines()[-1])
    except (subprocess.SubprocessError, IndexError, ValueError) as error:  # it ended badly, or printed no figures
        print(f"{case}: {contender} failed: {error}", file=sys.stderr)
        return None
    return figures


def _print_case(case: str, rounds: Rounds) -> None:
    """Print each contender's medians, and each peer's ratio to the one of ours before it."""
    print(f"\n{case}, load {os.getloadavg()[0]:.1f}")
    ours = ""
    for contender, figures in rounds.items():
        is_peer = not contender.startswith("glassloom")
        ours = ours if is_peer else contender
        done = [row for row in figures if row is not None]
        if len(done) < len(figures):
            print(f"  {contender:22} failed in {len(figures) - len(done)} of {len(figures)} rounds")
        for name in done[0] if done else ():
            values = [row[name] for row in done]
            line = f"  {contender:22} {name:20} {statistics.median(values):12.3f}"
            line += f"   ({min(values):.3f} to {max(values):.3f})"
            ratios = _ratios(figures, rounds[ours], name) if is_peer else []
            if ratios:
                line += f"   {statistics.median(ratios):.2f}x {ours}"
            print(line)
    sys.stdout.flush()


def _ratios(theirs: list[Figures | None], ours: list[Figures | None], name: str) -> list[float]:
    """Return a peer's figure over ours for the rounds that have both."""
    pairs = [(their, our) for their, our in zip(theirs, ours, strict=True) if their is not None and our is not None]
    return [their[name] / our[name] for their, our in pairs if our[name]]


if __name__ == "__main__":
    sys.exit(main())

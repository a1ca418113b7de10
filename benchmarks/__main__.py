"""Runs the cases: every contender in turn, round after round, each in a fresh process; prints medians and ratios.

    python -m benchmarks                          all cases, 5 rounds
    python -m benchmarks noop-100k --rounds 3

A machine's speed drifts: quote ratios, which compare what ran side by side.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import platform
import statistics
import subprocess
import sys
from collections.abc import Sequence

from benchmarks.cases import CASES
from benchmarks.meter import Figures, cpu_count

_TIMEOUT_S = 600


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return its exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__.splitlines()[0])
    parser.add_argument("cases", nargs="*", help=f"of {', '.join(CASES)}; default all")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", help="write all figures to this file")
    parser.add_argument("--only", nargs=2, metavar=("CASE", "CONTENDER"), help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.only:
        case, contender = options.only
        print(json.dumps(CASES[case][contender]()))
        return 0
    unknown = [case for case in options.cases if case not in CASES]
    if unknown:
        parser.error(f"no case {unknown[0]!r}; there are {', '.join(CASES)}")
    measured = {case: _measure(case, options.rounds) for case in options.cases or CASES}
    print(f"{platform.machine()}, {cpu_count()} CPUs, Python {platform.python_version()}")
    for case, figures in measured.items():
        _print_case(case, figures)
    if options.json:
        with open(options.json, "w") as file:
            json.dump(measured, file, indent=1)
    return 0


def _measure(case: str, rounds: int) -> dict[str, list[Figures]]:
    figures: dict[str, list[Figures]] = {contender: [] for contender in CASES[case] if _is_installed(contender)}
    for contender in CASES[case].keys() - figures.keys():
        print(f"{case}: without {contender}, which isn't installed", file=sys.stderr)
    for number in range(rounds):
        for contender in figures:
            print(f"{case}: round {number + 1} of {rounds}, {contender}", file=sys.stderr)
            figures[contender].append(_run(case, contender))
    return figures


def _is_installed(contender: str) -> bool:
    """Tell whether a contender's package is there; its name begins with that of the package."""
    return importlib.util.find_spec(contender.split()[0]) is not None


def _run(case: str, contender: str) -> Figures:
    command = [sys.executable, "-m", "benchmarks", "--only", case, contender]
    done = subprocess.run(command, stdout=subprocess.PIPE, timeout=_TIMEOUT_S, check=True)
    figures: Figures = json.loads(done.stdout.splitlines()[-1])
    return figures


def _print_case(case: str, figures: dict[str, list[Figures]]) -> None:
    """Print each contender's medians, and each peer's ratio to the one of ours before it."""
    print(f"\n{case}")
    ours = ""
    for contender in figures:
        is_peer = not contender.startswith("glassloom")
        ours = ours if is_peer else contender
        for name in figures[contender][0]:
            values = [row[name] for row in figures[contender]]
            line = f"  {contender:22} {name:20} {statistics.median(values):12.3f}"
            line += f"   ({min(values):.3f} to {max(values):.3f})"
            if is_peer:
                mine = [row[name] for row in figures[ours]]
                ratios = [their / own for their, own in zip(values, mine, strict=True) if own]
                line += f"   {statistics.median(ratios):.2f}x {ours}"
            print(line)


if __name__ == "__main__":
    sys.exit(main())

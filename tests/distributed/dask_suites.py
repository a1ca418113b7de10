"""Dask's own test suites, taken from the installed package, with our scheduler in the place of each of Dask's.

    python tests/distributed/dask_suites.py [--on threads|client] [--all] [array|dataframe|bag|core ...]

Each suite runs twice: with Dask's threads under every name of a scheduler, and with ours. At least 99 % of what passes with theirs has
to pass with ours. Nothing is copied: the tests are collected from where Dask is installed. By default a part of them runs.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

LEAST = 0.99
"""The share of the tests that pass with Dask's threads which has to pass with ours."""

ALL = {"array": ["array/tests"], "dataframe": ["dataframe"], "bag": ["bag/tests"], "core": ["tests"]}
PART = {
    "array": ["array/tests/test_reductions.py", "array/tests/test_overlap.py", "array/tests/test_slicing.py"],
    "dataframe": ["dataframe/dask_expr/tests/test_shuffle.py", "dataframe/dask_expr/tests/test_groupby.py"],
    "bag": ["bag/tests/test_bag.py"],
    "core": [
        "tests/test_base.py",
        "tests/test_delayed.py",
        "tests/test_graph_manipulation.py",
        "tests/test_threaded.py",
    ],
}
LEFT_OUT = ("test_distributed.py", "test_multiprocessing.py", "test_local.py", "test_cupy")
"""Tests of other schedulers than the one that is asked for."""


class InPlaceOfAll:
    """A plugin of pytest: every scheduler of Dask's is another one."""

    def __init__(self, which: str) -> None:
        self._which = which
        self._client: Any = None

    def pytest_configure(self) -> None:
        """Put it there before the tests are imported."""
        import dask
        from dask import base

        get = self._scheduler()
        for name in base.named_schedulers:
            base.named_schedulers[name] = get
        dask.config.set(scheduler=get)

    def pytest_unconfigure(self) -> None:
        """Close what was opened."""
        if self._client is not None:
            self._client.close()

    def _scheduler(self) -> Any:
        import glassloom
        from dask import threaded

        if self._which == "dask":
            return threaded.get
        if self._which == "threads":
            return glassloom.get
        self._client = glassloom.Client(n_workers=2, threads_per_worker=2, set_as_default=False)
        return self._client.get


def run_here(which: str, report: str, paths: list[str]) -> int:
    """Run tests with a scheduler in this process, and write what came of them."""
    left_out = [f"--ignore-glob=*{name}*" for name in LEFT_OUT]
    options = ["-q", "--tb=short", "-p", "no:cacheprovider", "-W", "ignore", "-c", "/dev/null", f"--junitxml={report}"]
    return int(pytest.main([*options, *left_out, *paths], plugins=[InPlaceOfAll(which)]))


def outcomes(which: str, paths: list[str]) -> tuple[dict[str, bool], str]:
    """Run tests in a process of their own; return which have passed and which have failed, and what was printed."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.xml")
        arguments = ["--here", which, "--report", str(report), *paths]
        done = subprocess.run(
            [sys.executable, __file__, *arguments], cwd=folder, capture_output=True, text=True, check=False
        )
        if not report.exists():
            raise RuntimeError(f"pytest ended with {done.returncode}:\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
        found = {}
        for case in ElementTree.parse(report).iter("testcase"):
            if case.find("skipped") is None:
                name = f"{case.get('classname')}::{case.get('name')}"
                found[name] = case.find("failure") is None and case.find("error") is None
        return found, done.stdout


def compare(suite: str, on: str, paths: list[str], log: Path | None) -> bool:
    """Run a suite with both schedulers; print how they compare, and return whether ours passes enough."""
    theirs, _ = outcomes("dask", paths)
    ours, printed = outcomes(on, paths)
    if log is not None:
        log.joinpath(f"{suite}-{on}.txt").write_text(printed)
    passing = [name for name, passed in theirs.items() if passed]
    failing = [name for name in passing if not ours.get(name, False)]
    share = 1 - len(failing) / len(passing) if passing else 0.0
    print(f"{suite}: {len(passing) - len(failing)} of {len(passing)} ({share:.2%}) pass on {on}", flush=True)
    for name in failing:
        print(f"    {name}", flush=True)
    return share >= LEAST


def main() -> int:
    """Run what the command line says; return 1 if too little passes."""
    parser = argparse.ArgumentParser(description="Dask's own tests with our scheduler")
    parser.add_argument("--on", choices=("threads", "client"), default="threads")
    parser.add_argument("--all", action="store_true", help="all tests of the suites, not a part")
    parser.add_argument("--log", type=Path, help="a folder for what pytest prints")
    parser.add_argument("--here", choices=("dask", "threads", "client"), help=argparse.SUPPRESS)
    parser.add_argument("--report", help=argparse.SUPPRESS)
    parser.add_argument("suites", nargs="*")
    given = parser.parse_args()
    if given.here:
        return run_here(given.here, given.report, given.suites)
    import dask

    root = Path(dask.__file__).parent
    chosen = ALL if given.all else PART
    results = [
        compare(suite, given.on, [str(root / path) for path in chosen[suite]], given.log)
        for suite in given.suites or chosen
    ]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())

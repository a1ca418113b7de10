"""Dask's and xarray's own test suites, from the installed packages, with ours in the place of Dask's scheduler, or of its arrays.

    python tests/distributed/dask_suites.py [--on threads|client|chunks] [--all] [--keep FOLDER] [array|dataframe|bag|core|xarray ...]

Each suite runs with Dask's threads under every name of a scheduler, and with ours. At least 99 % of what passes with theirs has to pass
with ours. On a client, whose tasks run in other processes, what passes with theirs is what passes with a client of dask.distributed's in
the same place too: tests that count calls in closures or compare by identity pass with neither. What passes with distributed's and fails with ours is named.

``--on chunks`` is for xarray's suite: our chunk manager is in the place of Dask's, so that tests of Dask's arrays get ours. There each test that
fails has to be in `xarray_on_chunks.txt`, with the reason.

Nothing is copied: the tests are collected from where Dask and xarray are installed. By default a part of them runs.

With ``--keep FOLDER`` each file of tests runs in a process of its own, and what came of it is kept in the folder: a run that was
interrupted goes on with the next file.
"""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any
from unittest import mock
from xml.etree import ElementTree

import pytest

LEAST = 0.99
"""The share of the tests that pass with Dask's threads which has to pass with ours."""

XARRAY = ["computation", "dataarray", "dataset", "duck_array_ops", "groupby", "interp", "rolling", "coarsen", "missing", "indexing"]  # fmt: skip
ALL = {
    "array": ["array/tests"],
    "dataframe": ["dataframe"],
    "bag": ["bag/tests"],
    "core": ["tests"],
    "xarray": ["tests/test_dask.py", *[f"tests/test_{name}.py" for name in XARRAY]],
}
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
    "xarray": ["tests/test_dask.py"],
}
LEFT_OUT = ("test_distributed.py", "test_multiprocessing.py", "test_local.py", "test_layers.py", "test_cupy")
"""Tests of other schedulers than the one that is asked for; `test_layers.py` starts clusters of dask.distributed."""
OF_XARRAY = "dask or chunk or lazy"
"""Those of xarray's tests that are of arrays in chunks have one of these in their names, or their files'."""
EXPECTED = Path(__file__).parent / "xarray_on_chunks.txt"


@contextmanager
def in_place(which: str) -> Iterator[None]:
    """Put what is asked for in the place of Dask's, before the tests are imported."""
    with ExitStack() as stack:
        if which == "chunks":
            _replace_chunk_manager()
        else:
            _replace_schedulers(_scheduler(which, stack))
        yield


def _replace_schedulers(get: Callable[..., Any]) -> None:
    """Let every scheduler of Dask's be another one."""
    import dask
    from dask import base

    for name in base.named_schedulers:
        base.named_schedulers[name] = get
    dask.config.set(scheduler=get)


def _scheduler(which: str, stack: ExitStack) -> Any:
    import glassloom
    from dask import threaded

    if which == "dask":
        return threaded.get
    if which == "threads":
        return glassloom.get
    if which == "distributed":
        import distributed

        options = {"dashboard_address": ":0", "silence_logs": 50}
        cluster = stack.enter_context(distributed.LocalCluster(n_workers=2, threads_per_worker=2, **options))
        return stack.enter_context(distributed.Client(cluster, set_as_default=False)).get
    return stack.enter_context(glassloom.Client(n_workers=2, threads_per_worker=2, set_as_default=False)).get


def _replace_chunk_manager() -> None:
    """Let xarray take our chunk manager for Dask's, and its tests count when our arrays are computed."""
    from glassloom import collection
    from xarray.namedarray import parallelcompat

    managers = parallelcompat.list_chunkmanagers()
    managers.update({"dask": managers.pop("glassloom"), "of Dask": managers["dask"]})
    import xarray.tests

    choose = vars(collection)["choose_runtime"]

    @contextmanager
    def raise_if_computed(max_computes: int = 0) -> Iterator[None]:
        n_computed = 0

        def counted(*args: Any, **options: Any) -> Any:
            nonlocal n_computed
            n_computed += 1
            if n_computed > max_computes:
                raise RuntimeError(f"Too many computes. Total: {n_computed} > max: {max_computes}.")
            return choose(*args, **options)

        with mock.patch.object(collection, "choose_runtime", counted):
            yield

    xarray.tests.raise_if_dask_computes = raise_if_computed


def run_here(which: str, report: str, paths: list[str]) -> int:
    """Run tests in this process, with what is asked for, and write what came of them."""
    files = [file for path in paths for name in LEFT_OUT for file in Path(path).rglob(f"{name}*")]
    chosen = [f"--ignore={file}" for file in files]
    if any("xarray" in path for path in paths):
        chosen = ["-k", OF_XARRAY]
    options = ["-q", "--tb=short", "-p", "no:cacheprovider", "-W", "ignore", "-c", "/dev/null", f"--junitxml={report}"]
    signal.signal(
        signal.SIGINT, signal.default_int_handler
    )  # ignored in background jobs of shells, and tests interrupt themselves
    with in_place(which):
        return int(pytest.main([*options, *chosen, *paths]))


def outcomes(which: str, suite: str, paths: list[str], log: Path | None) -> dict[str, bool]:
    """Run tests in a process of their own; return which have passed and which have failed. What is printed goes to a log."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.xml")
        arguments = ["--here", which, "--report", str(report), *paths]
        done = subprocess.run(
            [sys.executable, __file__, *arguments], cwd=folder, capture_output=True, text=True, check=False
        )
        if log is not None:
            log.joinpath(f"{suite}-{which}.txt").write_text(done.stdout)
        if not report.exists():
            raise RuntimeError(f"pytest ended with {done.returncode}:\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
        found = {}
        for case in ElementTree.parse(report).iter("testcase"):
            if case.find("skipped") is None:
                name = f"{case.get('classname')}::{case.get('name')}"
                found[name] = case.find("failure") is None and case.find("error") is None
        return found


def kept_outcomes(which: str, suite: str, paths: list[str], log: Path | None, keep: Path) -> dict[str, bool]:
    """Return what `outcomes` does, of each file by itself; what a folder has of an earlier run isn't run again."""
    found: dict[str, bool] = {}
    for file in sorted(
        {file for path in map(Path, paths) for file in ([path] if path.is_file() else path.rglob("test_*.py"))}
    ):
        if file.name.startswith(LEFT_OUT):
            continue
        name = "-".join(file.parts[file.parts.index("site-packages") + 1 :])
        kept = keep / which / f"{name}.json"
        if not kept.exists():
            kept.parent.mkdir(parents=True, exist_ok=True)
            came = outcomes(which, f"{suite}-{name}", [str(file)], log)
            unfinished = kept.with_suffix(".part")
            unfinished.write_text(json.dumps(came))
            unfinished.rename(kept)
        found |= json.loads(kept.read_text())
    return found


def compare(suite: str, on: str, paths: list[str], log: Path | None, keep: Path | None) -> bool:
    """Run a suite with theirs and ours; print how they compare, and return whether ours passes enough."""

    def run(which: str) -> dict[str, bool]:
        return outcomes(which, suite, paths, log) if keep is None else kept_outcomes(which, suite, paths, log, keep)

    passing = [name for name, passed in run("dask").items() if passed]
    ours = run(on)
    failing = [name for name in passing if not ours.get(name, False)]
    share = 1 - len(failing) / len(passing) if passing else 0.0
    print(f"{suite}: {len(passing) - len(failing)} of {len(passing)} ({share:.2%}) pass on {on}", flush=True)
    if on == "chunks":
        failing = without_expected(failing)
        print(f"    {len(failing)} fail that {EXPECTED.name} doesn't name", flush=True)
        share = 1.0 if passing and not failing else 0.0
    elif on == "client" and failing:
        peer = run("distributed")
        there = [name for name in passing if peer.get(name, False)]
        n_theirs = len(there)
        failing = [name for name in there if not ours.get(name, False)]
        share = 1 - len(failing) / n_theirs if n_theirs else 0.0
        print(f"    of the {n_theirs} that pass with a client of dask.distributed's too: {share:.2%}", flush=True)
    for name in failing:
        print(f"    {name}", flush=True)
    return share >= LEAST


def without_expected(failing: list[str]) -> list[str]:
    """Return those of the tests that no pattern of `EXPECTED` matches."""
    lines = [line.strip() for line in EXPECTED.read_text().splitlines()]
    patterns = [line for line in lines if line and not line.startswith("#")]
    escaped = [pattern.replace("[", "[[]") for pattern in patterns]
    return [name for name in failing if not any(fnmatchcase(name, f"*{pattern}") for pattern in escaped)]


def main() -> int:
    """Run what the command line says; return 1 if too little passes."""
    parser = argparse.ArgumentParser(description="Dask's and xarray's own tests with ours in the place of Dask's")
    parser.add_argument("--on", choices=("threads", "client", "chunks"), default="threads")
    parser.add_argument("--all", action="store_true", help="all tests of the suites, not a part")
    parser.add_argument("--log", type=Path, help="a folder for what pytest prints")
    parser.add_argument(
        "--keep", type=Path, help="a folder for the outcomes of each file, by which an interrupted run goes on"
    )
    parser.add_argument(
        "--here", choices=("dask", "threads", "client", "distributed", "chunks"), help=argparse.SUPPRESS
    )
    parser.add_argument("--report", help=argparse.SUPPRESS)
    parser.add_argument("suites", nargs="*")
    given = parser.parse_args()
    if given.here:
        return run_here(given.here, given.report, given.suites)
    import dask
    import xarray

    dask_folder, xarray_folder = Path(dask.__file__).parent, Path(xarray.__file__).parent
    chosen = ALL if given.all else PART
    suites = given.suites or (["xarray"] if given.on == "chunks" else list(chosen))
    results = []
    for suite in suites:
        folder = xarray_folder if suite == "xarray" else dask_folder
        results.append(compare(suite, given.on, [str(folder / path) for path in chosen[suite]], given.log, given.keep))
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())

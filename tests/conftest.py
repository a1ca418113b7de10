"""What every test shares: the counted report of injected faults. Fixtures of one kind of test live in its folder's `conftest.py`.

A test marked ``fault("what is done")`` injects that fault. The report also counts what other processes have run (xdist).
"""

from __future__ import annotations

import gc
import signal
import sys
from collections import Counter
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType

import combinations
import file_order
import pytest
from glassloom.cluster import options
from long_tests import LONG_TESTS
from property_settings import load_common_profile

load_common_profile()
_FAULT = "fault"
TESTS = Path(__file__).parent


@dataclass
class FaultReport:
    """What was injected, how often, what came of it, and the longest time until all was well again."""

    cases: dict[str, list[tuple[str, float]]] = field(default_factory=dict)

    def add(self, what: str, report: pytest.TestReport) -> None:
        """Take note of a test's outcome."""
        if report.outcome == "failed" or (report.outcome, report.when) == ("passed", "call"):
            self.cases.setdefault(what, []).append((report.outcome, report.duration))

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


_faults = FaultReport()


def pytest_configure(config: pytest.Config) -> None:
    # A shell's background jobs and nohup ignore these, and so would every process that the tests start.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    config.pluginmanager.register(combinations)
    config.addinivalue_line("markers", f"{_FAULT}(what): the test does this to a cluster, which must survive it")


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """Import tests without passes of the garbage collector, which find nothing and took a quarter of the time. Each of several processes begins with other folders."""
    config = session.config
    if hasattr(config, "workerinput") and [Path(argument).resolve() for argument in config.args] == [TESTS]:
        number = int(config.workerinput["workerid"].removeprefix("gw"))
        sizes = {str(folder): sum(path.stat().st_size for path in folder.glob("*.py")) for folder in TESTS.iterdir()}
        config.args = file_order.folders_from({folder: size for folder, size in sizes.items() if size}, number)
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave long tests to `make long`, unless they are asked for by name or by their marker; order files for several processes."""
    if not (LONG_TESTS or config.option.markexpr or any("::" in argument for argument in config.args)):
        left = [item for item in items if item.get_closest_marker("long")]
        items[:] = [item for item in items if not item.get_closest_marker("long")]
        config.hook.pytest_deselected(items=left)
    if hasattr(config, "workerinput"):
        path_of = {item: item.nodeid.partition("::")[0] for item in items}
        longest = {path_of[item] for item in items if LONG_TESTS and item.get_closest_marker("more")}
        order = file_order.in_order(Counter(path_of.values()), longest)
        place = {path: number for number, path in enumerate(order)}
        items.sort(key=lambda item: place[path_of[item]])


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> file_order.FileScheduling | None:
    """Let several processes take files in the order of `pytest_collection_modifyitems`."""
    if config.option.dist != "loadfile":
        return None
    config.option.loadscopereorder = False
    return file_order.FileScheduling(config, log)


def pytest_collection_finish() -> None:
    """Keep what all tests' modules have imported out of each later pass of the garbage collector, which took 0.2 s."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def preloaded() -> Iterator[None]:
    """Let clusters load early what most tests' tasks need, and not all that any test has imported: 0.6 s each."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(options, "_PRELOADED", ("numpy",))
        yield


@pytest.fixture(scope="module")
def imports_preloaded(request: pytest.FixtureRequest, preloaded: None) -> Iterator[None]:
    """Let clusters load early what the module imports, such as pytest. Each worker imports the module where its tasks are of it: 0.1 s, also if it takes the place of a lost one."""
    used = {
        value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
        for value in vars(request.module).values()
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            options, "_PRELOADED", (*options._PRELOADED, *sorted(used & sys.modules.keys() - {request.module.__name__}))
        )
        yield


def pytest_itemcollected(item: pytest.Item) -> None:
    marker = item.get_closest_marker(_FAULT)
    if marker is not None:
        item.user_properties.append((_FAULT, marker.args[0]))


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    for name, what in report.user_properties:
        if name == _FAULT:
            _faults.add(str(what), report)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if _faults.cases:
        terminalreporter.section("faults injected")
        for line in _faults.lines():
            terminalreporter.line(line)

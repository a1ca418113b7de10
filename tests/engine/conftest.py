"""What the engine's tests share: a registry and folder of their own, a cluster a module, a bound on every test, and a
check that a module leaves nothing behind."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # workers get our sys.path: that is how they import `tasks`

import interrupts
import leaks
from glassloom import Client, config
from time_bounds import bounded_time

__all__ = ["bounded_time"]


def pytest_report_header() -> list[str]:
    """Say how to repeat what is chosen by the day."""
    return [f"sweeps, of which a part is taken each day: GLASSLOOM_SWEEP_DAY={interrupts.DAY}"]


@pytest.fixture(scope="module", autouse=True)
def nothing_is_left_behind(tmp_path_factory: pytest.TempPathFactory) -> Iterator[leaks.Watch]:
    """Give the module a registry and a folder for temporary files of its own; fail if it leaks anything."""
    tmp_path_factory.getbasetemp()  # not inside ours, which goes with the module
    base = tempfile.mkdtemp(prefix="gl-", dir="/tmp")  # short: the paths of sockets must be
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JUPYTER_RUNTIME_DIR", f"{base}/rt")
        patch.setenv("TMPDIR", base)
        patch.setattr(tempfile, "tempdir", None)
        patch.setenv("GLASSLOOM_THREADS__PUBLISH", "false")  # the pool of threads lives as long as the process
        config.refresh()
        with leaks.Watch(Path(base)) as watch:
            yield watch
            left = watch.wait_for_leaks_to_go()
    shutil.rmtree(base, ignore_errors=True)
    assert left == [], "the tests of this module left something behind:\n" + "\n".join(left)


@pytest.fixture(scope="module")
def shared_client(nothing_is_left_behind: leaks.Watch) -> Iterator[Client]:
    """Start a cluster of two workers with two threads each, for all tests of the module."""
    with Client(n_workers=2, threads_per_worker=2, memory_limit="1GB", set_as_default=False) as client:
        yield client
        log = Path(client._record.directory, "cluster.log").read_text()
    assert "Traceback" not in log, log


@pytest.fixture
def client(shared_client: Client) -> Iterator[Client]:
    """Return the module's client once it has its workers (an earlier test may have killed one); it must be usable afterwards."""
    shared_client.wait_for_workers(2, timeout=60)
    yield shared_client
    assert shared_client.submit(os.getpid, pure=False).result(timeout=60) > 0

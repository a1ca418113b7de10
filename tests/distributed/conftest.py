"""What tests with Dask share: a registry and folder of their own, a cluster a module, and a bound on every test."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest
from glassloom import Client, config
from glassloom.distributed import remote_workers
from time_bounds import interrupted_after

sys.path.insert(0, str(Path(__file__).parent))  # workers get our search path


@pytest.fixture(scope="module", autouse=True)
def own_folders() -> Iterator[None]:
    """Give the module a registry and a folder for temporary files of its own. Clusters of Dask's change the environment."""
    with (
        mock.patch.dict(os.environ),
        tempfile.TemporaryDirectory(prefix="gl-", dir="/tmp") as base,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setenv("JUPYTER_RUNTIME_DIR", f"{base}/rt")
        patch.setenv("GLASSLOOM_THREADS__PUBLISH", "false")
        patch.setenv("GLASSLOOM_DISTRIBUTED__ATTACH", "false")
        # Workers import our code before they answer: with 25 other processes at work, two took longer than 100 s.
        patch.setattr(remote_workers, "PROBE_S", 300.0)
        patch.setattr(remote_workers, "SEND_S", 300.0)
        config.refresh()
        yield


@pytest.fixture(autouse=True)
def bounded_time() -> Iterator[None]:
    """Interrupt a test that hangs; starting clusters of Dask's takes long."""
    yield from interrupted_after(120)


@pytest.fixture(scope="module")
def client(own_folders: None) -> Iterator[Client]:
    """Start a cluster of two workers with two threads each, for all tests of the module."""
    with Client(n_workers=2, threads_per_worker=2, memory_limit="1GB", set_as_default=False) as client:
        yield client

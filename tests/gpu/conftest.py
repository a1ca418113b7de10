"""What needs a GPU. `make test-gpu` runs it; where there is no GPU that fails, and says what was looked for. `make test` leaves it out.

Each test says in its name what it shows. `docs/gpus.md` tells which were run, and when.
"""

from __future__ import annotations

import pytest


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave these tests out unless they are asked for by ``-m gpu``."""
    if "gpu" in (config.option.markexpr or ""):
        return
    ours = [item for item in items if item.get_closest_marker("gpu")]
    config.hook.pytest_deselected(items=ours)
    items[:] = [item for item in items if item not in ours]


@pytest.fixture(scope="session")
def devices():
    """The devices of this machine, printed. Without any, every test fails."""
    from glassloom.cluster.cuda_devices import found_devices
    from glassloom.sampling.nvml import load_nvml

    return found_devices(load_nvml())


@pytest.fixture(scope="module")
def cluster(devices):
    """One worker for each device, with a pool of a quarter of its memory."""
    from glassloom import LocalCUDACluster

    with LocalCUDACluster(rmm_pool_size=0.25, device_memory_limit=0.2) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def client(cluster):
    from glassloom import Client

    with Client(cluster) as client:
        yield client

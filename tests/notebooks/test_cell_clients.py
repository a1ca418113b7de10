"""A notebook cell that makes a client leaves one cluster, however often it is run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from glassloom_metrics.registry import read_records
from jupyter_client.blocking import BlockingKernelClient
from jupyter_client.manager import start_new_kernel

CELL = "from glassloom import Client\nclient = Client(n_workers=1, threads_per_worker=1)\nclient"


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[BlockingKernelClient]:
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path))
    manager, client = start_new_kernel(kernel_name="python3")
    yield client
    run(client, "import gc, glassloom; [c.close() for c in gc.get_objects() if isinstance(c, glassloom.Client)]")
    client.stop_channels()
    manager.shutdown_kernel(now=True)


def run(kernel: BlockingKernelClient, code: str) -> None:
    reply = kernel.execute_interactive(code, timeout=60, output_hook=lambda message: None)
    assert reply["content"]["status"] == "ok", reply["content"].get("traceback")


def n_clusters() -> int:
    return len(read_records())


def test_a_cell_that_is_run_again_leaves_one_cluster(kernel: BlockingKernelClient) -> None:
    for _ in range(3):
        run(kernel, CELL)
    assert n_clusters() == 1
    run(kernel, "assert client.submit(abs, -1).result() == 1")


def test_a_client_that_still_holds_results_is_not_replaced(kernel: BlockingKernelClient) -> None:
    run(kernel, CELL)
    run(kernel, "kept = client.submit(abs, -2); kept.result()")
    run(kernel, CELL)
    run(kernel, "assert kept.result() == 2")
    assert n_clusters() == 2


def test_clients_of_one_run_and_of_other_cells_all_stay(kernel: BlockingKernelClient) -> None:
    run(kernel, "from glassloom import Client\nboth = []\nfor _ in range(2):\n    both.append(Client(n_workers=1))")
    run(kernel, CELL)
    assert n_clusters() == 3

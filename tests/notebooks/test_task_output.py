"""What tasks print appears below the cell that runs them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from jupyter_client.blocking import BlockingKernelClient
from jupyter_client.manager import start_new_kernel


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BlockingKernelClient]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path_factory.mktemp("rt")))
        manager, client = start_new_kernel(kernel_name="python3")
        outputs(
            client, "from glassloom import Client; client = Client(n_workers=1, threads_per_worker=1, name='printing')"
        )
        yield client
        outputs(client, "client.close()")
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def outputs(kernel: BlockingKernelClient, code: str) -> list[tuple[str, str]]:
    """Run a cell; return what came on its streams until it ended."""
    cell = kernel.execute(code)
    found: list[tuple[str, str]] = []
    while True:
        message: dict[str, Any] = kernel.get_iopub_msg(timeout=60)
        if message["parent_header"].get("msg_id") != cell:
            continue
        content = message["content"]
        if message["msg_type"] == "stream":
            found.append((content["name"], content["text"]))
        assert message["msg_type"] != "error", content["traceback"]
        if message["msg_type"] == "status" and content["execution_state"] == "idle":
            return found


def test_each_cell_shows_what_its_tasks_print(kernel: BlockingKernelClient) -> None:
    cell = "client.submit(lambda: print('in cell {0}'), pure=False).result()"
    for number in range(3):
        assert outputs(kernel, cell.format(number)) == [("stdout", f"(printing-0) in cell {number}\n")]


def test_errors_go_to_the_error_stream(kernel: BlockingKernelClient) -> None:
    cell = "import warnings; client.submit(lambda: warnings.warn('be careful'), pure=False).result()"
    ((name, text),) = [output for output in outputs(kernel, cell) if "UserWarning: be careful" in output[1]]
    assert (name, text.startswith("(printing-0) ")) == ("stderr", True)

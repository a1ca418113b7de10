"""A kernel tells how far the runs of a cell are, by the cell's id, over a comm; what nobody asks for costs nothing."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from queue import Empty
from typing import Any

import pytest
from glassloom.devices.simulated import BYTES_A_SECOND
from jupyter_client.blocking import BlockingKernelClient
from jupyter_client.manager import KernelManager, start_new_kernel

THREADS = """import os, time
import glassloom as gl
def slow(n):
    time.sleep(0.3)
    print('slept', n)
    return n
def held(n, go):
    while not os.path.exists(go):
        time.sleep(0.01)
    return n
"""
COMPUTE = "sum(gl.compute(*[gl.delayed(slow)(n) for n in range(6)]))"
DEVICES = f"""import sys
sys.path[:0] = {[str(Path(__file__).parents[1] / "shared")]!r}
from glassloom.backends.simulated_ import xp
from simulated_clusters import SimulatedCluster
devices = SimulatedCluster("64MiB", n_workers=1, threads_per_worker=1)
on_devices = gl.Client(devices, set_as_default=False)
def make(mib):
    return xp.ones(mib * 2**17)
"""
TIMEOUT_S = 60


class Kernel:
    """A kernel, and what it says of cells."""

    def __init__(self, manager: KernelManager, client: BlockingKernelClient) -> None:
        self.manager, self.client = manager, client
        self.cells: dict[str, list[dict[str, Any]]] = {}
        self.comms: set[str] = set()
        self.opened = 0

    def send(self, code: str, cell: str = "") -> str:
        content = {"code": code, "silent": False, "store_history": True, "user_expressions": {}, "allow_stdin": False}
        metadata = {"cellId": cell} if cell else {}
        message = self.client.session.msg("execute_request", {**content, "stop_on_error": True}, metadata=metadata)
        self.client.shell_channel.send(message)
        return str(message["header"]["msg_id"])

    def run(self, code: str, cell: str = "") -> None:
        """Run a cell; return when it has ended."""
        request = self.send(code, cell)
        self.read_until(lambda message: message["msg_type"] == "status" and message["content"]["execution_state"] == "idle" and message["parent_header"]["msg_id"] == request)  # fmt: skip

    def read_until(self, is_last: Callable[[dict[str, Any]], Any]) -> None:
        """Read what the kernel says until a message of a kind has come; an error in a cell fails the test."""
        end_s = time.monotonic() + TIMEOUT_S
        while time.monotonic() < end_s:
            try:
                message = self.client.get_iopub_msg(timeout=TIMEOUT_S)
            except Empty:
                break
            if message["msg_type"] == "comm_open":
                self.opened += 1
            if message["msg_type"] == "comm_msg":
                self.comms.add(message["content"]["comm_id"])
                for cell in message["content"]["data"]["cells"]:
                    self.cells.setdefault(cell["cell"], []).append(cell)
            if is_last(message):
                return
        pytest.fail(f"the kernel didn't say it in time; of cells: {json.dumps(self.cells)[-2000:]}")

    def read_until_cell(self, cell: str, condition: Callable[[dict[str, Any]], Any]) -> dict[str, Any]:
        """Read until what is told of a cell meets a condition; return that."""
        if not (cell in self.cells and condition(self.cells[cell][-1])):
            self.read_until(lambda _: cell in self.cells and condition(self.cells[cell][-1]))
        return self.cells[cell][-1]

    def executions(self) -> set[tuple[str, int]]:
        """Return the executions of cells that something was told of."""
        return {(name, cell["execution"]) for name, cells in self.cells.items() for cell in cells}

    def ask(self, data: dict[str, Any]) -> None:
        (comm,) = self.comms
        self.client.shell_channel.send(self.client.session.msg("comm_msg", {"comm_id": comm, "data": data}))


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path_factory.mktemp("runtime")))
        manager, client = start_new_kernel(kernel_name="python3")
        kernel = Kernel(manager, client)
        kernel.run(THREADS)
        yield kernel
        kernel.run("import gc; [c.close() for c in gc.get_objects() if isinstance(c, gl.Client)]")
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def has_ended(cell: dict[str, Any]) -> bool:
    return cell["outcome"] != "running" and not cell["executing"]


def test_a_cell_on_threads_is_followed_to_its_end(kernel: Kernel, tmp_path: Path) -> None:
    go = tmp_path / "go"
    kernel.send(f"sum(gl.compute(*[gl.delayed(held)(n, {str(go)!r}) for n in range(6)]))", "cell-a")
    kernel.read_until_cell("cell-a", lambda cell: cell["outcome"] == "running" and cell["executing"])
    go.touch()
    ended = kernel.read_until_cell("cell-a", has_ended)
    assert (ended["outcome"], ended["tasks"]["done"], ended["tasks"]["total"]) == ("finished", 6, 6)
    assert [layer["name"] for layer in ended["layers"]] == ["held"]
    assert kernel.opened == 0, "a front end that doesn't know the comm would close it"


def test_without_a_cells_id_nothing_is_told(kernel: Kernel) -> None:
    before = kernel.executions()
    kernel.run(COMPUTE)
    kernel.run("None")
    assert kernel.executions() == before


def test_an_interrupted_cell_is_told_as_ended(kernel: Kernel) -> None:
    kernel.send("gl.compute(*[gl.delayed(slow)(n) for n in range(1000)])", "cell-b")
    kernel.read_until_cell("cell-b", lambda cell: cell["tasks"]["done"])
    kernel.manager.interrupt_kernel()
    ended = kernel.read_until_cell("cell-b", has_ended)
    assert ended["outcome"] == "cancelled"
    assert ended["tasks"]["done"] < 1000


@pytest.fixture(scope="module")
def cluster(kernel: Kernel) -> Kernel:
    kernel.run("client = gl.Client(n_workers=2, threads_per_worker=1)")
    return kernel


def test_what_a_cell_has_left_running_is_followed_and_cancelled_while_others_go_on(cluster: Kernel) -> None:
    cluster.run("mine = client.map(slow, range(1000), key='mine')", "cell-c")
    cluster.run("theirs = client.map(slow, range(2), key='theirs', priority=10)", "cell-d")
    running = cluster.read_until_cell("cell-c", lambda cell: cell["tasks"]["done"] and cell["output"]["count"])
    assert running["output"]["lines"][0]["text"].startswith("slept")
    assert not running["executing"]
    cluster.ask({"ask": "cancel", "cell": "cell-c"})
    assert cluster.read_until_cell("cell-c", has_ended)["outcome"] == "cancelled"
    ended = cluster.read_until_cell("cell-d", has_ended)
    assert (ended["outcome"], ended["tasks"]["done"]) == ("finished", 2)
    assert ended["clusters"][0]["kind"] == "processes"


def test_a_function_of_one_cell_that_another_calls_counts_for_the_other(cluster: Kernel) -> None:
    cluster.run("def helper(n):\n    return client.submit(slow, n)\nhelper(1001).result()", "cell-e")
    cluster.run("helper(1002).result()", "cell-f")
    assert cluster.read_until_cell("cell-f", has_ended)["tasks"]["total"] == 1
    assert cluster.read_until_cell("cell-e", has_ended)["tasks"]["total"] == 1


def test_failures_are_told(cluster: Kernel) -> None:
    cluster.run("client.submit(lambda: 1 / 0).exception()", "cell-g")
    ended = cluster.read_until_cell("cell-g", lambda cell: has_ended(cell) and cell["errors"])
    assert (ended["outcome"], ended["errors"][0]["exception"]) == ("failed", "ZeroDivisionError")


def test_time_on_the_workers_devices_is_told_though_it_comes_after_the_tasks(kernel: Kernel) -> None:
    kernel.run(DEVICES)
    kernel.run("gl.wait(on_devices.map(make, range(1, 4)))", "cell-devices")
    ended = kernel.read_until_cell(
        "cell-devices", lambda cell: has_ended(cell) and cell["tasks"].get("device_s", 0) > 0.0059
    )
    assert ended["tasks"]["device_s"] == pytest.approx(6 * 2**20 / BYTES_A_SECOND, abs=1e-4)
    assert ended["tasks"]["done"] == 3
    kernel.run("on_devices.close(); devices.close()")


def test_a_page_that_comes_later_is_told_all_cells(cluster: Kernel) -> None:
    known = sorted(cluster.cells)
    cluster.cells.clear()
    cluster.ask({"ask": "cells"})
    cluster.read_until(lambda _: cluster.cells)
    assert sorted(cluster.cells) == known
    assert {cell["outcome"] for cells in cluster.cells.values() for cell in cells} <= {
        "finished",
        "cancelled",
        "failed",
    }


def test_a_cell_that_runs_again_begins_anew(cluster: Kernel) -> None:
    before = cluster.cells["cell-a"][-1]["execution"]
    cluster.run(COMPUTE, "cell-a")
    ended = cluster.read_until_cell("cell-a", lambda cell: has_ended(cell) and cell["execution"] != before)
    assert (ended["n_runs"], ended["tasks"]["total"]) == (1, 6)


def test_cards_of_futures_and_persisted_collections_follow_them(cluster: Kernel, tmp_path: Path) -> None:
    go = tmp_path / "go"
    cluster.run(
        f"""import os, numpy as np, glassloom.array as ga
def wait_for(block):
    while block.max() >= 100 and not os.path.exists({str(go)!r}):
        time.sleep(0.02)
    return block"""
    )
    shown: dict[str, str] = {}

    def has_shown(*texts: str) -> Callable[[dict[str, Any]], bool]:
        def look(message: dict[str, Any]) -> bool:
            if message["msg_type"] in ("display_data", "update_display_data"):
                shown[message["content"]["transient"]["display_id"]] = message["content"]["data"]["text/html"]
            return all(any(text in html for html in shown.values()) for text in texts)

        return look

    cluster.send("x = ga.arange(100, 102, chunks=1).map_blocks(wait_for).persist()\nx")
    cluster.send("future = client.submit(wait_for, np.full(1, 100))\nfuture")
    cluster.read_until(has_shown("2 running", "pending<"))
    go.touch()
    cluster.read_until(has_shown("2 in memory", "finished"))
    assert not any("2 running" in html or "pending<" in html for html in shown.values()), "they are replaced"
    cluster.run("del x, future")


def test_cards_of_clients_and_clusters_follow_what_they_show_until_it_has_ended(kernel: Kernel) -> None:
    shown: dict[str, str] = {}

    def has_shown(text: str, n_cards: int) -> Callable[[dict[str, Any]], bool]:
        def look(message: dict[str, Any]) -> bool:
            if message["msg_type"] in ("display_data", "update_display_data"):
                content = message["content"]
                assert "text/html" in content["data"], "front ends without HTML have the text besides"
                shown[content["transient"]["display_id"]] = content["data"]["text/plain"]
            return sum(text in told for told in shown.values()) == n_cards

        return look

    kernel.send("cluster = gl.LocalCluster(n_workers=1, threads_per_worker=1)\ncluster")
    kernel.read_until(has_shown("workers=1", 1))
    kernel.send("other = gl.Client(cluster, set_as_default=False)\nother")
    kernel.read_until(has_shown("workers=1", 2))
    kernel.send("cluster.scale(2)")
    kernel.read_until(has_shown("workers=2", 2))
    kernel.send("other.close()")
    kernel.read_until(has_shown("closed", 1))
    kernel.send("cluster.close()")
    kernel.read_until(has_shown("closed", 2))
    kernel.run("del other, cluster")


def test_a_monitor_follows_its_cluster_in_its_newest_output_and_needs_no_script(
    cluster: Kernel, tmp_path: Path
) -> None:
    go = tmp_path / "go"
    shown: dict[str, list[str]] = {}

    def has_shown(n_outputs: int, text: str) -> Callable[[dict[str, Any]], bool]:
        def look(message: dict[str, Any]) -> bool:
            if message["msg_type"] in ("display_data", "update_display_data"):
                content = message["content"]
                assert "<script" not in content["data"]["text/html"]
                shown.setdefault(content["transient"]["display_id"], []).append(content["data"]["text/plain"])
            return len(shown) == n_outputs and text in list(shown.values())[-1][-1]

        return look

    for n_outputs in (1, 2):
        cluster.send("monitor = gl.monitor(client)\nmonitor")
        cluster.read_until(has_shown(n_outputs, ", running: 2 workers"))
    cluster.send(
        f"import os\ndef wait(_):\n    while not os.path.exists({str(go)!r}):\n        time.sleep(0.02)\nwaiting = client.submit(wait, 0)"
    )
    cluster.read_until(has_shown(2, "tasks: 1 running"))
    go.touch()
    cluster.read_until(has_shown(2, "tasks: 0 running"))
    older, _ = shown.values()
    assert not any("tasks: 1 running" in text for text in older), "it stays as it was"
    cluster.run("monitor.close(); del monitor, waiting")

"""Clusters of batch systems and of Kubernetes, started by profiles through the server's `POST /clusters`, as the panel does."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import distributed
import kubernetes_api
import pytest
import slurm_daemons
from eventual import eventually
from glassloom_metrics.registry import find_record
from jupyter_labs import TOKEN, Lab, running_lab

pytestmark = pytest.mark.long
_START_S = 100.0
_OPTIONS = {
    "cores": 1,
    "memory": "500MB",
    "processes": 1,
    "job_name": "weaver",
    "walltime": "00:10:00",
    "scheduler_options": {"dashboard_address": None, "host": "127.0.0.1"},
}


@contextmanager
def panel(folder: Path, profile: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> Iterator[Lab]:
    """Run a JupyterLab that has one profile more, and a home of its own."""
    settings = folder / "profiles.json"
    settings.write_text(json.dumps({"GlassloomServer": {"profiles": [profile]}}))
    with running_lab(folder, "/panel/", f"--config={settings}") as lab:
        monkeypatch.setenv("JUPYTER_RUNTIME_DIR", lab.environment["JUPYTER_RUNTIME_DIR"])  # where the records are
        yield lab


def ask(lab: Lab, path: str, method: str = "GET", **body: Any) -> Any:
    data = json.dumps(body).encode() if method != "GET" and method != "DELETE" else None
    request = urllib.request.Request(f"{lab.url}glassloom/api/{path}", data=data, method=method)
    request.add_header("Authorization", f"token {TOKEN}")
    with urllib.request.urlopen(request, timeout=60) as answer:
        text = answer.read()
        return json.loads(text) if text else None


def started(lab: Lab, profile: str) -> dict[str, Any]:
    """Start a cluster by a profile; return the state that the panel shows of it."""
    ask(lab, "clusters", "POST", profile=profile, name="woven")

    def found() -> Any:
        state = ask(lab, "clusters")
        failed = [start for start in state["starts"] if start.get("error")]
        assert not failed, failed
        return next((cluster for cluster in state["clusters"] if cluster["name"] == "woven"), None)

    cluster: dict[str, Any] = eventually(found, _START_S)
    return cluster


def test_a_cluster_of_slurm_is_started_scaled_and_shut_down_from_the_panel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not slurm_daemons.can_run():
        pytest.skip("needs root and Slurm: tests/distributed/install-batch-systems.sh")
    profile = {
        "name": "slurm",
        "factory": "dask_jobqueue.SLURMCluster",
        "kwargs": {**_OPTIONS, "log_directory": str(tmp_path)},
        "values": {"n_workers": 1},
    }
    slurm_folder, home = tmp_path / "slurm", tmp_path / "home"
    slurm_folder.mkdir()
    home.mkdir()
    with slurm_daemons.running(slurm_folder) as slurm:
        for name, value in slurm.items():
            monkeypatch.setenv(name, value)
        with panel(home, profile, monkeypatch) as lab:
            cluster = started(lab, "slurm")
            assert cluster["kind"] == "dask"
            eventually(lambda: slurm_daemons.jobs(slurm) == ["weaver"], _START_S)
            with distributed.Client(find_record(cluster["id"]).address, set_as_default=False) as client:
                assert client.submit(abs, -2).result(timeout=_START_S) == 2
                ask(lab, f"clusters/{cluster['id']}/scale", "POST", n=2)
                client.wait_for_workers(2, timeout=_START_S)
            ask(lab, f"clusters/{cluster['id']}", "DELETE")
            eventually(lambda: slurm_daemons.jobs(slurm) == [], _START_S)
            eventually(lambda: not ask(lab, "clusters")["clusters"], _START_S)


def test_a_cluster_of_kubernetes_is_started_and_shut_down_from_the_panel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("dask_kubernetes.operator", reason="needs dask-kubernetes: docs/distributed.md")
    kwargs = {
        "name": "weaver",
        "image": "weaver:1",
        "n_workers": 1,
        "scheduler_service_type": "LoadBalancer",
        "quiet": True,
    }
    profile = {"name": "kubernetes", "factory": "dask_kubernetes.operator.KubeCluster", "kwargs": kwargs}
    home = tmp_path / "home"
    home.mkdir()
    with kubernetes_api.running(tmp_path) as (fake, config):
        monkeypatch.setenv("KUBECONFIG", str(config))
        with panel(home, profile, monkeypatch) as lab:
            cluster = started(lab, "kubernetes")
            with distributed.Client(find_record(cluster["id"]).address, set_as_default=False) as client:
                assert client.submit(abs, -2).result(timeout=_START_S) == 2
            ask(lab, f"clusters/{cluster['id']}", "DELETE")
            eventually(lambda: not fake.processes, _START_S)

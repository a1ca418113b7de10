"""Clusters of batch systems: Debian's Slurm runs for real in `make long`; of others the batch script is read."""

from __future__ import annotations

import importlib
import os
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import glassloom.array as ga
import pytest
import slurm_daemons
from glassloom import Client

OPTIONS = {
    "cores": 1,
    "memory": "500MB",
    "processes": 1,
    "scheduler_options": {"dashboard_address": None, "host": "127.0.0.1"},
}


@pytest.fixture
def jobqueue() -> Any:
    """Return the package. Importing it makes Ctrl-C end the process, which is undone: later tests interrupt their own."""
    before = signal.getsignal(signal.SIGINT)
    package = importlib.import_module("dask_jobqueue")
    signal.signal(signal.SIGINT, before)
    return package


@pytest.fixture
def slurm() -> Iterator[dict[str, str]]:
    if not slurm_daemons.can_run():
        pytest.skip("needs root and Slurm: tests/distributed/install-batch-systems.sh")
    with (
        tempfile.TemporaryDirectory(prefix="slurm-", dir="/tmp") as folder,
        slurm_daemons.running(Path(folder)) as found,
    ):
        yield found


@pytest.mark.long
def test_workers_are_jobs_of_slurm(
    jobqueue: Any, slurm: dict[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name, value in slurm.items():
        monkeypatch.setenv(name, value)
    with (
        jobqueue.SLURMCluster(
            **OPTIONS, walltime="00:10:00", log_directory=str(tmp_path), job_name="weaver"
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        cluster.scale(jobs=2)
        cluster.wait_for_workers(2, timeout=100)
        assert slurm_daemons.jobs(slurm) == ["weaver"] * 2
        assert client.compute(ga.ones(1000, chunks=100).sum(), sync=True) == 1000
        assert os.getpid() not in client.run(os.getpid).values()
        variables = client.run(lambda: __import__("os").environ.get("SLURM_JOB_NAME"))
        assert list(variables.values()) == ["weaver", "weaver"]
        client.cluster.scale(jobs=1)
        within(60, lambda: len(slurm_daemons.jobs(slurm)) == 1)
    within(60, lambda: slurm_daemons.jobs(slurm) == [])


def within(bound_s: float, is_so: Any) -> None:
    deadline = monotonic() + bound_s
    while not is_so():
        assert monotonic() < deadline
        sleep(0.1)


@pytest.mark.parametrize(
    ("kind", "options", "lines"),
    [
        (
            "SLURMCluster",
            {"walltime": "00:10:00", "queue": "long"},
            ["#SBATCH -p long", "#SBATCH -t 00:10:00", "#SBATCH --cpus-per-task=1"],
        ),
        (
            "PBSCluster",
            {"walltime": "00:10:00", "queue": "long"},
            ["#PBS -q long", "#PBS -l walltime=00:10:00", "#PBS -l select=1:ncpus=1:mem=477MB"],
        ),
        ("LSFCluster", {"walltime": "00:10", "queue": "long"}, ["#BSUB -q long", "#BSUB -W 00:10"]),
        ("SGECluster", {"walltime": "00:10:00", "queue": "long"}, ["#$ -q long", "#$ -l h_rt=00:10:00"]),
    ],
)
def test_a_client_stands_on_clusters_of_batch_systems_whose_jobs_start_workers(
    jobqueue: Any, kind: str, options: dict[str, Any], lines: list[str]
) -> None:
    with getattr(jobqueue, kind)(**OPTIONS, **options) as cluster, Client(cluster, set_as_default=False) as client:
        script = cluster.job_script()
        assert set(lines) <= set(script.splitlines()), script
        assert f"distributed.cli.dask_worker {cluster.scheduler_address}" in script
        assert client.cluster is cluster and client.ncores() == {}

"""Our clients on clusters of dask.distributed attach by themselves: one record for all of them, with their runs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dask
import distributed
import glassloom.array as ga
import pytest
from attached import Told, attached, wait_for
from calls import inc
from glassloom import Client, config
from glassloom.distributed import metrics_plugin
from glassloom.distributed.attachment_holders import find_attachment, is_held
from glassloom.distributed.client_attachment import ClientAttachment
from glassloom.errors import ClusterError
from glassloom.graph.run_info import n_runs_begun
from glassloom_metrics.protocol import Layers, Runs
from glassloom_metrics.recording import hello_of
from glassloom_metrics.registry import read_records


@pytest.fixture(scope="module")
def cluster(own_folders: None) -> Iterator[distributed.LocalCluster]:
    """Start a scheduler and a worker in this process that other processes reach."""
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, protocol="tcp://", host="127.0.0.1", dashboard_address=":0"
    ) as cluster:
        yield cluster


def runs(told: Told) -> dict[int, tuple[str, str, str, int]]:
    """Return kind, code, outcome and number of finished tasks of each run, as told last."""
    return {
        run: row
        for message in told.of(Runs)
        for run, *row in zip(message.ids, message.kinds, message.codes, message.outcomes, message.done, strict=True)
    }  # type: ignore[misc]


def join_all(dask_scheduler: Any) -> None:
    """Let the plugin take all single tasks of a client that come one after the other for one run."""
    plugin = next(each for name, each in dask_scheduler.plugins.items() if name.startswith("glassloom"))
    plugin.read.__globals__.update(JOIN_S=1e6)


def test_clients_share_one_attachment_that_ends_with_the_last(
    cluster: distributed.LocalCluster, tmp_path: Path
) -> None:
    with config.set(distributed__attach=True):
        first = Client(cluster.scheduler_address, set_as_default=False)
        second = Client(cluster.scheduler_address, set_as_default=False)
    with second:
        with first:
            record = first._link.attached_record(60)  # type: ignore[union-attr]
            assert record is not None and record == second._link.attached_record(60)  # type: ignore[union-attr]
            assert [other.id for other in read_records() if other.kind == "dask"] == [record.id]
            told, n_before = Told(record), n_runs_begun()
            with first.record(tmp_path / "run.glr"), first.as_current():
                assert (ga.ones(10, chunks=5) + 1).sum().compute() == 20  # the user's line
                first.gather([first.submit(inc, value, pure=False) for value in range(3)])  # another line
                wait_for(lambda: [row[3] for row in runs(told).values()][1:] == [3], "two runs")
            found = list(runs(told).values())
            assert [(kind, outcome) for kind, _, outcome, _ in found] == [
                ("compute", "finished"),
                ("submit", "finished"),
            ]
            assert "# the user's line" in found[0][1] and "# another line" in found[1][1]
            ordinals = {
                run: ordinal for rows in told.of(Runs) for run, ordinal in zip(rows.ids, rows.ordinals, strict=True)
            }
            assert list(ordinals.values()) == [n_before + 1, n_before + 2]
            assert any("test_attach_clients.py" in line for message in told.of(Layers) for line in message.origins)
        assert hello_of(tmp_path / "run.glr").cluster_id == record.id
        wait_for(lambda: len(list(Path(record.directory).glob("holder-*"))) < 2, "the first client lets go")
        assert is_held(Path(record.directory))  # by the second client
    wait_for(lambda: not Path(record.directory).exists(), "the attachment ends with the last client")


def test_an_attachment_that_comes_after_its_client_was_closed_ends(cluster: distributed.LocalCluster) -> None:
    scheduler = cluster.scheduler.id
    wait_for(lambda: find_attachment(scheduler) is None, "no other client's")
    attachment = ClientAttachment(cluster.scheduler_address, scheduler, None)
    attachment.close()
    assert attachment.record(60) is not None
    wait_for(lambda: find_attachment(scheduler) is None, "it ends")


def test_graphs_of_dasks_own_client_are_runs(cluster: distributed.LocalCluster) -> None:
    with attached(cluster.scheduler_address) as told, distributed.Client(cluster, set_as_default=False) as client:
        client.run_on_scheduler(
            join_all
        )  # usually tasks within a second are one run; on a busy machine two take longer
        client.gather(client.map(inc, range(5), key="mapped"))
        client.gather([client.submit(inc, 1, key="one-1"), client.submit(inc, 2, key="two-1")])
        client.get({"a": (inc, 1), "b": (inc, "a")}, "b", sync=True)
        wait_for(lambda: [row[2] for row in runs(told).values()] == ["finished"] * 3, "three runs")
        kinds = [(kind, code, done) for kind, code, _, done in runs(told).values()]
        assert (
            kinds == [("map", "mapped", 5), ("submit", "one, two", 2), ("compute", "b, a", 2)]
            or kinds[2][0] == "compute"
        )


def test_a_scheduler_in_this_process_is_attached_to_by_a_thread(own_folders: None) -> None:
    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0") as cluster,
        config.set(distributed__attach=True),
        Client(cluster, set_as_default=False) as client,
    ):
        record = client._link.attached_record(60)  # type: ignore[union-attr]
        assert record is not None
        told = Told(record)
        assert client.submit(inc, 1).result() == 2
        wait_for(told.rows, "no row")
    wait_for(lambda: not Path(record.directory).exists(), "it ends with the client")


def test_a_scheduler_that_takes_no_plugins_is_attached_to_if_it_was_started_with_ours(own_folders: None) -> None:
    with (
        dask.config.set({"distributed.scheduler.blocked-handlers": ["register_scheduler_plugin"]}),
        distributed.LocalCluster(
            processes=False, n_workers=1, protocol="tcp://", host="127.0.0.1", dashboard_address=None, silence_logs=50
        ) as cluster,
    ):
        with (
            pytest.raises(ClusterError, match="disallowed.*--preload glassloom.distributed.metrics_plugin"),
            attached(cluster.scheduler_address),
        ):
            pass
        metrics_plugin.dask_setup(cluster.scheduler)
        for name in ("first", "second"):  # it stays when the first has left
            with attached(cluster.scheduler_address, name=name) as told, distributed.Client(cluster) as client:
                assert client.submit(inc, 1, key=f"{name}-1").result() == 2
                wait_for(lambda told=told, name=name: any(row["name"] == name for row in told.rows()), "rows")

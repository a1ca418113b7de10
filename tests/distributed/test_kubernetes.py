"""Clusters of Kubernetes: dask-kubernetes' own `KubeCluster`, against a stand-in for Kubernetes' API whose pods are processes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import glassloom.array as ga
import kubernetes_api
import pytest
from attached import wait_for
from calls import inc
from glassloom import Client

operator: Any = pytest.importorskip("dask_kubernetes.operator", reason="needs dask-kubernetes: docs/distributed.md")


@pytest.fixture
def kubernetes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[kubernetes_api.FakeKubernetes]:
    with kubernetes_api.running(tmp_path) as (fake, config):
        monkeypatch.setenv("KUBECONFIG", str(config))
        yield fake


@pytest.mark.long
def test_a_client_stands_on_a_cluster_of_kubernetes(kubernetes: kubernetes_api.FakeKubernetes) -> None:
    resources = {"limits": {"memory": "1Gi", "cpu": "1"}}
    with (
        operator.KubeCluster(
            name="weaver", image="weaver:1", n_workers=1, resources=resources, env={"WOVEN": "yes"},
            scheduler_service_type="LoadBalancer", quiet=True,
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):  # fmt: skip
        [manifest] = kubernetes.submitted
        [container] = manifest["spec"]["worker"]["spec"]["containers"]
        assert (manifest["kind"], manifest["metadata"]["name"]) == ("DaskCluster", "weaver")
        assert manifest["spec"]["worker"]["replicas"] == 1
        assert (container["image"], container["resources"]) == ("weaver:1", resources)
        assert container["env"] == [{"name": "WOVEN", "value": "yes"}]
        cluster.wait_for_workers(1, timeout=100)
        assert client.submit(inc, 1).result() == 2
        assert list(client.run(lambda: __import__("os").environ["WOVEN"]).values()) == ["yes"]
        client.cluster.scale(2)
        cluster.wait_for_workers(2, timeout=100)
        assert client.compute(ga.ones(1000, chunks=100).sum(), sync=True) == 1000
        assert len(client.ncores()) == 2
        client.cluster.adapt(minimum=1, maximum=3)
        assert kubernetes.submitted[-1]["spec"] == {"cluster": "weaver", "minimum": 1, "maximum": 3}
    wait_for(lambda: not kubernetes.processes, "the pods have ended")

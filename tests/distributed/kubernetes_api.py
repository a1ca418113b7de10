"""So much of Kubernetes' API and of Dask's operator as `dask_kubernetes.operator.KubeCluster` asks for. Pods are processes of this machine.

Objects are kept as they are sent. A `DaskCluster` gets a scheduler, a service and a group of workers, which run the commands of its manifest.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from free_ports import free_port

RESOURCES = {
    "v1": [("pods", "Pod"), ("services", "Service")],
    "kubernetes.dask.org/v1": [
        ("daskclusters", "DaskCluster"),
        ("daskworkergroups", "DaskWorkerGroup"),
        ("daskautoscalers", "DaskAutoscaler"),
    ],
}


class FakeKubernetes:
    """Objects by their kind and name, and the processes that are their pods."""

    def __init__(self) -> None:
        self.objects: dict[tuple[str, str], dict[str, Any]] = {}
        self.submitted: list[dict[str, Any]] = []
        """Manifests, as they came."""
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self._lock = threading.RLock()
        self._n_workers = 0

    def find(self, kind: str, selectors: dict[str, list[str]]) -> list[dict[str, Any]]:
        """Return the objects of a kind that have all labels, and the name, that are asked for."""
        labels = dict(
            part.split("=") for text in selectors.get("labelSelector", []) for part in text.split(",") if part
        )
        fields = dict(
            part.split("=") for text in selectors.get("fieldSelector", []) for part in text.split(",") if part
        )
        with self._lock:
            found = [each for (own, _), each in self.objects.items() if own == kind]
        return [
            each
            for each in found
            if labels.items() <= each["metadata"]["labels"].items()
            and fields.get("metadata.name") in (None, each["metadata"]["name"])
        ]

    def create(self, kind: str, manifest: dict[str, Any]) -> dict[str, Any]:
        """Take an object, and do what the operator does about it."""
        self.submitted.append(json.loads(json.dumps(manifest)))
        made = self._put(kind, manifest, manifest["metadata"].get("labels", {}))
        if kind == "daskclusters":
            self._start_cluster(made)
        elif kind == "daskworkergroups":
            self.reconcile(made)
        return made

    def delete(self, kind: str, name: str) -> dict[str, Any] | None:
        """Remove an object, and of a cluster all that belongs to it."""
        with self._lock:
            found = self.objects.pop((kind, name), None)
            if kind == "daskclusters" and found is not None:
                for pod in list(self.processes):
                    self._stop(pod)
                self.objects.clear()
        return found

    def _put(self, kind: str, manifest: dict[str, Any], labels: dict[str, str]) -> dict[str, Any]:
        metadata = {"namespace": "default", "uid": f"{kind}-1", "resourceVersion": "1", **manifest["metadata"], "labels": labels}  # fmt: skip
        with self._lock:
            made = self.objects[kind, metadata["name"]] = {**manifest, "metadata": metadata}
        return made

    def _start_cluster(self, cluster: dict[str, Any]) -> None:
        name, spec = cluster["metadata"]["name"], cluster["spec"]
        port, page = free_port(), free_port()
        labels = {"dask.org/cluster-name": name, "dask.org/component": "scheduler"}
        [container] = spec["scheduler"]["spec"]["containers"]
        command = [*container["args"], "--port", str(port), "--dashboard-address", f"127.0.0.1:{page}"]
        self._start(f"{name}-scheduler", spec["scheduler"]["spec"], labels, command, {})
        service = spec["scheduler"]["service"]
        ports = [
            {**each, "port": {"tcp-comm": port, "http-dashboard": page}[each["name"]]} for each in service["ports"]
        ]
        address = {"loadBalancer": {"ingress": [{"ip": "127.0.0.1"}]}}
        self._put("services", {"apiVersion": "v1", "kind": "Service", "metadata": {"name": f"{name}-scheduler"}, "spec": {**service, "ports": ports}, "status": address}, labels)  # fmt: skip
        group = {"apiVersion": "kubernetes.dask.org/v1", "kind": "DaskWorkerGroup", "metadata": {"name": f"{name}-default"}, "spec": {"cluster": name, "worker": spec["worker"]}}  # fmt: skip
        self.reconcile(self._put("daskworkergroups", group, {"dask.org/cluster-name": name}))
        cluster["status"] = {"phase": "Running"}

    def reconcile(self, group: dict[str, Any]) -> None:
        """Start or stop workers of a group."""
        name, cluster, worker = group["metadata"]["name"], group["spec"]["cluster"], group["spec"]["worker"]
        service = self.objects["services", f"{cluster}-scheduler"]
        port = next(each["port"] for each in service["spec"]["ports"] if each["name"] == "tcp-comm")
        labels = {"dask.org/cluster-name": cluster, "dask.org/component": "worker", "dask.org/workergroup-name": name}
        with self._lock:
            running = [each["metadata"]["name"] for each in self.find("pods", {}) if labels.items() <= each["metadata"]["labels"].items()]  # fmt: skip
            for pod in running[worker["replicas"] :]:
                self._stop(pod)
            for _ in range(worker["replicas"] - len(running)):
                self._n_workers += 1
                pod = f"{name}-worker-{self._n_workers}"
                [container] = worker["spec"]["containers"]
                given = {each["name"]: each["value"] for each in container["env"] or []}
                values = {**given, "DASK_WORKER_NAME": pod, "DASK_SCHEDULER_ADDRESS": f"tcp://127.0.0.1:{port}"}
                command = [part.replace("$(DASK_WORKER_NAME)", pod) for part in container["args"]]
                command[command.index("--dashboard-address") + 1] = "127.0.0.1:0"  # all pods share this machine's ports
                self._start(pod, worker["spec"], labels, command, values)

    def _start(
        self, name: str, spec: dict[str, Any], labels: dict[str, str], command: list[str], values: dict[str, str]
    ) -> None:
        program = f"distributed.cli.{command[0].replace('-', '_')}"
        quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), **values}
        self.processes[name] = subprocess.Popen([sys.executable, "-m", program, *command[1:]], env=environment, **quiet)
        ready = {"phase": "Running", "conditions": [{"type": kind, "status": "True"} for kind in ("Ready", "ContainersReady", "Initialized", "PodScheduled")]}  # fmt: skip
        self._put("pods", {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec, "status": ready}, labels)  # fmt: skip

    def _stop(self, pod: str) -> None:
        process = self.processes.pop(pod)
        process.terminate()
        process.wait()
        self.objects.pop(("pods", pod), None)

    def stop(self) -> None:
        """End all processes."""
        for pod in list(self.processes):
            self._stop(pod)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    fake: FakeKubernetes

    def log_message(self, *_: Any) -> None:
        pass

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        kind, name, _ = self._named(url.path)
        if kind == "":
            self._answer(_discovery(url.path))
        elif name:
            self._answer(self.fake.objects.get((kind, name)))
        else:
            self._answer({"kind": "List", "metadata": {}, "items": self.fake.find(kind, parse_qs(url.query))})

    def do_POST(self) -> None:
        kind, _, _ = self._named(urlsplit(self.path).path)
        self._answer(self.fake.create(kind, self._body()), 201)

    def do_PATCH(self) -> None:
        kind, name, part = self._named(urlsplit(self.path).path)
        found, body = self.fake.objects.get((kind, name)), self._body()
        if found is not None:
            replicas = body["spec"].get("replicas", body["spec"].get("worker", {}).get("replicas"))
            if replicas is None:
                found["spec"].update(body["spec"])
            else:
                found["spec"]["worker"]["replicas"] = replicas
                self.fake.reconcile(found)
        self._answer(found)

    def do_DELETE(self) -> None:
        self._body()
        kind, name, _ = self._named(urlsplit(self.path).path)
        self._answer(self.fake.delete(kind, name))

    def _named(self, path: str) -> tuple[str, str, str]:
        """Return kind, name and part of what a path means."""
        parts = path.strip("/").split("/")
        if "namespaces" not in parts:
            return "", "", ""
        kind, name, part, *_ = [*parts[parts.index("namespaces") + 2 :], "", "", ""]
        return kind, name, part

    def _body(self) -> Any:
        return json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}")

    def _answer(self, found: Any, status: int = 200) -> None:
        if found is None:
            status, found = (
                404,
                {"kind": "Status", "status": "Failure", "code": 404, "reason": "NotFound", "message": self.path},
            )
        text = json.dumps(found).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)


def _discovery(path: str) -> Any:
    """Return what says which kinds of objects there are."""
    path = path.rstrip("/")
    if path == "/version":
        return {"major": "1", "minor": "33", "gitVersion": "v1.33.0"}
    if path == "/api":
        return {"kind": "APIVersions", "versions": ["v1"]}
    if path == "/apis":
        version = {"groupVersion": "kubernetes.dask.org/v1", "version": "v1"}
        return {"kind": "APIGroupList", "groups": [{"name": "kubernetes.dask.org", "versions": [version], "preferredVersion": version}]}  # fmt: skip
    group = path.removeprefix("/apis/").removeprefix("/api/")
    if group not in RESOURCES:
        return None
    resources = [{"name": name, "singularName": kind.lower(), "kind": kind, "namespaced": True, "verbs": ["create", "delete", "get", "list", "patch"]} for name, kind in RESOURCES[group]]  # fmt: skip
    return {"kind": "APIResourceList", "groupVersion": group, "resources": resources}


@contextmanager
def running(folder: Path) -> Iterator[tuple[FakeKubernetes, Path]]:
    """Serve; yield what is there, and a file for ``KUBECONFIG``."""
    fake = FakeKubernetes()
    handler = type("Handler", (_Handler,), {"fake": fake})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    config = folder / "kubeconfig"
    place = {"server": f"http://127.0.0.1:{server.server_address[1]}"}
    context = {"cluster": "here", "user": "me", "namespace": "default"}
    config.write_text(json.dumps({"apiVersion": "v1", "kind": "Config", "current-context": "here", "clusters": [{"name": "here", "cluster": place}], "users": [{"name": "me", "user": {"token": "x"}}], "contexts": [{"name": "here", "context": context}]}))  # fmt: skip
    try:
        yield fake, config
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
        fake.stop()

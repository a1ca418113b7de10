"""`Names`: what the numbers in a recording stand for. Layers may be announced after their first task, so it is read first."""

from __future__ import annotations

from glassloom_metrics.protocol import DeviceTimes, GpuDevices, Hello, Layers, Runs, WorkerJoined
from glassloom_metrics.recording import Recording


class Names:
    """The layers, workers and runs of a recording.

    Attributes
    ----------
    cluster
        The name of the cluster.
    layers, origins, runs_of_layers
        By layer: its name, the user's line, and its run, -1 for none.
    workers
        By worker: its name.
    runs
        By run: kind, first line of the code, begin and end (None: it hasn't ended).
    gpus
        By device: its UUID.
    device_s
        By row of a task: seconds on its worker's device, which are told after the row.
    """

    def __init__(self, recording: Recording) -> None:
        self.cluster = ""
        self.layers: dict[int, str] = {}
        self.origins: dict[int, str] = {}
        self.runs_of_layers: dict[int, int] = {}
        self.workers: dict[int, str] = {}
        self.runs: dict[int, tuple[str, str, float, float | None]] = {}
        self.gpus: dict[int, str] = {}
        self.device_s: dict[int, float] = {}
        for message in recording:
            match message:
                case Hello():
                    self.cluster = message.cluster_name
                case Layers():
                    self.layers.update(zip(message.ids, message.names, strict=True))
                    self.origins.update(zip(message.ids, message.origins, strict=True))
                    self.runs_of_layers.update(zip(message.ids, message.runs, strict=bool(message.runs)))
                case WorkerJoined():
                    self.workers[message.worker] = message.name
                case GpuDevices():
                    self.gpus.update(zip(message.ids, message.uuids, strict=True))
                case DeviceTimes():
                    self.device_s.update(zip(message.rows, message.seconds, strict=True))
                case Runs():
                    lines = [code.strip().partition("\n")[0] for code in message.codes]
                    rows = zip(message.kinds, lines, message.started_s, message.ended_s, strict=True)
                    self.runs.update(zip(message.ids, rows, strict=True))

    def layer(self, number: int) -> str:
        """Return the name of a layer, also of one that was never announced."""
        return self.layers.get(number, f"layer {number}")

    def worker(self, number: int) -> str:
        """Return the name of a worker, also of one that was never announced."""
        return self.workers.get(number, f"worker {number}")

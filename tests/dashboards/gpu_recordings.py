"""Recordings of clusters with GPUs: what the real sampler tells of recorded NVML sessions, in a recording.

``python tests/dashboards/gpu_recordings.py FOLDER`` writes one of each scenario, for `pictures.py`. No time passes.
"""

from __future__ import annotations

import sys
from dataclasses import replace as replace_fields
from pathlib import Path

from glassloom.sampling.nvml import DeviceLost, NvmlSampler, NvmlUnavailable
from glassloom.sampling.nvml_session import ReplayedNvml, Session
from glassloom.sampling.nvml_simulator import SCENARIOS, scenario
from glassloom_metrics.gpu_messages import GpuDevices, Reading, gpu_devices
from glassloom_metrics.protocol import Hello, Life, Message, WorkerJoined
from glassloom_metrics.recorder import Recorder
from msgspec.structs import replace
from synthetic import STARTED_AT_S, write_recording

FIRST_PID = 41_000
GIB = 2**30


def gpu_messages(session: Session, seconds: int, *, workers: int = 0, pools: bool = False) -> list[Message]:
    """Return what the head tells of a session: the first processes of the session are this cluster's workers."""
    now_s = 0.0
    sampler = NvmlSampler(ReplayedNvml(session, clock=lambda: now_s))
    try:
        sampler.begin()
    except NvmlUnavailable as problem:
        return [gpu_devices(STARTED_AT_S, "", f"{problem}.", [])]
    pids = {FIRST_PID + number: number for number in range(workers)}
    told: list[Message] = []
    last: GpuDevices | None = None
    for second in range(seconds):
        now_s, at_s = float(second), STARTED_AT_S + second
        if second % 60 == 0:
            sampler.refresh(at_s)
        readings = {}
        for number in sampler.ids():
            try:
                readings[number] = sampler.read(number, at_s)
            except DeviceLost:
                continue
        for reading in readings.values():
            for pid, _ in reading.processes:
                sampler.process_name(pid)
        table = sampler.table(at_s)
        if last is None or replace(last, at_s=at_s) != table:
            last = table
            told.append(table)
        held: dict[str, Reading] = {"pool_reserved_bytes": 40 * GIB, "pool_used_bytes": 30 * GIB}
        samples, processes = sampler.messages(
            at_s, readings, workers=pids, pools={table.uuids[0]: held} if pools else None
        )
        told += [processes, samples]
    return told


def cluster_messages(workers: int) -> list[Message]:
    """Return the workers of a cluster."""
    return [Life(STARTED_AT_S, "started")] + [
        WorkerJoined(STARTED_AT_S, number, f"loom-{number}", FIRST_PID + number, 1, 64 * GIB)
        for number in range(workers)
    ]


def recorder_of(name: str, seconds: int, *, workers: int = 2, pools: bool = False) -> Recorder:
    """Return the recorder of a cluster whose host is a scenario."""
    recorder = Recorder(Hello(2, name, name, "processes", STARTED_AT_S))
    session = scenario(name, seconds)
    if name == "silent":  # in one thread, the sampler would wait for ever
        session = replace_fields(session, answers=[one for one in session.answers if one.took_s is not None])
    for message in cluster_messages(workers) + gpu_messages(session, seconds, workers=workers, pools=pools):
        recorder.record(message)
    recorder.flush(STARTED_AT_S + seconds)
    return recorder


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for wanted in sys.argv[2:] or SCENARIOS:
        (folder / f"{wanted}.glr").unlink(missing_ok=True)
        write_recording(
            folder / f"{wanted}.glr",
            recorder_of(wanted, 120, workers=16 if wanted == "sixteen" else 2, pools=wanted == "two"),
        )

"""The dashboard pages by name: the server lists them, the dashboards process draws them, neither imports the other."""

from __future__ import annotations

import msgspec


class Page(msgspec.Struct, frozen=True):
    """One dashboard page: its id in the URL, and the words a person sees."""

    id: str
    title: str
    description: str


PAGES = [
    Page("overview", "Overview", "Is it healthy? Progress, utilisation, headroom, and what needs attention"),
    Page("status", "Status", "Everything at once: task stream, progress, memory and CPU"),
    Page("task-stream", "Task stream", "What each thread did, when"),
    Page("progress", "Progress", "Tasks done, running and waiting, by layer"),
    Page("runs", "Runs", "What was computed, when, and how it ended; two runs side by side"),
    Page("logs", "Logs and errors", "What tasks print and log, and what failed, in groups"),
    Page(
        "task", "Task inspector", "One task found by its key: its times, why it waited, its inputs, result and errors"
    ),
    Page("workers", "Workers", "Each worker's state, memory and tasks; one's life, also after its death"),
    Page("workers-memory", "Memory by worker", "Managed, shared, unmanaged and spilled bytes"),
    Page("workers-cpu", "CPU by worker", "How busy each worker is"),
    Page("stages", "Progress and stages", "How far, how fast and how long still, and how long tasks take, by layer"),
    Page("time-budget", "Time budget", "Where the time of all threads went: computing, moving, spilling, idle"),
    Page("memory", "Memory over time", "What was in memory and on disk, when, and which layers held it"),
    Page(
        "gpu",
        "GPUs",
        "Utilisation, memory, traffic, power, temperature, clocks and processes of each GPU, now and over time",
    ),
    Page(
        "gpu-devices",
        "GPUs now",
        "Each GPU and MIG instance with its last readings; one opened with links, errors and processes",
    ),
    Page("gpu-time", "GPUs over time", "One metric of all GPUs, or all metrics of one"),
]

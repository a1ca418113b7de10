"""The dashboard pages by name and group: the server lists them, the dashboards process draws them, neither imports the other."""

from __future__ import annotations

from typing import Literal

import msgspec

PageGroup = Literal["overview", "tasks", "workers", "memory", "gpu"]
"""What a page is about. The panel has a heading for each; one that it doesn't know is "more"."""


MAX_OPEN_PAGES = 100
"""How many pages of all clusters one user may have open at once, by default."""


class Page(msgspec.Struct, frozen=True):
    """One dashboard page: its id in the URL, the words a person sees, and what it is about."""

    id: str
    title: str
    description: str
    group: PageGroup


_PAGES: dict[PageGroup, dict[str, tuple[str, str]]] = {
    "overview": {
        "overview": ("Overview", "Is it healthy? Progress, utilisation, headroom, and what needs attention"),
        "status": ("Status", "Everything at once: task stream, progress, memory and CPU"),
        "runs": ("Runs", "What was computed, when, and how it ended; two runs side by side"),
        "logs": ("Logs and errors", "What tasks print and log, and what failed, in groups"),
    },
    "tasks": {
        "task-stream": ("Task stream", "What each thread did, when"),
        "progress": ("Progress", "Tasks done, running and waiting, by layer"),
        "stages": ("Progress and stages", "How far, how fast and how long still, and how long tasks take, by layer"),
        "time-budget": ("Time budget", "Where the time of all threads went: computing, moving, spilling, idle"),
        "task": (
            "Task inspector",
            "One task found by its key: its times, why it waited, its inputs, result and errors",
        ),
    },
    "workers": {
        "workers": ("Workers", "Each worker's state, memory and tasks; one's life, also after its death"),
        "workers-cpu": ("CPU by worker", "How busy each worker is"),
    },
    "memory": {
        "memory": ("Memory over time", "What was in memory and on disk, when, and which layers held it"),
        "workers-memory": ("Memory by worker", "Managed, shared, unmanaged and spilled bytes"),
    },
    "gpu": {
        "gpu": ("GPUs", "Utilisation, memory, traffic, power, temperature, clocks and processes, now and over time"),
        "gpu-devices": (
            "GPUs now",
            "Each GPU and MIG instance with its last readings; one opened with links and errors",
        ),
        "gpu-time": ("GPUs over time", "One metric of all GPUs, or all metrics of one"),
    },
}

PAGES = [Page(name, *words, group) for group, pages in _PAGES.items() for name, words in pages.items()]
"""All pages, in the order in which they are listed."""

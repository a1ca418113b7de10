"""`MetricsPlugin`: tells what happens on a scheduler of dask.distributed to readers that ask for it. Imports nothing of ours.

Its source is sent to schedulers that have no Glassloom (`plugin_source.py`), whatever Python they run. Or the scheduler is started with
``--preload glassloom.distributed.metrics_plugin``.

Readers ask (`read`) and are answered with batches by number; nothing is sent to a reader that doesn't ask, so that one that is stopped
costs nothing. Batches are kept up to `MOST_BYTES`; a reader whose next ones are gone gets a batch that says how things stand. Without a
reader for `IDLE_S`, everything is forgotten, and transitions cost one comparison. Called in the scheduler's event loop only.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections import deque
from hashlib import sha256
from time import time
from typing import Any

import msgpack  # type: ignore[import-untyped]
from distributed.diagnostics.plugin import SchedulerPlugin

MOST_BYTES = 32 * 2**20
"""How much of what has happened is kept for readers."""
MOST_ROWS = 5_000
"""How many rows a batch has."""
REPLY_BYTES = 4 * 2**20
"""How much a reader gets at once."""
IDLE_S = 60.0
"""After how long without a reader everything is forgotten."""
PACE_S = 0.1
"""How long what happens is collected before it is sent."""
SAMPLE_S = 1.0
JOIN_S = 1.0
"""Tasks that a client submits one by one belong to one run unless more time than this lies between two."""
MOST_RUNNING = 1_000
MOST_TEXTS = 10
"""Of how many failures of a layer the traceback is sent."""
_MOST_NOTES = 1_000
_MOST_NAMES = 5
_COLUMN = {"waiting": 0, "queued": 1, "no-worker": 1, "processing": 2, "memory": 3, "erred": 5}
"""Where a task in a state is counted. A released task is in none, unless it has had a result (`_RELEASED`) or failed (`_ERRED`)."""
_RELEASED, _ERRED = 4, 5


class _Run:
    """Tasks that were asked for at one time."""

    def __init__(self, number: int, client: str, kind: str, info: list[Any] | None, now_s: float) -> None:
        self.number, self.client, self.kind, self.info = number, client, kind, info
        self.started_s = self.last_s = now_s
        self.ended_s: float | None = None
        self.layers: dict[str, _Layer] = {}
        self.names: list[str] = []
        self.counts = [0] * 6
        self.total = 0
        self.is_told = False

    def row(self, now_s: float) -> list[Any]:
        """Return how the run stands."""
        n_open, failed = sum(self.counts[:3]), self.counts[_ERRED]
        done = self.counts[3] + self.counts[_RELEASED]
        self.ended_s = None if n_open else self.ended_s or now_s
        outcome = "running" if n_open else "failed" if failed else "finished" if done >= self.total else "cancelled"
        info, self.is_told = None if self.is_told else self.info, True
        told = [self.number, self.client, self.kind, info, self.names, self.started_s, self.ended_s, outcome]
        return [*told, self.total, done, failed]


class _Layer:
    """Tasks of one group of the scheduler's, and one run."""

    __slots__ = ("counted", "counts", "group", "held", "key", "known", "number", "run", "texts", "told", "total")

    def __init__(self, number: int, group: str, run: _Run | None, key: Any) -> None:
        self.number, self.group, self.run, self.key = number, group, run, key
        self.counts, self.counted = [0] * 6, [0] * 6
        self.total = self.known = self.held = self.texts = self.told = 0

    def count(self) -> None:
        """Count what has changed for the run too."""
        if self.run is not None and self.counts != self.counted:
            self.run.counts = [
                sum_ + new - old for sum_, new, old in zip(self.run.counts, self.counts, self.counted, strict=True)
            ]
            self.counted = list(self.counts)


class MetricsPlugin(SchedulerPlugin):
    """See the module.

    Parameters
    ----------
    name
        Of the plugin, and of the operation by which readers ask.
    stays
        Whether it stays on the scheduler when nothing reads any more.
    """

    idempotent = True

    def __init__(self, name: str, *, stays: bool = False) -> None:
        self.name = name
        self._stays = stays
        self._scheduler: Any = None
        self._readers: dict[str, float] = {}
        self._closing = False
        self._forget()

    def _forget(self) -> None:
        self._is_read = False
        self.log = ""
        self._layers: dict[Any, _Layer] = {}
        """By task, for those that the scheduler knows."""
        self._old: dict[str, _Layer] = {}
        """By group, for tasks that were there before the first reader."""
        self._newest: dict[str, _Layer] = {}
        self._past: dict[Any, int] = {}
        """Released tasks that have had a result, or failed: where they are counted."""
        self._sent: dict[Any, float] = {}
        self._queued: dict[Any, float] = {}
        self._tries: dict[Any, int] = {}
        self._runs: dict[str, _Run] = {}
        """The newest run of each client."""
        self._notes: dict[str, dict[Any, list[Any]]] = {}
        self._workers: dict[str, int] = {}
        self._n_layers = self._n_runs = self._n_workers = 0
        self._changed: set[_Layer] = set()
        self._rows: list[Any] = []
        self._joined: list[Any] = []
        self._events: list[Any] = []
        self._batches: deque[bytes] = deque()
        self._first = self._next = self._nbytes = 0
        self._sampled_s = 0.0

    # Readers

    async def start(self, scheduler: Any) -> None:
        """The plugin is on a scheduler."""
        self._scheduler = scheduler
        scheduler.handlers[self.name] = self.read
        scheduler.handlers[self.name + "-run"] = self.note_run

    async def read(
        self, reader: str = "", log: str = "", since: int = -1, wait_s: float = 1.0, leaves: bool = False
    ) -> dict[str, Any]:
        """Return batches from number `since` of the log, when there are any, or after a time."""
        if leaves:
            self._leave(reader)
            return {}
        self._readers[reader] = time()
        if not self._is_read:
            self._begin()
        snapshot = None
        if log != self.log or not self._first <= since <= self._next:
            self._seal()
            snapshot, since = self._snapshot(), self._next
        else:
            until_s = time() + wait_s
            while since == self._next and time() < until_s and not self._closing:
                await asyncio.sleep(PACE_S)
                if self._has_news():
                    self._seal()
        self._readers[reader] = time()
        found: list[bytes] = []
        for place in range(max(since - self._first, 0), len(self._batches)):
            if sum(map(len, found)) > REPLY_BYTES:
                break
            found.append(self._batches[place])
        return {
            "log": self.log,
            "now": time(),
            "snapshot": snapshot,
            "first": max(since, self._first),
            "batches": found,
            "closing": self._closing,
        }

    def _leave(self, reader: str) -> None:
        self._readers.pop(reader, None)
        if not self._readers:
            self._forget()
        if not self._readers and not self._stays:
            self._scheduler.handlers.pop(self.name, None)
            self._scheduler.handlers.pop(self.name + "-run", None)
            self._scheduler.plugins.pop(self.name, None)

    async def note_run(self, client: str, key: Any, info: list[Any]) -> bool:
        """A client is about to hand in a graph with this wanted key: a run of its own, with what is known of it."""
        if self._is_read:
            notes = self._notes.setdefault(client, {})
            notes[tuple(key) if isinstance(key, list) else key] = info
            while len(notes) > _MOST_NOTES:
                del notes[next(iter(notes))]
        return self._is_read

    def _begin(self) -> None:
        """Somebody reads now: take note of what is there."""
        self._is_read, self.log = True, uuid.uuid4().hex
        for address in self._scheduler.workers:
            self._add_worker(address)
        for name, group in list(self._scheduler.task_groups.items()):
            layer = _Layer(self._n_layers, name, None, None)
            for state, count in group.states.items():
                if state in _COLUMN:
                    layer.counts[_COLUMN[state]] += count
            layer.total = layer.known = sum(layer.counts)
            if layer.total:
                layer.held = group.nbytes_total
                self._n_layers += 1
                self._old[name] = self._newest[name] = layer
                self._changed.add(layer)

    async def before_close(self) -> None:
        """The scheduler is about to end: let readers know."""
        self._closing = True
        if self._is_read:
            await asyncio.sleep(3 * PACE_S)

    # What happens

    def update_graph(self, scheduler: Any, *, client: str = "", keys: Any = (), tasks: Any = (), **kwargs: Any) -> None:
        """A client has handed in a graph."""
        if not self._is_read:
            return
        layers, known = self._layers, scheduler.tasks
        new = [key for key in tasks if key not in layers]
        if not new:
            return
        run = self._run_of(client, new, keys)
        for key in new:
            task = known.get(key)
            if task is None or task.run_spec is None or task.state != "released":
                continue
            name = task.group.name
            layer = run.layers.get(name)
            if layer is None:
                layer = run.layers[name] = self._newest[name] = _Layer(self._n_layers, name, run, key)
                self._n_layers += 1
                if len(run.names) < _MOST_NAMES:
                    run.names.append(name)
            run.total += 1
            layers[key] = layer
            layer.total += 1
            layer.known += 1
            self._changed.add(layer)

    def _run_of(self, client: str, new: list[Any], keys: Any) -> _Run:
        now_s, last = time(), self._runs.get(client)
        notes = self._notes.get(client)
        if notes:
            noted = next((key for key in notes if key in keys), None)
            if noted is not None:
                kind, *info = notes.pop(noted)
                return self._new_run(client, kind, info, now_s)
        is_single = len(new) == 1 and len(keys) == 1
        if last is not None and (is_single or last.info is not None):
            is_near = now_s - last.last_s <= JOIN_S
            if (last.kind == "submit" and (is_near or last.info is not None)) or (is_near and last.info is not None):
                last.last_s = now_s
                return last
        groups = {self._scheduler.tasks[key].group.name for key in new} if len(keys) >= len(new) else ()
        return self._new_run(client, "submit" if is_single else "map" if len(groups) == 1 else "compute", None, now_s)

    def _new_run(self, client: str, kind: str, info: list[Any] | None, now_s: float) -> _Run:
        run = self._runs[client] = _Run(self._n_runs, client, kind, info, now_s)
        self._n_runs += 1
        return run

    def remove_client(self, scheduler: Any, client: str) -> None:
        """A client has gone."""
        self._runs.pop(client, None)
        self._notes.pop(client, None)

    def transition(self, key: Any, start: str, finish: str, *args: Any, **kwargs: Any) -> None:
        """A task has come from one state into another. Called some six times a task: the usual ways are the short ones."""
        layer = self._layers.get(key)
        if layer is None:
            layer = self._old_layer(key)
            if layer is None:
                return
        counts = layer.counts
        if start in _COLUMN:
            counts[_COLUMN[start]] -= 1
        elif finish == "forgotten":
            self._changed.add(layer)
            self._forget_task(key, layer)
            return
        elif self._past:
            past = self._past.pop(key, None)
            if past is not None:
                counts[past] -= 1
        if finish in _COLUMN:
            counts[_COLUMN[finish]] += 1
        self._changed.add(layer)
        if finish == "processing":
            self._sent[key] = time()
        elif start == "processing":
            self._ended(layer, key, finish, kwargs)
        elif finish == "queued" or finish == "no-worker":
            self._queued[key] = time()
        elif start == "memory" and finish != "erred":
            counts[_RELEASED] += 1
            nbytes = self._scheduler.tasks[key].nbytes
            if nbytes > 0:
                layer.held -= nbytes
            if finish == "released":
                self._past[key] = _RELEASED
        elif start == "erred":
            counts[_ERRED] += 1
            if finish == "released":
                self._past[key] = _ERRED
        elif finish == "memory":
            layer.held += max(self._scheduler.tasks[key].nbytes, 0)
        if finish == "forgotten":
            self._forget_task(key, layer)
        elif finish == "erred" and kwargs.get("cause") == key:
            self._failed(layer, key, kwargs)

    def _ended(self, layer: _Layer, key: Any, finish: str, told: dict[str, Any]) -> None:
        """A task isn't on its worker any more."""
        sent_s = self._sent.pop(key, None)
        queued_s = self._queued.pop(key, None) if self._queued else None
        if finish != "memory" and finish != "erred":
            self._tries[key] = self._tries.get(key, 1) + 1
            return
        tries = self._tries.pop(key, 1) if self._tries else 1
        is_ok = finish == "memory"
        nbytes = told.get("nbytes", -1)
        if is_ok:
            layer.held += max(nbytes, 0)
        parts = told.get("startstops")
        number = self._workers.get(told.get("worker"), -1)  # type: ignore[arg-type]
        if not parts or number < 0:
            return
        last, others = parts[0], None
        if len(parts) > 1:
            last = next((part for part in reversed(parts) if part["action"] == "compute"), parts[-1])
            others = [self._part(key, number, part) for part in parts if part is not last]
        times_s = (last["start"], last["stop"], sent_s, queued_s)
        self._rows.append((layer.number, key, number, told.get("thread") or 0, is_ok, nbytes, *times_s, tries, others))
        if len(self._rows) >= MOST_ROWS:
            self._seal()

    def _part(self, key: Any, number: int, part: dict[str, Any]) -> list[Any]:
        """Return what a worker did for a task before it ran, and, of a transfer, what came from where if that is certain."""
        if part["action"] != "transfer":
            return [part["action"], part["start"], part["stop"], -1, None, -1, -1]
        source, worker = part.get("source"), None
        for address, each in self._workers.items():
            if each == number:
                worker = address
                break
        came = []
        task, holders = self._scheduler.tasks.get(key), (source, worker)
        for dependency in task.dependencies if task is not None else ():
            places = {state.address for state in dependency.who_has or ()}
            if places.issuperset(holders):
                came.append(dependency)
        producer = self._workers.get(source, -1)  # type: ignore[arg-type]
        if len(came) != 1:
            return ["transfer", part["start"], part["stop"], producer, None, -1, -1]
        layer = self._layers.get(came[0].key) or self._old.get(came[0].group.name)
        number = -1 if layer is None else layer.number
        return ["transfer", part["start"], part["stop"], producer, came[0].key, number, came[0].nbytes]

    def _old_layer(self, key: Any) -> _Layer | None:
        """Return the layer of a task that was there before anybody has read."""
        if not self._old:
            return None
        task = self._scheduler.tasks.get(key)
        layer = None if task is None else self._old.get(task.group.name)
        if layer is not None and layer.key is None:
            layer.key = key
        return layer

    def _forget_task(self, key: Any, layer: _Layer) -> None:
        self._layers.pop(key, None)
        for kept in (self._past, self._tries, self._sent, self._queued):
            if kept:
                kept.pop(key, None)
        layer.known -= 1
        if layer.known <= 0:
            if layer.run is not None and layer.run.layers.get(layer.group) is layer:
                del layer.run.layers[layer.group]
            if self._newest.get(layer.group) is layer:
                del self._newest[layer.group]
            if self._old.get(layer.group) is layer:
                del self._old[layer.group]

    def _failed(self, layer: _Layer, key: Any, told: dict[str, Any]) -> None:
        layer.texts += 1
        text, trace = str(told.get("exception_text") or ""), ""
        if layer.texts <= MOST_TEXTS:
            trace = str(told.get("traceback_text") or "")[-8_000:]
        worker = self._workers.get(told.get("worker"), -1)  # type: ignore[arg-type]
        self._event("error", time(), layer.number, key, text[:2_000], trace, worker)

    def _event(self, *event: Any) -> None:
        self._events.append(event)
        if len(self._events) >= MOST_ROWS:
            self._seal()

    def restart(self, scheduler: Any) -> None:
        """The scheduler has forgotten all tasks."""
        for layer in {*self._layers.values(), *self._old.values()}:
            layer.counts[_RELEASED] += layer.counts[3]
            layer.counts[:4] = [0] * 4
            layer.held = layer.known = 0
            self._changed.add(layer)
        for tasks in (self._layers, self._old, self._newest, self._past, self._sent, self._queued, self._tries):
            tasks.clear()
        if self._is_read:
            self._event("log", time(), -1, "warning", "the cluster was restarted: all tasks are forgotten")

    # Workers

    def add_worker(self, scheduler: Any, worker: str) -> None:
        """A worker has come."""
        if self._is_read and worker not in self._workers:
            self._add_worker(worker)

    def _add_worker(self, address: str) -> None:
        self._workers[address] = self._n_workers
        self._n_workers += 1
        self._joined.append(self._worker_row(address))

    def _worker_row(self, address: str) -> list[Any]:
        state = self._scheduler.workers[address]
        gpu = (getattr(state, "extra", None) or {}).get("gpu") or {}
        gpu_bytes = gpu.get("memory-total")
        return [
            time(),
            self._workers[address],
            str(state.name),
            address,
            state.nthreads,
            state.memory_limit or 0,
            str(gpu.get("name") or "") if gpu else None,
            gpu_bytes if isinstance(gpu_bytes, int) else -1,
        ]

    def remove_worker(self, scheduler: Any, worker: str, **kwargs: Any) -> None:
        """A worker has gone."""
        if self._is_read and worker in self._workers:
            reason = str(kwargs.get("stimulus_id") or "").partition("-1")[0].replace("-", " ") or "it has left"
            self._event("left", time(), self._workers.pop(worker), reason)

    def log_event(self, topic: Any, msg: Any) -> None:
        """Something was told under a topic: what tasks print is shown, and workers that pause."""
        if not self._is_read or not isinstance(msg, dict):
            return
        if topic in ("print", "warn"):
            text = " ".join(map(str, msg.get("args") or ())) or str(msg.get("message") or "")
            self._event("log", time(), -1, "stdout" if topic == "print" else "warning", text[:4_000])
        elif msg.get("action") == "worker-status-change" and topic in self._workers:
            text = f"the worker's status is {msg.get('status')!s}, after {msg.get('prev-status')!s}"
            self._event("log", time(), self._workers[topic], "info", text)

    # Samples

    def _sample(self, now_s: float) -> None:
        self._sampled_s = now_s
        rows: list[Any] = []
        running: list[Any] = []
        for address, number in self._workers.items():
            worker = self._scheduler.workers.get(address)
            if worker is None or not worker.metrics:
                continue
            told = worker.metrics
            spilled, gpu, pool = told.get("spilled_bytes") or {}, told.get("gpu"), told.get("rmm") or {}
            n_executing = (told.get("task_counts") or {}).get("executing", len(worker.executing))
            rows.append(
                [
                    number,
                    told.get("cpu", 0.0),
                    told.get("memory", 0),
                    max(worker.nbytes - spilled.get("memory", 0), 0),
                    spilled.get("disk", 0),
                    n_executing,
                    max(len(worker.processing) - n_executing, 0),
                    getattr(worker.status, "name", "") == "paused",
                    None if not gpu else [_number(gpu.get("utilization")), _number(gpu.get("memory-used"))],
                    [_number(pool.get("rmm-used")), _number(pool.get("rmm-total"))],
                ]
            )
            for task, lasts_s in worker.executing.items():
                layer = self._layers.get(task.key) or self._old.get(task.group.name)
                if layer is not None and len(running) < MOST_RUNNING:
                    running.append([number, layer.number, task.key, worker.last_seen - lasts_s])
        own = self._scheduler.monitor.recent()
        late_s = getattr(self._scheduler, "_tick_interval_observed", 0.0) - getattr(
            self._scheduler, "_tick_interval", 0.0
        )
        self._events.append(
            ("samples", now_s, rows, running, own.get("cpu", 0.0), own.get("memory", 0), max(late_s, 0.0))
        )
        self._note_log(now_s)

    def _note_log(self, now_s: float) -> None:
        """Tell the warnings of the scheduler's own log."""
        kept = getattr(getattr(self._scheduler, "_deque_handler", None), "deque", ())
        new: list[tuple[float, str, str]] = []
        for record in reversed(kept):
            if record.created <= now_s - SAMPLE_S or len(new) >= 100:
                break
            if record.levelno >= logging.WARNING and record.created <= now_s:
                new.append((record.created, record.levelname.lower(), record.getMessage()[:4_000]))
        for created_s, level, text in reversed(new):
            self._events.append(("log", created_s, -1, level, text))

    # Batches

    def _has_news(self) -> bool:
        return bool(self._rows or self._events or self._joined or self._changed) or time() >= self._sampled_s + SAMPLE_S

    def _seal(self) -> None:
        """Make a batch of what has happened, and forget the oldest if there are too many."""
        now_s = time()
        if now_s >= self._sampled_s + SAMPLE_S:
            if max(self._readers.values(), default=0.0) < now_s - IDLE_S:
                self._readers.clear()
                self._forget()
                return
            self._sample(now_s)
        rows, self._rows = self._rows, []
        joined, self._joined = self._joined, []
        events, self._events = self._events, []
        changed, self._changed = self._changed, set()
        batch = _pack([now_s, joined, *self._standing(changed, now_s), rows, events])
        self._batches.append(batch)
        self._nbytes += len(batch)
        self._next += 1
        while self._nbytes > MOST_BYTES and len(self._batches) > 1:
            self._nbytes -= len(self._batches.popleft())
            self._first += 1

    def _standing(self, layers: Any, now_s: float) -> list[list[Any]]:
        """Return runs, layers and progress as rows."""
        layers = sorted(layers, key=_number_of)
        for layer in layers:
            layer.count()
        runs = {layer.run.number: layer.run for layer in layers if layer.run is not None}
        announced = [self._layer_row(layer) for layer in layers if layer.told != layer.total]
        progress = [[layer.number, *layer.counts, max(layer.held, 0)] for layer in layers]
        return [[run.row(now_s) for run in runs.values()], announced, progress]

    def _layer_row(self, layer: _Layer) -> list[Any]:
        layer.told = layer.total
        group = self._scheduler.task_groups.get(layer.group)
        names = [other.name for other in getattr(group, "dependencies", ()) if other is not group]
        inputs = sorted(self._newest[name].number for name in names if name in self._newest)
        return [
            layer.number,
            layer.group,
            layer.key,
            layer.total,
            -1 if layer.run is None else layer.run.number,
            inputs,
        ]

    def _snapshot(self) -> bytes:
        """Return a batch that says how things stand."""
        layers = {*self._layers.values(), *self._old.values()}
        for layer in layers:
            layer.told = -1
            if layer.run is not None:
                layer.run.is_told = False
        joined = [self._worker_row(address) for address in self._workers if address in self._scheduler.workers]
        return _pack([time(), joined, *self._standing(layers, time()), [], []])


def _number_of(layer: _Layer) -> int:
    return layer.number


def _number(value: Any) -> Any:
    return value if type(value) in (int, float) else None


def _pack(batch: list[Any]) -> bytes:
    packed: bytes = msgpack.packb(batch, default=repr, unicode_errors="backslashreplace")
    return packed


def dask_setup(scheduler: Any) -> None:
    """Called where this module is a preload of the scheduler."""
    with open(__file__, "rb") as file:
        plugin = MetricsPlugin("glassloom-metrics-" + sha256(file.read()).hexdigest()[:12], stays=True)
    plugin._scheduler = scheduler
    scheduler.add_plugin(plugin, name=plugin.name, idempotent=True)
    scheduler.handlers[plugin.name] = plugin.read
    scheduler.handlers[plugin.name + "-run"] = plugin.note_run

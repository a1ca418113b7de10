"""What the head measures of the machine's GPUs: once a second, in threads of its own, as drivers may take their time, or hang."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Mapping
from typing import Any

from glassloom_metrics.gpu_messages import GpuDevices, gpu_devices

from glassloom._supervision import Crash, start_thread
from glassloom.head.metrics_writer import MetricsWriter
from glassloom.protocol.clock import Clock
from glassloom.sampling.nvml import DeviceLost, DeviceReading, NvmlSampler, NvmlUnavailable, processes_in
from glassloom.sampling.nvml_session import open_nvml

SAMPLE_S = 1.0
REFRESH_S = 60.0
"""How often it is looked which devices there are."""
DEADLINE_S = 10.0
"""A driver that hasn't answered for so long is said to be silent."""
BEGIN_DEADLINE_S = 60.0
"""The same for opening NVML: without persistence mode the driver wakes all devices first."""


class GpuSampling:
    """Measures all devices, and writes what it finds. One that doesn't answer holds up neither the others nor the head.

    Parameters
    ----------
    session
        The file of a recorded NVML session; None: the devices of this machine.
    workers_by_pid
        Returns the number of the worker of each process that is one.
    deadline_s, begin_deadline_s
        See `DEADLINE_S` and `BEGIN_DEADLINE_S`.
    """

    def __init__(
        self,
        clock: Clock,
        metrics_writer: MetricsWriter,
        session: str | None,
        workers_by_pid: Callable[[], Mapping[int, int]],
        *,
        period_s: float = SAMPLE_S,
        deadline_s: float = DEADLINE_S,
        begin_deadline_s: float = BEGIN_DEADLINE_S,
    ) -> None:
        self._clock = clock
        self._metrics_writer = metrics_writer
        self._session = session
        self._workers_by_pid = workers_by_pid
        self._period_s = period_s
        self._deadline_s = deadline_s
        self._begin_deadline_s = begin_deadline_s
        self._waiting: dict[int | None, _Round] = {}
        """Rounds that were given up because of a device, or (None) while looking which devices there are."""
        self._refreshed_s = -REFRESH_S
        self._told: GpuDevices | None = None
        self._has_told_processes = False

    async def run(self) -> None:
        """Measure until cancelled; return if there is nothing to measure, after having said why."""
        opening = _InThread("GPU sampler", self._open)
        try:
            if not await opening.ends_within(self._begin_deadline_s):
                self._tell_problem(f"NVML has not answered for {self._begin_deadline_s:g} s; it is still waited for")
            sampler = await opening.result
        except NvmlUnavailable as problem:
            self._tell_problem(f"{problem}.")
            return
        while True:
            began_s = time.monotonic()
            await self._sample(sampler)
            await asyncio.sleep(max(self._period_s - (time.monotonic() - began_s), 0.0))

    def _open(self) -> NvmlSampler:
        sampler = NvmlSampler(open_nvml(self._session))
        sampler.begin()
        return sampler

    async def _sample(self, sampler: NvmlSampler) -> None:
        self._welcome_back(sampler)
        at_s = self._clock.now_s()
        is_refresh = time.monotonic() - self._refreshed_s >= REFRESH_S and None not in self._waiting
        if is_refresh:
            self._refreshed_s = time.monotonic()
        now = _Round(sampler, at_s, is_refresh=is_refresh, skip=[one for one in self._waiting if one is not None])
        while not await now.call.ends_within(max(self._deadline_s - now.waited_s, 0.0)):
            if now.waited_s >= self._deadline_s:
                self._give_up(sampler, now)
                break
        else:
            now.call.result.result()  # what it has raised is a fault of our own
        self._tell(sampler, now)

    def _give_up(self, sampler: NvmlSampler, now: _Round) -> None:
        """Go on without the device that a round waits for."""
        now.is_given_up = True
        self._waiting[now.device] = now
        words = f"NVML has not answered for {self._deadline_s:g} s"
        if now.device is None:
            self._metrics_writer.log("warning", f"GPUs: {words} when asked which devices there are")
            if self._told is None:
                self._tell_problem(f"{words} when asked which devices there are; it is still waited for.")
        else:
            sampler.fall_silent(now.device, words, self._clock.now_s())

    def _welcome_back(self, sampler: NvmlSampler) -> None:
        """Go on with devices that have answered after all."""
        for device in [device for device, round_ in self._waiting.items() if round_.call.result.done()]:
            self._waiting.pop(device).call.result.exception()  # whatever it is: nothing of this round is wanted
            if device is not None:
                sampler.hear(device, self._clock.now_s())

    def _tell(self, sampler: NvmlSampler, now: _Round) -> None:
        """Write what a round has found, also one that was given up; the table of devices only if it is another."""
        notes = sampler.take_notes()
        for note in notes:
            self._metrics_writer.log("warning", note)
        table = sampler.table(now.at_s)
        if not table.ids and notes:
            self._tell_problem(f"{'; '.join(notes)}.")
        elif table.ids and (self._told is None or _differ(self._told, table)):
            self._told = table
            self._metrics_writer.gpus(table)
        readings = dict(now.readings)
        if not readings:
            return
        samples, processes = sampler.messages(now.at_s, readings, workers=self._workers_by_pid())
        if processes.pids or self._has_told_processes:
            self._metrics_writer.gpus(processes)
        self._has_told_processes = bool(processes.pids)
        self._metrics_writer.gpus(samples)  # after them: readers know by then whose memory it is

    def _tell_problem(self, words: str) -> None:
        self._metrics_writer.gpus(gpu_devices(self._clock.now_s(), "", words, []))


def _differ(first: GpuDevices, second: GpuDevices) -> bool:
    """Tell whether two tables say different things, whenever that was."""
    return any(getattr(first, name) != getattr(second, name) for name in first.__struct_fields__ if name != "at_s")


class _InThread:
    """A call in a thread of its own, which nothing waits for when the process ends: a driver may never answer.

    Attributes
    ----------
    result
        What it returns or raises, in this event loop.
    """

    def __init__(self, name: str, function: Callable[[], Any]) -> None:
        self._loop = asyncio.get_running_loop()
        self.result: asyncio.Future[Any] = self._loop.create_future()
        self._function = function
        start_thread(name, self._run, on_crash=self._crashed)

    def _run(self) -> None:
        value = self._function()
        self._post(lambda: self.result.set_result(value))

    def _crashed(self, crash: Crash) -> None:
        self._post(lambda: self.result.set_exception(crash.error))

    def _post(self, settle: Callable[[], None]) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has ended meanwhile
            self._loop.call_soon_threadsafe(lambda: None if self.result.done() else settle())

    async def ends_within(self, timeout_s: float) -> bool:
        """Wait for its end, but not for long; tell whether it has ended."""
        await asyncio.wait([self.result], timeout=timeout_s)
        return self.result.done()


class _Round:
    """One measurement of all devices, one after the other, in a thread.

    Attributes
    ----------
    device
        The device that is being asked; None: which devices there are.
    is_given_up
        Set if it has waited for too long: then it ends once it gets its answer.
    """

    def __init__(self, sampler: NvmlSampler, at_s: float, *, is_refresh: bool, skip: list[int]) -> None:
        self.at_s = at_s
        self.device: int | None = None
        self.is_given_up = False
        self.readings: dict[int, DeviceReading] = {}
        self._sampler = sampler
        self._is_refresh = is_refresh
        self._skip = skip
        self._began_s = time.monotonic()
        self.call = _InThread("GPU sampler", self._run)

    @property
    def waited_s(self) -> float:
        """How long the device that is being asked has been."""
        return time.monotonic() - self._began_s

    def _run(self) -> None:
        sampler = self._sampler
        if self._is_refresh:
            sampler.refresh(self.at_s, self._skip)
        for device in sampler.ids():
            if self.is_given_up:
                return
            self.device, self._began_s = device, time.monotonic()
            try:
                reading = sampler.read(device, self.at_s)
            except DeviceLost:
                continue
            if not self.is_given_up:
                self.readings[device] = reading
        for pid in processes_in(self.readings):
            sampler.process_name(pid)

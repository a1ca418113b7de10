"""`CudaDevice`: a worker's NVIDIA device, through CuPy, cuDF, RMM and the CUDA runtime. See `glassloom.devices.device.Device`.

CUDA libraries are imported inside functions here and in `glassloom.devices.cuda_process` alone: nothing else of the engine loads them.
"""

from __future__ import annotations

import pickle
import sys
import threading
import weakref
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np

from glassloom.devices.cuda_ipc import close_memory, exported_memory, open_memory
from glassloom.devices.cuda_options import CudaOptions
from glassloom.devices.cuda_process import prepare_process
from glassloom.devices.device import DeviceIdentity
from glassloom.errors import DataLost

PINNED_BYTES = 2**30
"""Host memory that may be pinned for copies at one time; what is beyond goes to ordinary memory, at about half the speed."""
_MOST_PENDING = 1000
"""Measurements of tasks that the device may be behind; older ones are dropped."""


@dataclass(frozen=True)
class HostArray:
    """A CuPy array on the host."""

    array: np.ndarray[Any, Any]

    @property
    def nbytes(self) -> int:
        """Bytes of host memory."""
        return self.array.nbytes


@dataclass(frozen=True)
class HostFrame:
    """A cuDF frame, series or index on the host, as cuDF itself writes it: nulls, categories and types as they were."""

    kind: type
    header: Any
    buffers: tuple[np.ndarray[Any, Any], ...]

    @property
    def nbytes(self) -> int:
        """Bytes of host memory."""
        return sum(buffer.nbytes for buffer in self.buffers)


class CudaDevice:
    """The device of this process, which sees no other one.

    Parameters
    ----------
    options
        Which it is, and what was set up for it.
    """

    def __init__(self, options: CudaOptions) -> None:
        import cupy

        self._cupy = cupy
        self._options = options
        self.out_of_memory: tuple[type[BaseException], ...] = (MemoryError,)  # CuPy's own is one, and RMM raises it
        with cupy.cuda.Device(0):
            free, total = cupy.cuda.runtime.memGetInfo()
        bus_id = str(cupy.cuda.Device(0).pci_bus_id)
        self.identity = DeviceIdentity("cuda", options.uuid, options.index, options.name, bus_id)
        self.total_bytes = int(total)
        self.limit_bytes = self.total_bytes if options.limit_bytes is None else min(options.limit_bytes, int(total))
        self._kinds: dict[type, bool] = {}
        self._pinned = _PinnedBudget(PINNED_BYTES)
        self.timer = EventTimer(cupy.cuda)

    # Memory

    def used(self) -> int:
        pool = self._cupy.get_default_memory_pool().used_bytes()
        return int(pool) + self._rmm_bytes()

    def pool(self) -> int:
        held = int(self._cupy.get_default_memory_pool().total_bytes())
        return held + max(self._rmm_bytes(), self._rmm_pool_bytes())

    def free(self) -> int:
        return int(self._cupy.cuda.runtime.memGetInfo()[0])

    def free_cached(self) -> None:
        self._cupy.get_default_memory_pool().free_all_blocks()
        self._cupy.get_default_pinned_memory_pool().free_all_blocks()

    def synchronize(self) -> None:
        self._cupy.cuda.runtime.deviceSynchronize()

    def _rmm_bytes(self) -> int:
        """Return what libraries have taken from RMM, as far as it counts."""
        for resource in self._resources():
            counts = getattr(resource, "allocation_counts", None)
            if counts is not None:  # a mapping in older versions
                return int(counts["current_bytes"] if isinstance(counts, Mapping) else counts.current_bytes)
        return 0

    def _rmm_pool_bytes(self) -> int:
        """Return how much RMM's pool has taken from the device."""
        sizes = [resource.pool_size() for resource in self._resources() if hasattr(resource, "pool_size")]
        return int(sizes[0]) if sizes else 0

    def _resources(self) -> Iterator[Any]:
        """Yield RMM's memory resources, from the one that libraries ask to the one that asks CUDA."""
        rmm = sys.modules.get("rmm")
        resource = None if rmm is None else rmm.mr.get_current_device_resource()
        while resource is not None:
            yield resource
            resource = getattr(resource, "upstream_mr", None)

    # Values

    def owns(self, value: Any) -> bool:
        kind = type(value)
        found = self._kinds.get(kind)
        if found is None:
            found = self._kinds[kind] = kind.__module__.partition(".")[0] in ("cupy", "cupyx", "cudf") and (
                isinstance(value, self._cupy.ndarray) or _is_frame(value)
            )
        return found

    def nbytes(self, value: Any) -> int:
        if isinstance(value, self._cupy.ndarray):
            base = value if value.base is None else value.base  # a view keeps all that it is a view of
            return int(base.nbytes)
        used = value.memory_usage(deep=True)
        return int(used.sum() if hasattr(used, "sum") else used)

    def to_host(self, value: Any) -> HostArray | HostFrame:
        if isinstance(value, self._cupy.ndarray):
            order = "F" if value.flags.f_contiguous and not value.flags.c_contiguous else "C"
            host = self._host_memory(value.shape, value.dtype, order)
            self._cupy.asnumpy(value, order=order, out=host)
            return HostArray(host)
        header, buffers = value.host_serialize()
        return HostFrame(type(value), header, tuple(np.frombuffer(one, np.uint8) for one in buffers))

    def to_device(self, form: HostArray | HostFrame) -> Any:
        value = restored(form)
        self._cupy.cuda.get_current_stream().synchronize()  # the host's copy may go now
        return value

    def _host_memory(self, shape: tuple[int, ...], dtype: Any, order: str) -> np.ndarray[Any, Any]:
        """Return an array for a copy: pinned, which the device writes to directly, as long as not much is."""
        nbytes = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
        if not nbytes or not self._pinned.take(nbytes):
            return np.empty(shape, dtype, order=order)  # type: ignore[call-overload]
        import cupyx

        try:
            memory = cupyx.empty_pinned(shape, dtype, order=order)
        except (MemoryError, self._cupy.cuda.runtime.CUDARuntimeError):  # the system lets no more be pinned
            self._pinned.give(nbytes)
            return np.empty(shape, dtype, order=order)  # type: ignore[call-overload]
        weakref.finalize(memory, self._pinned.give, nbytes).atexit = False
        found: np.ndarray[Any, Any] = memory
        return found

    # Between processes

    def export(self, value: Any) -> bytes | None:
        if not isinstance(value, self._cupy.ndarray) or not value.flags.c_contiguous or not value.nbytes:
            return None
        self._cupy.cuda.get_current_stream().synchronize()  # the other process doesn't see this one's stream
        memory = exported_memory(self._cupy.cuda.runtime, int(value.data.ptr))
        return None if memory is None else pickle.dumps((self.identity.uuid, memory, value.shape, value.dtype.str))

    def fetch(self, handle: bytes) -> Any:
        uuid, memory, shape, dtype = pickle.loads(handle)
        if uuid != self.identity.uuid:
            raise DataLost(f"a result is on device {uuid}, which this worker on {self.identity.uuid} doesn't see")
        runtime = self._cupy.cuda.runtime
        try:
            pointer = open_memory(runtime, memory)
        except runtime.CUDARuntimeError as error:
            raise DataLost(f"another process's memory on {uuid} can't be opened: {error}") from error
        try:
            nbytes = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
            unowned = self._cupy.cuda.UnownedMemory(pointer + memory.offset, nbytes, self)
            there = self._cupy.ndarray(shape, dtype, self._cupy.cuda.MemoryPointer(unowned, 0))
            here = there.copy()
            self._cupy.cuda.get_current_stream().synchronize()
        finally:
            close_memory(runtime, pointer)
        return here

    # Measuring

    @contextmanager
    def task_range(self, key: str) -> Iterator[None]:
        """Mark the task in profilers such as Nsight Systems, and measure its time on the device."""
        with self._marked(key):
            began = self.timer.begin()
            try:
                yield
            except BaseException:
                with suppress(self._cupy.cuda.runtime.CUDARuntimeError):  # what the task has raised says more
                    self.timer.end(key, began)
                raise
            self.timer.end(key, began)

    @contextmanager
    def _marked(self, key: str) -> Iterator[None]:
        nvtx = self._cupy.cuda.nvtx
        if not hasattr(nvtx, "RangePush"):  # CuPy was built without it
            yield
            return
        nvtx.RangePush(key)
        try:
            yield
        finally:
            nvtx.RangePop()


class EventTimer:
    """Time of tasks on the device, by CUDA events on the stream of the thread that runs them. Waits for nothing.

    Parameters
    ----------
    cuda
        The module `cupy.cuda`.
    """

    def __init__(self, cuda: Any) -> None:
        self._cuda = cuda
        self._pending: deque[tuple[str, Any, Any]] = deque(maxlen=_MOST_PENDING)
        self._lock = threading.Lock()

    def begin(self) -> Any:
        """Return the event that says when a task begins."""
        event = self._cuda.Event()
        event.record()
        return event

    def end(self, key: str, began: Any) -> None:
        """Note that a task has handed its last work to the device."""
        ended = self._cuda.Event()
        ended.record()
        with self._lock:
            self._pending.append((key, began, ended))

    def take(self) -> list[tuple[str, float]]:
        """Return keys and seconds of the tasks that the device has finished since the last time."""
        found = []
        with self._lock:
            while self._pending and self._pending[0][2].done:
                key, began, ended = self._pending.popleft()
                found.append((key, self._cuda.get_elapsed_time(began, ended) / 1000))
        return found


class _PinnedBudget:
    """How much host memory is pinned."""

    def __init__(self, limit_bytes: int) -> None:
        self._left = limit_bytes
        self._lock = threading.RLock()  # finalisers of arrays give back wherever the garbage collector happens to run

    def take(self, nbytes: int) -> bool:
        """Take bytes if there are so many."""
        with self._lock:
            if nbytes > self._left:
                return False
            self._left -= nbytes
            return True

    def give(self, nbytes: int) -> None:
        """Give bytes back."""
        with self._lock:
            self._left += nbytes


def _is_frame(value: Any) -> bool:
    """Tell whether it is one of cuDF's frames, series or indexes. If it is, cuDF is loaded."""
    cudf = sys.modules.get("cudf")
    return cudf is not None and isinstance(value, (cudf.DataFrame, cudf.Series, cudf.Index))


def restored(form: HostArray | HostFrame) -> Any:
    """Return what `CudaDevice.to_host` has copied, on the current device of a process that needn't have opened one: a client's."""
    if isinstance(form, HostFrame):
        kind: Any = form.kind
        return kind.host_deserialize(form.header, [one.data for one in form.buffers])
    import cupy

    order = "F" if form.array.flags.f_contiguous and not form.array.flags.c_contiguous else "C"
    return cupy.array(form.array, order=order)


def open_device(name: str, settings: Mapping[str, Any]) -> CudaDevice:
    """Return the device of a UUID, after making this process its own.

    Parameters
    ----------
    settings
        `CudaOptions` as plain data by UUID.
    """
    options = msgspec.convert(settings[name], CudaOptions)
    prepare_process(options)
    return CudaDevice(options)

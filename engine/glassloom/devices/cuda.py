"""`CudaDevice`: a worker's NVIDIA device, through CuPy, cuDF, RMM and the CUDA runtime. See `glassloom.devices.device.Device`.

CUDA libraries are imported inside functions here and in `glassloom.devices.cuda_process` alone: nothing else of the engine loads them.
"""

from __future__ import annotations

import math
import pickle
import sys
import threading
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
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


_CUDA_OUT_OF_MEMORY = 2
"""``cudaErrorMemoryAllocation``."""
_RMM_OUT_OF_MEMORY = "std::bad_alloc: "
"""How the text of RMM's errors begins (``rmm::bad_alloc``, ``rmm::out_of_memory``); what comes next says which memory, and why."""


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
        with cupy.cuda.Device(0):
            free, total = cupy.cuda.runtime.memGetInfo()
        bus_id = str(cupy.cuda.Device(0).pci_bus_id)
        self.identity = DeviceIdentity("cuda", options.uuid, options.index, options.name, bus_id)
        self.total_bytes = int(total)
        self.limit_bytes = self.total_bytes if options.limit_bytes is None else min(options.limit_bytes, int(total))
        self._kinds: dict[type, bool] = {}
        self._pinned = _PinnedBudget(PINNED_BYTES)

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

    def is_out_of_memory(self, error: BaseException) -> bool:
        cuda = self._cupy.cuda
        if isinstance(error, cuda.memory.OutOfMemoryError):
            return True
        if isinstance(
            error, cuda.runtime.CUDARuntimeError
        ):  # of what allocates without CuPy's pool, such as a module that is loaded
            return getattr(error, "status", None) == _CUDA_OUT_OF_MEMORY
        # RMM raises Python's own; C++ on the host says no more than "std::bad_alloc", and Python nothing.
        return type(error) is MemoryError and str(error).startswith(_RMM_OUT_OF_MEMORY)

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
        used = value.memory_usage()  # all of it; asking for "deep" is a warning of some indexes
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
    def task_range(self, key: str) -> Iterator[EventSpan]:
        """Mark the task by its key in profilers such as Nsight Systems, and measure its time on the device."""
        with self._marked(key):
            span = EventSpan(self._cupy.cuda)
            try:
                yield span
            finally:
                span.end()

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


class EventSpan:
    """The time of one task on the device, by CUDA events on the stream of the thread that runs it. Waits for nothing.

    An event is reached when the device has done all that was handed to the stream before it. So the time is that from when the
    device came to the task until it had done the last of its work; also while it waited for the thread to hand it more.

    Parameters
    ----------
    cuda
        The module `cupy.cuda`.
    """

    def __init__(self, cuda: Any) -> None:
        self._cuda = cuda
        self._failed = False
        self._ended: Any = None
        self._began = cuda.Event()
        self._began.record()

    def end(self) -> None:
        """Note that the task has handed its last work to the device. Raises nothing: what the task has raised says more."""
        try:
            ended = self._cuda.Event()
            ended.record()
            self._ended = ended
        except self._cuda.runtime.CUDARuntimeError:
            self._failed = True

    def seconds(self) -> float | None:
        """Return how long it took; None as long as the device isn't done with it, NaN if it doesn't answer."""
        if self._failed:
            return math.nan
        try:
            if self._ended is None or not self._ended.done:
                return None
            return float(self._cuda.get_elapsed_time(self._began, self._ended)) / 1000
        except self._cuda.runtime.CUDARuntimeError:
            return math.nan


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

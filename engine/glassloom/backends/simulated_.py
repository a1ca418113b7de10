"""Chunks of a simulated device: arrays that behave as CuPy's do on a GPU, computed by NumPy in host memory.

They can be read by the host only through an explicit copy (`asnumpy`, `SimulatedArray.get`), don't mix with NumPy's
arrays, and take memory of a `SimulatedMemory`, which counts every copy and byte and is full at its limit. What the engine
does with devices is tested with them where there is none.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from glassloom.backends import cupy_gaps, numpy_
from glassloom.backends.sizeof import register_sizeof

ALIGNMENT = 256
"""What is allocated is a multiple of this, as on a GPU."""


class SimulatedOutOfMemory(MemoryError):
    """The simulated device has no room."""


class SimulatedDeviceError(RuntimeError):
    """The simulated device can't do this, or there is none in this process."""


class SimulatedMemory:
    """The memory of a simulated device, as one process has it. Thread-safe.

    Attributes
    ----------
    total_bytes
        How much there is.
    used_bytes, peak_bytes
        How much arrays take now, and took at most.
    allocated_bytes
        How much was ever allocated.
    cached_bytes
        Freed memory that the allocator keeps for later ones.
    to_host, to_device
        How many copies there were to and from the host, and their bytes.
    """

    def __init__(self, total_bytes: int) -> None:
        self.total_bytes = total_bytes
        self.used_bytes = 0
        self.peak_bytes = 0
        self.allocated_bytes = 0
        self.cached_bytes = 0
        self.to_host = [0, 0]
        self.to_device = [0, 0]
        self._lock = threading.RLock()  # arrays are freed wherever the garbage collector runs, also in here

    def allocate(self, nbytes: int) -> None:
        """Take memory; raise SimulatedOutOfMemory if there isn't so much."""
        with self._lock:
            if self.used_bytes + nbytes > self.total_bytes:
                raise SimulatedOutOfMemory(
                    f"out of memory allocating {nbytes} bytes: {self.used_bytes} of {self.total_bytes} are used"
                )
            self.used_bytes += nbytes
            self.allocated_bytes += nbytes
            self.peak_bytes = max(self.peak_bytes, self.used_bytes)
            self.cached_bytes = min(max(0, self.cached_bytes - nbytes), self.total_bytes - self.used_bytes)

    def free(self, nbytes: int) -> None:
        """Give memory back to the allocator, which keeps it."""
        with self._lock:
            self.used_bytes -= nbytes
            self.cached_bytes += nbytes

    def free_cached(self) -> None:
        """Let the allocator give back what it keeps."""
        with self._lock:
            self.cached_bytes = 0

    def count(self, counter: list[int], nbytes: int) -> None:
        """Count a copy to or from the host."""
        with self._lock:
            counter[0] += 1
            counter[1] += nbytes


_memory: list[SimulatedMemory] = []


def set_memory(memory: SimulatedMemory | None) -> None:
    """Make this the memory of the process's simulated device; None: it has none any more."""
    _memory[:] = [] if memory is None else [memory]


def current_memory() -> SimulatedMemory | None:
    """Return the memory of the process's simulated device; None if it has none."""
    return _memory[0] if _memory else None


class _Allocation:
    """Memory of the device that an array and its views share; it is freed with the last of them."""

    __slots__ = ("memory", "nbytes")

    def __init__(self, wanted: int) -> None:
        self.memory: SimulatedMemory | None = None
        self.nbytes = -(-wanted // ALIGNMENT) * ALIGNMENT
        if not self.nbytes:
            return
        memory = current_memory()
        if memory is None:
            raise SimulatedDeviceError("this process has no simulated device")
        memory.allocate(self.nbytes)
        self.memory = memory

    def __del__(self) -> None:
        if self.memory is not None:
            self.memory.free(self.nbytes)


class SimulatedArray(NDArrayOperatorsMixin):
    """An array on the simulated device, with NumPy's interface."""

    __slots__ = ("__weakref__", "_allocation", "_data")

    def __init__(self, data: np.ndarray[Any, Any], allocation: _Allocation | None = None) -> None:
        if not cupy_gaps.has_dtype(data.dtype):
            raise ValueError(f"Unsupported dtype {data.dtype}")
        self._allocation = _Allocation(_root(data).nbytes) if allocation is None else allocation
        self._data = data

    def __repr__(self) -> str:
        return f"SimulatedArray(shape={self.shape}, dtype={self.dtype})"

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        raise TypeError("implicit conversion of an array on the device to NumPy; call .get() to copy it to the host")

    def __array_namespace__(self, *, api_version: str | None = None) -> Namespace:
        return xp

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return _on_device(getattr(ufunc, method), inputs, kwargs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return _on_device(function, args, kwargs)

    def __reduce__(self) -> tuple[Any, ...]:
        return (from_host, (self.get(),))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # the interfaces by which others read an array's memory
            raise AttributeError(name)
        found = getattr(self._data, name)
        if callable(found):
            return _Bound(found, self)
        return _wrapped(found, [self])

    def __len__(self) -> int:
        return len(self._data)

    def __iter__(self) -> Any:
        return (self[place] for place in range(len(self)))

    def __bool__(self) -> bool:
        return bool(self._item())

    def __int__(self) -> int:
        return int(self._item())

    def __index__(self) -> int:
        return int(self._item().__index__())

    def __float__(self) -> float:
        return float(self._item())

    def __complex__(self) -> complex:
        return complex(self._item())

    def __getitem__(self, key: Any) -> Any:
        return _on_device(np.ndarray.__getitem__, (self, key), {})

    def __setitem__(self, key: Any, value: Any) -> None:
        is_number = isinstance(value, np.ndarray) and not value.ndim  # which CuPy's ``fill`` takes
        self._data[_unwrapped(key, [])] = value if is_number else _unwrapped(value, [])

    @property
    def device_bytes(self) -> int:
        """How much memory of the device it keeps: all of the array that it is a view of."""
        return self._allocation.nbytes

    def get(self) -> np.ndarray[Any, Any]:
        """Return a copy on the host."""
        _count_copy("to_host", self._data.nbytes)
        return self._data.copy()

    def item(self) -> Any:
        """Return the only element, copied to the host."""
        return self._item()

    def tolist(self) -> Any:
        """Return the elements in lists, copied to the host."""
        return self.get().tolist()

    def tobytes(self, order: Any = "C") -> bytes:
        """Return the elements as bytes, copied to the host."""
        return self.get().tobytes(order)

    def _item(self) -> Any:
        _count_copy("to_host", self._data.nbytes)
        return self._data.item()


class _Bound:
    """A method of an array."""

    def __init__(self, method: Callable[..., Any], array: SimulatedArray) -> None:
        self._method, self._array = method, array

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return _on_device(self._method, args, kwargs, [self._array])


class Namespace:
    """NumPy's functions, of and for arrays on the simulated device; also those of one of its modules."""

    def __init__(self, module: Any) -> None:
        self._module = module
        self.__name__ = str(module.__name__).replace("numpy", "simulated", 1)

    def __repr__(self) -> str:
        return f"<namespace {self.__name__!r}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return (_namespace_named, (self.__name__,))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name in ("linalg", "fft"):
            return Namespace(getattr(self._module, name))
        if name in cupy_gaps.FUNCTIONS[self._module.__name__]:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}, as CuPy has none")
        found = getattr(self._module, name)
        if not callable(found) or isinstance(found, type):
            return found
        return _Function(found)

    def asarray(self, value: Any, dtype: Any = None, **options: Any) -> Any:
        """Return an array on the device: `value` itself, or copied from the host."""
        if isinstance(value, SimulatedArray):
            return _on_device(np.asarray, (value,), {"dtype": dtype, **options})
        return from_host(np.asarray(_readable(value), dtype=dtype, **options))

    def array(self, value: Any, dtype: Any = None, **options: Any) -> Any:
        """Return a new array on the device."""
        if isinstance(value, SimulatedArray):
            return _on_device(np.array, (value,), {"dtype": dtype, **options})
        return from_host(np.array(_readable(value), dtype=dtype, **options))

    def asnumpy(self, value: Any) -> np.ndarray[Any, Any]:
        """Return a copy on the host."""
        return value.get() if isinstance(value, SimulatedArray) else np.asarray(value)

    @property
    def random(self) -> Random:
        """The random numbers of the device."""
        return Random()


class _Function:
    """A function of NumPy's that takes and gives arrays on the device."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self.__name__ = str(getattr(function, "__name__", "function"))

    def __reduce__(self) -> tuple[Any, ...]:
        return (_Function, (self._function,))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return _on_device(self._function, args, kwargs)


class Random:
    """``simulated.random``: see `RandomState`."""

    def __reduce__(self) -> str | tuple[Any, ...]:
        return (Random, ())

    @property
    def RandomState(self) -> type[RandomState]:
        """The class that draws as `numpy.random.RandomState` does."""
        return RandomState


class _Drawing:
    """Draws on the device by a generator of NumPy's."""

    def __init__(self, generator: Any) -> None:
        self._generator = generator

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _DrawingFunction(getattr(self._generator, name))


class _DrawingFunction(_Function):
    """A method of a generator, whose parameters may be arrays of NumPy's: they are copied to the device."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return super().__call__(
            *map(_moved, args), **{name: value if name == "size" else _moved(value) for name, value in kwargs.items()}
        )


def _moved(value: Any) -> Any:
    return from_host(value) if isinstance(value, np.ndarray) else value


class RandomState(_Drawing):
    """Draws on the device what `numpy.random.RandomState` draws."""

    def __init__(self, seed: Any = None) -> None:
        super().__init__(np.random.RandomState(seed))


def namespace() -> Namespace:
    """Return the module that creates chunks."""
    return xp


def generator(sequence: np.random.SeedSequence) -> Any:
    """Return a random generator of a stream of its own."""
    return _Drawing(numpy_.generator(sequence))


def to_numpy(chunk: Any) -> np.ndarray[Any, Any]:
    """Return an array copied to the host."""
    found: np.ndarray[Any, Any] = chunk.get()
    return found


def from_host(data: np.ndarray[Any, Any]) -> SimulatedArray:
    """Return an array copied to the device."""
    made = SimulatedArray(np.array(data))
    _count_copy("to_device", made._data.nbytes)
    return made


def _count_copy(direction: str, nbytes: int) -> None:
    memory = current_memory()
    if memory is not None and nbytes:
        memory.count(getattr(memory, direction), nbytes)


def _root(data: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return the array whose memory this is a view of."""
    while isinstance(data.base, np.ndarray):
        data = data.base
    return data


def _on_device(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], arrays: Any = ()) -> Any:
    cupy_gaps.refuse(function, args, kwargs)
    found: list[SimulatedArray] = list(arrays)
    plain_args = [_unwrapped(arg, found) for arg in args]
    plain_kwargs = {name: _unwrapped(arg, found) for name, arg in kwargs.items()}
    return _wrapped(function(*plain_args, **plain_kwargs), found)


def _unwrapped(value: Any, found: list[SimulatedArray]) -> Any:
    """Return a value with NumPy's arrays in place of the device's, which are added to `found`."""
    if isinstance(value, SimulatedArray):
        found.append(value)
        return value._data
    if isinstance(value, np.ndarray):
        raise TypeError("unsupported type numpy.ndarray: copy it to the device first, with asarray")
    if type(value) in (list, tuple):
        return type(value)(_unwrapped(item, found) for item in value)
    return value


def _readable(value: Any) -> Any:
    """Return what is copied to the device: arrays of the host, and lists that may have arrays of the device in them."""
    return value if isinstance(value, np.ndarray) else _unwrapped(value, [])


def _wrapped(made: Any, arrays: list[SimulatedArray]) -> Any:
    """Return what NumPy made as arrays on the device; views share the memory of what they are views of."""
    if isinstance(made, np.generic):
        return SimulatedArray(np.asarray(made))  # reductions stay on the device
    if isinstance(made, np.ndarray):
        root = _root(made)
        of = next((array for array in arrays if _root(array._data) is root), None)
        return SimulatedArray(made, None if of is None else of._allocation)
    if isinstance(made, tuple) and hasattr(made, "_fields"):
        return type(made)(*(_wrapped(item, arrays) for item in made))
    if type(made) in (list, tuple):
        return type(made)(_wrapped(item, arrays) for item in made)
    return made


def _namespace_named(name: str) -> Any:
    found: Any = xp
    for part in name.split(".")[1:]:
        found = getattr(found, part)
    return found


xp = Namespace(np)
"""What `SimulatedArray.__array_namespace__` returns."""


@register_sizeof(SimulatedArray)
def _sizeof(array: SimulatedArray) -> int:
    return array.device_bytes

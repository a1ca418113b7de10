"""Runs a fused block on a device: chains of element-wise steps, with the reduction behind them, as one kernel each, other steps one by one."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from glassloom.array.tiling import kernels
from glassloom.array.tiling.device_kernels import FOLDS, Fold, KernelSource, Operation, Value, can_be_made, make_kernel
from glassloom.array.tiling.steps import TiledCast, TiledElementwise, TiledFirstStage
from glassloom.array.tiling.tiles import Spec
from glassloom.backends.cupy_ import KERNEL_THREADS as THREADS
from glassloom.expr.blockwise import Step

Launch = Callable[[KernelSource, int, tuple[Any, ...]], None]
"""Runs a kernel with so many blocks of `THREADS` threads and these arguments: arrays, NumPy's scalars and integers."""
MOST_BLOCKS = 1024
"""Blocks of a kernel; each goes through what is its share."""
_cached_kernel = lru_cache(maxsize=512)(make_kernel)


class DeviceRun:
    """One call of a program.

    Parameters
    ----------
    empty
        Makes an array of the device, given shape and type.
    owns
        Tells whether a value is an array of the device.
    """

    def __init__(
        self,
        n_inputs: int,
        steps: Sequence[Step],
        inputs: Sequence[Any],
        launch: Launch,
        empty: Callable[..., Any],
        owns: Callable[[Any], bool],
    ) -> None:
        self._first, self._steps = n_inputs, steps
        self._values: list[Any] = [*inputs, *[None] * len(steps)]
        self._launch, self._empty, self._owns = launch, empty, owns
        self._pending: dict[int, Operation | Fold] = {}
        self._inputs: list[int] = []
        self._scalars: list[Any] = []
        self._shape: tuple[int, ...] = ()
        self._last_use = {slot: number for number, step in enumerate(steps) for slot in step.slots}

    def run(self) -> Any:
        """Return the last value."""
        for number, step in enumerate(self._steps):
            slot = self._first + number
            if not self._join(slot, step):
                is_ready = isinstance(step.tiled, (TiledElementwise, TiledCast)) or any(
                    one in self._pending for one in step.slots
                )
                if is_ready:
                    self._flush(number)
                if not (is_ready and self._join(slot, step)):
                    self._values[slot] = step.function(*[self._values[one] for one in step.slots])
            if isinstance(self._pending.get(slot), Fold):
                self._flush(number + 1)
            if not self._pending:
                self._forget(number)
        self._flush(len(self._steps))
        return self._values[-1]

    def _forget(self, number: int) -> None:
        """Free what no later step reads."""
        for slot in {slot for step in self._steps[: number + 1] for slot in step.slots}:
            if self._last_use[slot] <= number:
                self._values[slot] = None

    # Collecting

    def _join(self, slot: int, step: Step) -> bool:
        """Add a step to those of the next kernel, if it can be one of them."""
        form = step.tiled
        if isinstance(form, TiledFirstStage):
            return self._join_fold(slot, step, form)
        specs = [self._spec(one) for one in step.slots]
        if not isinstance(form, (TiledElementwise, TiledCast)) or not specs or None in specs:
            return False
        spec = form.spec(specs)
        if spec is None or not math.prod(spec.shape) or (self._pending and spec.shape != self._shape):
            return False
        made = self._operation(form, step.slots, specs, spec)
        if made is None:
            return False
        self._pending[slot], self._shape = made, spec.shape
        return True

    def _spec(self, slot: int) -> Spec | None:
        pending = self._pending.get(slot)
        if isinstance(pending, Operation):
            return Spec(self._shape, np.dtype(pending.dtype))
        value = self._values[slot]
        return Spec(tuple(value.shape), np.dtype(value.dtype)) if self._owns(value) else None

    def _operation(self, form: Any, slots: Sequence[int], specs: Sequence[Any], spec: Spec) -> Operation | None:
        if isinstance(form, TiledCast):
            own_loop = (str(specs[0].dtype), str(spec.dtype))
            is_exact = (
                specs[0].dtype.kind != "f" or spec.dtype.kind in "fb"
            )  # C leaves open what floats beyond a whole number's range become
            if not is_exact or not can_be_made("cast", own_loop):
                return None
            return Operation("cast", (self._value(slots[0]),), own_loop)
        blocks = iter(zip(slots, specs, strict=True))
        operands: list[tuple[int | None, Any]] = []
        types: list[Any] = []
        for place, arg in enumerate(form.args):
            if place in form.places_of_blocks:
                one, own = next(blocks)
                operands.append((one, None))
                types.append(own.dtype)
            else:
                operands.append((None, arg))
                types.append(type(arg) if type(arg) in (int, float) else np.asarray(arg).dtype)
        loop = _loop(form.function, types, spec.dtype) if not form.kwargs else None
        name = getattr(form.function, "__name__", "")
        if loop is None or not can_be_made(name, loop):
            return None
        made = [
            self._scalar(arg, dtype) if one is None else self._value(one)
            for (one, arg), dtype in zip(operands, loop, strict=False)
        ]
        return None if None in made else Operation(name, tuple(each for each in made if each is not None), loop)

    def _join_fold(self, slot: int, step: Step, form: TiledFirstStage) -> bool:
        kernel, (operand,) = form.kernel, step.slots
        pending = self._pending.get(operand)
        if (
            not isinstance(kernel, kernels.Fold)
            or kernel.skips_nan
            or kernel.ufunc not in FOLDS
            or not isinstance(pending, Operation)
        ):
            return False
        if sorted(form.axes) != list(range(len(self._shape))):
            return False
        source = np.dtype(pending.dtype)
        with np.errstate(all="ignore"):
            dtype = str(kernel.first(np.ones((1,) * len(self._shape), source), form.axes).dtype)
        if not can_be_made("cast", (pending.dtype, dtype)) or dtype == "bool":
            return False
        self._pending[slot] = Fold(kernel.ufunc, self._value(operand), dtype)
        return True

    def _value(self, slot: int) -> Value:
        if slot in self._pending:
            return Value("step", list(self._pending).index(slot))
        if slot not in self._inputs:
            self._inputs.append(slot)
        return Value("in", self._inputs.index(slot))

    def _scalar(self, value: Any, dtype: str) -> Value | None:
        try:
            made = np.asarray(value).astype(dtype)[()]
        except (TypeError, ValueError, OverflowError):
            return None
        self._scalars.append(made)
        return Value("scalar", len(self._scalars) - 1)

    # Running

    def _flush(self, next_number: int) -> None:
        """Run what was collected, before the step of that number."""
        pending = list(self._pending)
        if len(pending) == 1:
            (slot,) = pending
            step = self._steps[slot - self._first]
            self._values[slot] = step.function(*[self._values[one] for one in step.slots])
        elif pending:
            self._run_kernel(pending, next_number)
        self._pending, self._inputs, self._scalars = {}, [], []

    def _run_kernel(self, pending: list[int], next_number: int) -> None:
        last = len(self._values) - 1
        operations = [made for made in self._pending.values() if isinstance(made, Operation)]
        folds = [(slot, made) for slot, made in self._pending.items() if isinstance(made, Fold)]
        fold = folds[0][1] if folds else None
        read_later = {one for step in self._steps[next_number:] for one in step.slots} | {last}
        outputs = [place for place, slot in enumerate(pending[: len(operations)]) if slot in read_later]
        arrays = [self._values[slot] for slot in self._inputs]
        is_plain = all(one.flags.c_contiguous and one.shape == self._shape for one in arrays)
        source = _cached_kernel(
            tuple(str(one.dtype) for one in arrays), tuple(str(one.dtype) for one in self._scalars), tuple(operations), tuple(outputs), fold,
            None if is_plain else len(self._shape),
        )  # fmt: skip
        size = math.prod(self._shape)
        n_blocks = min(MOST_BLOCKS, -(-size // THREADS))
        made = [self._empty(self._shape, operations[place].dtype) for place in outputs]
        arguments: list[Any] = [size, *([] if is_plain else self._shape)]
        for array in arrays:
            arguments += [array, *([] if is_plain else _strides(array, len(self._shape)))]
        parts = None if fold is None else self._empty((n_blocks,), fold.dtype)
        self._launch(source, n_blocks, (*arguments, *self._scalars, *made, *([] if parts is None else [parts])))
        for place, array in zip(outputs, made, strict=True):
            self._values[pending[place]] = array
        if fold is not None:
            method = {"add": "sum", "multiply": "prod", "minimum": "min", "maximum": "max"}[fold.ufunc]
            self._values[folds[0][0]] = getattr(parts, method)().reshape((1,) * len(self._shape))


def _strides(array: Any, ndim: int) -> list[int]:
    """Return by how many elements each axis of the result moves in an array that is broadcast to it."""
    own = [
        0 if length == 1 else stride // array.itemsize
        for length, stride in zip(array.shape, array.strides, strict=True)
    ]
    return [0] * (ndim - len(own)) + own


def _loop(function: Any, types: Sequence[Any], result: np.dtype[Any]) -> tuple[str, ...] | None:
    """Return the types in which NumPy makes an operation."""
    if function is np.where:
        return ("bool", str(result), str(result))
    if not isinstance(function, np.ufunc):
        return None
    try:
        found = function.resolve_dtypes((*types, None))
    except (TypeError, ValueError):
        return None
    return tuple(str(dtype) for dtype in found)

"""Runs a fused block on a device: draws, slices and chains of element-wise steps, with the reduction behind them, as one kernel each, other steps one by one.

What can be part of a kernel is *deferred* until a step needs it that can't. A kernel is then made for what that step needs, from the arrays and the draws on
which it stands (`glassloom.array.tiling.device_plan`). A reduction's kernel writes nothing but partial results: what later steps need of the same, they compute again, which
takes less than to write and to read it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from glassloom.array.tiling import kernels
from glassloom.array.tiling.device_kernels import FOLDS, TYPES, Fold, KernelSource, can_be_made, make_kernel
from glassloom.array.tiling.device_plan import Deferred, DeferredOperation, KernelPlan, plan_kernel
from glassloom.array.tiling.steps import (
    TiledCast,
    TiledElementwise,
    TiledFirstStage,
    TiledIndexedDraw,
    TiledNewAxes,
    TiledPermute,
    TiledSame,
    TiledSlice,
)
from glassloom.array.tiling.tiles import Spec
from glassloom.backends.cupy_ import KERNEL_THREADS as THREADS
from glassloom.expr.blockwise import Step

Launch = Callable[[KernelSource, int, tuple[Any, ...]], None]
"""Runs a kernel with so many blocks of `THREADS` threads and these arguments: arrays, NumPy's scalars and integers."""
MOST_BLOCKS = 1024
"""Blocks of a kernel; each goes through what is its share."""
MANY_RESULTS = 8192
"""From so many elements of a reduction's result on a thread may make each alone."""
SHORT_LINE = 64
"""Lines along the last axis of fewer elements don't keep the threads of a block busy."""
_SMALL = 2**31
_VIEWS = (TiledSlice, TiledPermute, TiledNewAxes, TiledSame)
_BLOCK = object()
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
        self._deferred: dict[int, Deferred] = {}

    def run(self) -> Any:
        """Return the last value."""
        last = self._first + len(self._steps) - 1
        for number, step in enumerate(self._steps):
            slot = self._first + number
            deferred = self._deferrable(step)
            if deferred is not None:
                self._deferred[slot] = deferred
                continue
            partial = self._first_stage(step.slots[0], step.tiled) if isinstance(step.tiled, TiledFirstStage) else None
            self._values[slot] = self._called(step, number) if partial is None else partial
            self._forget(number + 1, last)
        return self._value(last, len(self._steps))

    def _called(self, step: Step, number: int) -> Any:
        return step.function(*[self._value(slot, number) for slot in step.slots])

    def _forget(self, next_number: int, last: int) -> None:
        """Free what no later step needs."""
        todo = [last, *(slot for step in self._steps[next_number:] for slot in step.slots)]
        needed: set[int] = set()
        while todo:
            slot = todo.pop()
            if slot not in needed:
                needed.add(slot)
                todo += self._deferred[slot].slots if slot in self._deferred else ()
        self._deferred = {slot: deferred for slot, deferred in self._deferred.items() if slot in needed}
        self._values = [value if slot in needed else None for slot, value in enumerate(self._values)]

    # What kernels can make

    def _deferrable(self, step: Step) -> Deferred | None:
        """Return how a kernel makes a step's result; None if none does."""
        form = step.tiled
        if isinstance(form, TiledIndexedDraw):
            operands = [self._values[slot] for slot in step.slots]
            return _unless_empty(Deferred(form, step.slots, form.spec(operands), operands))
        if isinstance(form, _VIEWS):
            if step.slots[0] not in self._deferred:  # an array that is there already is viewed by its library
                return None
            operands = [self._deferred[step.slots[0]].spec, *(self._values[slot] for slot in step.slots[1:])]
            return _unless_empty(Deferred(form, step.slots, form.spec(operands), operands))
        return self._operation(form, step.slots) if isinstance(form, (TiledElementwise, TiledCast)) else None

    def _spec(self, slot: int) -> Spec | None:
        """Return what is known of a value; None if kernels can't read it."""
        if slot in self._deferred:
            return self._deferred[slot].spec
        value = self._values[slot]
        is_read = self._owns(value) and str(value.dtype) in TYPES
        return Spec(tuple(value.shape), np.dtype(value.dtype)) if is_read else None

    def _operation(self, form: TiledElementwise | TiledCast, slots: tuple[int, ...]) -> Deferred | None:
        specs = [self._spec(slot) for slot in slots]
        spec = form.spec(specs) if specs and None not in specs else None
        if spec is None:
            return None
        if isinstance(form, TiledCast):
            (own,) = specs
            loop: tuple[str, ...] | None = (str(own.dtype), str(spec.dtype)) if own is not None else None
            # C leaves open what floats beyond a whole number's range become
            is_exact = own is not None and (own.dtype.kind != "f" or spec.dtype.kind in "fb")
            name, args = "cast", [None]
        else:
            name, args = getattr(form.function, "__name__", ""), list(form.args)
            rest = iter(specs)
            types = []
            for place, arg in enumerate(args):
                if place in form.places_of_blocks:
                    types.append(next(rest).dtype)  # type: ignore[union-attr]
                    args[place] = None
                else:
                    types.append(type(arg) if type(arg) in (int, float) else np.asarray(arg).dtype)
            loop, is_exact = (None if form.kwargs else _loop(form.function, types, spec.dtype)), True
        if loop is None or not is_exact or not can_be_made(name, loop):
            return None
        scalars = _scalars(args, loop)
        if scalars is None:
            return None
        return _unless_empty(DeferredOperation(form, slots, spec, specs, name, loop, scalars))

    # Kernels

    def _value(self, slot: int, next_number: int) -> Any:
        """Return a value, which is computed if it was deferred. Steps from `next_number` on haven't run."""
        todo = [slot]
        while todo:
            wanted = todo[-1]
            if wanted not in self._deferred or self._is_made(wanted, next_number):
                todo.pop()
            else:  # it is too much for one kernel
                todo.append(self._middle_below(wanted))
        return self._values[slot]

    def _is_made(self, slot: int, next_number: int) -> bool:
        """Compute what was deferred, unless that takes several kernels."""
        deferred = self._deferred[slot]
        is_single = slot >= self._first and not any(one in self._deferred for one in deferred.slots)
        plan = None if is_single else plan_kernel([slot], deferred.spec.shape, self._deferred, self._values)
        if plan is not None:
            later = {one for step in self._steps[next_number:] for one in step.slots}
            self._run_elements(plan, [slot, *(one for one in plan.whole if one in later and one != slot)])
        elif is_single:
            self._values[slot] = self._called(self._steps[slot - self._first], next_number)
            del self._deferred[slot]
        return plan is not None or is_single

    def _middle_below(self, slot: int) -> int:
        """Return the one in the middle of all that was deferred and that a slot needs: draws and views only if there is nothing else."""
        needed: set[int] = set()
        todo = list(self._deferred[slot].slots)
        while todo:
            one = todo.pop()
            if one in self._deferred and one not in needed:
                needed.add(one)
                todo += self._deferred[one].slots
        computed = [one for one in needed if isinstance(self._deferred[one], DeferredOperation)]
        below = sorted(computed or needed)
        return below[len(below) // 2]

    def _run_elements(self, plan: KernelPlan, slots: list[int]) -> None:
        """Write what was deferred, all of the shape of the plan."""
        types = [str(self._deferred[slot].spec.dtype) for slot in slots]
        size = math.prod(plan.shape)
        made = [self._empty(plan.shape, dtype) for dtype in types]
        outputs = tuple((plan.whole[slot], dtype) for slot, dtype in zip(slots, types, strict=True))
        self._run(plan, min(MOST_BLOCKS, -(-size // THREADS)), [size], outputs, None, made)
        for slot, array in zip(slots, made, strict=True):
            self._values[slot] = array
            del self._deferred[slot]

    def _run(
        self, plan: KernelPlan, n_blocks: int, sizes: list[int], outputs: Any, fold: Fold | None, made: list[Any]
    ) -> None:
        is_plain = all(read.is_plain for read in plan.reads)
        source = _cached_kernel(
            tuple(str(array.dtype) for array in plan.arrays), tuple(draw.kind for draw in plan.draws), tuple(plan.reads),
            tuple(str(scalar.dtype) for scalar in plan.scalars), tuple(plan.operations), outputs, fold, len(plan.shape),
            sizes[0] < _SMALL,
        )  # fmt: skip
        arguments: list[Any] = [*sizes, *([] if is_plain else plan.shape), *plan.arrays]
        for draw in plan.draws:
            arguments += draw.words
        for read, places in zip(plan.reads, plan.places, strict=True):
            arguments += [] if read.is_plain else places
        self._launch(source, n_blocks, (*arguments, *plan.scalars, *made))

    # Reductions

    def _first_stage(self, operand: int, form: TiledFirstStage) -> Any:
        """Return a partial result by kernels of ours; None if the library of the array has to make it."""
        spec, kernel = self._spec(operand), form.kernel
        if spec is None or not spec.shape or not math.prod(spec.shape):
            return None
        if operand not in self._deferred and not kernel.makes_temporaries:
            return None
        with np.errstate(all="ignore"):
            sample = np.ones((1,) * len(spec.shape), spec.dtype)
            if isinstance(kernel, kernels.Fold) and kernel.ufunc in FOLDS:
                return self._folded(kernel, operand, form.axes, kernel.first(sample, form.axes).dtype)
            if isinstance(kernel, kernels.Mean) and not kernel.skips_nan:
                total = self._fold("add", operand, form.axes, kernel.first(sample, form.axes)[1].dtype)
                return None if total is None else (self._count(spec.shape, form.axes), total)
            if isinstance(kernel, kernels.Variance) and not kernel.skips_nan:
                return self._variance(kernel, operand, form.axes)
        return None

    def _folded(self, kernel: kernels.Fold, operand: int, axes: tuple[int, ...], dtype: Any) -> Any:
        spec = self._spec(operand)
        if kernel.skips_nan and spec is not None and spec.dtype.kind == "f":
            is_nan = self._added(np.isnan, [operand])
            identity = spec.dtype.type(getattr(np, kernel.ufunc).identity)
            clean = None if is_nan is None else self._added(np.where, [is_nan, operand], (_BLOCK, identity, _BLOCK))
            return None if clean is None else self._fold(kernel.ufunc, clean, axes, dtype)
        return self._fold(kernel.ufunc, operand, axes, dtype)

    def _variance(self, kernel: kernels.Variance, operand: int, axes: tuple[int, ...]) -> Any:
        """Return what `Variance.first` does. The distances from the mean are never written."""
        spec = self._spec(operand)
        total = self._fold("add", operand, axes, np.dtype(kernel.dtype))
        if total is None or spec is None:
            return None
        count = self._count(spec.shape, axes)
        mean = total / count
        self._values.append(mean)
        distance = self._added(np.subtract, [operand, len(self._values) - 1])
        square = None if distance is None else self._added(np.multiply, [distance, distance])
        squares = None if square is None else self._fold("add", square, axes, self._deferred[square].spec.dtype)
        return None if squares is None else (count, mean.astype(kernel.dtype), squares)

    def _added(self, function: Any, slots: list[int], args: tuple[Any, ...] | None = None) -> int | None:
        """Return the slot of one more operation; None if no kernel makes it. It is not a step's, and is forgotten as nothing else needs it."""
        form = TiledElementwise(function, args or (_BLOCK,) * len(slots), {}, _BLOCK)
        deferred = self._operation(form, tuple(slots))
        if deferred is None:
            return None
        self._values.append(None)
        self._deferred[len(self._values) - 1] = deferred
        return len(self._values) - 1

    def _count(self, shape: tuple[int, ...], axes: tuple[int, ...]) -> Any:
        count = self._empty(_kept(shape, axes), np.dtype(np.int64))
        count.fill(math.prod(shape[axis] for axis in axes))
        return count

    def _fold(self, ufunc: str, operand: int, axes: tuple[int, ...], dtype: Any) -> Any:
        """Return an operand reduced, with reduced axes of length 1; None if no kernel does that."""
        spec = self._spec(operand)
        if spec is None or str(dtype) == "bool" or not can_be_made("cast", (str(spec.dtype), str(dtype))):
            return None
        shape, axes = spec.shape, tuple(sorted(axes))
        plan = plan_kernel([operand], shape, self._deferred, self._values)
        if plan is None:
            return None
        reduced = math.prod(shape[axis] for axis in axes)
        kept = math.prod(shape) // reduced
        is_by_thread = kept >= MANY_RESULTS and (len(shape) - 1 not in axes or reduced < SHORT_LINE)
        splits = 1 if is_by_thread else min(-(-reduced // THREADS), max(1, MOST_BLOCKS // kept))
        n_blocks = min(MOST_BLOCKS, -(-kept // THREADS)) if is_by_thread else splits * min(kept, MOST_BLOCKS // splits)
        parts = self._empty((kept, splits), dtype)
        if axes != tuple(
            range(len(shape) - len(axes), len(shape))
        ):  # then threads don't go through the operand in C order
            plan.reads = [replace(read, is_plain=False) for read in plan.reads]
        fold = Fold(ufunc, plan.whole[operand], str(dtype), axes, is_by_thread)
        self._run(plan, n_blocks, [math.prod(shape), reduced, splits], (), fold, [parts])
        if splits > 1:
            method = {"add": "sum", "multiply": "prod", "minimum": "min", "maximum": "max"}[ufunc]
            # sums and products of short whole numbers would be longer ones, which don't wrap around as their parts have
            told = {"dtype": dtype} if ufunc in ("add", "multiply") else {}
            parts = getattr(parts, method)(axis=1, **told)
        return parts.reshape(_kept(shape, axes))


def _unless_empty(deferred: Deferred) -> Deferred | None:
    return deferred if deferred.spec is not None and math.prod(deferred.spec.shape) else None


def _kept(shape: tuple[int, ...], axes: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(1 if axis in axes else length for axis, length in enumerate(shape))


def _scalars(args: Sequence[Any], loop: Sequence[str]) -> list[Any] | None:
    """Return the scalars among operands in the types of the loop, None in place of blocks; None if one doesn't fit its type.

    NumPy compares whole numbers with any other rightly, and refuses to compute with one outside the range of the type.
    """
    made: list[Any] = []
    for arg, dtype in zip(args, loop, strict=False):
        if arg is None:
            made.append(None)
            continue
        try:
            scalar = np.asarray(arg)
            cast = scalar.astype(dtype)
            if cast.dtype.kind in "iu" and cast.item() != scalar.item():
                return None
        except (TypeError, ValueError, OverflowError):
            return None
        made.append(cast[()])
    return made


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

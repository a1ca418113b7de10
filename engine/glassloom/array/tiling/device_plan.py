"""What a kernel has to read, to draw and to compute for an array: found backwards from that array, by where each step reads its operands.

Where a step reads is told in places of the array that is made (`glassloom.array.tiling.tiles.Place`), so that slices, transposed arrays and broadcasting
are no work of their own.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from glassloom.array.tiling.device_kernels import Operation, Read, Value
from glassloom.array.tiling.steps import TiledIndexedDraw
from glassloom.array.tiling.tiles import Along, Place, TiledForm

MOST_READS = 24
"""A kernel's arguments take 4 KiB at most."""
MOST_OPERATIONS = 256


@dataclass(frozen=True)
class Deferred:
    """A step's result that wasn't computed: its form, where its operands are, and what is known of them and of itself."""

    form: TiledForm
    slots: tuple[int, ...]
    spec: Any
    operands: Sequence[Any]


@dataclass(frozen=True)
class DeferredOperation(Deferred):
    """That of an element-wise function: `scalars` has None in place of each block."""

    function: str
    loop: tuple[str, ...]
    scalars: Sequence[Any]


@dataclass(frozen=True)
class DrawnArray:
    """A random array of a kernel: the method and the type, and the stream's key and high word."""

    kind: tuple[str, str]
    words: tuple[Any, Any]


@dataclass
class KernelPlan:
    """A kernel.

    Attributes
    ----------
    shape
        That of what is made.
    arrays, draws
        What is read.
    reads, places
        The reads, and of each the first place and the strides.
    scalars, operations
        What is computed of the reads.
    whole
        What of the slots there is at each place of what is made, so that it could be written too.
    """

    shape: tuple[int, ...]
    arrays: list[Any] = field(default_factory=list)
    draws: list[DrawnArray] = field(default_factory=list)
    reads: list[Read] = field(default_factory=list)
    places: list[list[int]] = field(default_factory=list)
    scalars: list[Any] = field(default_factory=list)
    operations: list[Operation] = field(default_factory=list)
    whole: dict[int, Value] = field(default_factory=dict)


def plan_kernel(
    sinks: Sequence[int], shape: tuple[int, ...], deferred: Mapping[int, Deferred], values: Sequence[Any]
) -> KernelPlan | None:
    """Return the kernel that makes these slots, all of one shape; None if it would have too many arguments or operations.

    Parameters
    ----------
    deferred
        What was deferred, by its slot; operands have lower slots.
    values
        The values of the other slots.
    """
    own: Place = tuple(Along(axis, 0, 1) for axis in range(len(shape)))
    demands = _demands(sinks, own, shape, deferred)
    if demands is None:
        return None
    plan = KernelPlan(shape)
    made: dict[Hashable, Value] = {}
    leaves: dict[int, int] = {}
    for slot in sorted(demands):
        one = deferred.get(slot)
        for place in demands[slot]:
            if one is None or isinstance(one.form, TiledIndexedDraw):
                value = _leaf(plan, slot, place, one, values, leaves)
            elif isinstance(one, DeferredOperation):
                value = _operation(plan, one, place, made)
            else:
                value = made[_key(one.slots[0], _places(one, place, shape)[0])]
            if value is None or len(plan.reads) > MOST_READS or len(plan.operations) > MOST_OPERATIONS:
                return None
            made[_key(slot, place)] = value
            if place == own and one is not None and one.spec.shape == shape:
                plan.whole[slot] = value
    plan.whole.update({slot: made[_key(slot, own)] for slot in sinks})
    return plan


def _demands(
    sinks: Sequence[int], own: Place, shape: tuple[int, ...], deferred: Mapping[int, Deferred]
) -> dict[int, list[Place]] | None:
    """Return where each slot is needed; None if that is more than a kernel should compute."""
    demands: dict[int, list[Place]] = {slot: [own] for slot in sinks}
    todo = set(sinks)
    while todo:
        slot = max(todo)
        todo.remove(slot)
        one = deferred.get(slot)
        if one is None or isinstance(one.form, TiledIndexedDraw):
            continue
        if sum(map(len, demands.values())) > MOST_OPERATIONS:
            return None
        for place in demands[slot]:
            for operand, where in zip(one.slots, _places(one, place, shape), strict=True):
                if where is not None:
                    wanted = demands.setdefault(operand, [])
                    wanted += [] if where in wanted else [where]
                    todo.add(operand)
    return demands


def _key(slot: int, place: Place) -> Hashable:
    """Return what stands for a place of a slot in a dict. Slices have no hash."""
    return (
        slot,
        *(entry if isinstance(entry, Along) else (None, entry.start, entry.stop, entry.step) for entry in place),
    )


def _places(one: Deferred, place: Place, shape: tuple[int, ...]) -> list[Any]:
    """Return where an operation or a view reads its operands."""
    found = one.form.places(place, one.operands, shape)
    assert found is not None  # operations and views can be computed anywhere
    return found


def _leaf(
    plan: KernelPlan, slot: int, place: Place, drawn: Deferred | None, values: Sequence[Any], leaves: dict[int, int]
) -> Value | None:
    """Add a read of an array or of a draw; return None if it isn't of one element."""
    shape = drawn.spec.shape if drawn is not None else tuple(values[slot].shape)
    if drawn is not None:
        strides = _strides_in_order(shape)
    else:
        strides = [stride // values[slot].itemsize for stride in values[slot].strides]
    found = _first_and_strides(place, shape, strides, len(plan.shape))
    if found is None:
        return None
    if slot not in leaves:
        leaves[slot] = len(plan.arrays if drawn is None else plan.draws)
        if drawn is None:
            plan.arrays.append(values[slot])
            return _added_read(plan, "array", leaves[slot], found, None)
        assert isinstance(drawn.form, TiledIndexedDraw)
        plan.draws.append(DrawnArray((drawn.form.base, str(drawn.spec.dtype)), drawn.form.words(drawn.operands)))
    return _added_read(plan, "array" if drawn is None else "draw", leaves[slot], found, drawn)


def _added_read(plan: KernelPlan, source: str, number: int, found: list[int], drawn: Deferred | None) -> Value:
    in_order = _strides_in_order(plan.shape)
    moving = [(mine, own) for mine, own, n in zip(found[1:], in_order, plan.shape, strict=True) if n > 1]
    plan.reads.append(Read(source, number, not found[0] and all(mine == own for mine, own in moving)))
    plan.places.append(found)
    value = Value("read", len(plan.reads) - 1)
    if drawn is None:
        return value
    assert isinstance(drawn.form, TiledIndexedDraw)
    dtype = str(drawn.spec.dtype)
    for function, scalar in drawn.form.after:
        operands = (value,) if scalar is None else (value, Value("scalar", len(plan.scalars)))
        plan.scalars += [] if scalar is None else [drawn.spec.dtype.type(scalar)]
        plan.operations.append(Operation(function, operands, (dtype,) * (len(operands) + 1)))
        value = Value("step", len(plan.operations) - 1)
    return value


def _operation(plan: KernelPlan, one: DeferredOperation, place: Place, made: Mapping[Hashable, Value]) -> Value:
    blocks = iter(zip(one.slots, _places(one, place, plan.shape), strict=True))
    operands = []
    for scalar in one.scalars:
        if scalar is None:
            operands.append(made[_key(*next(blocks))])
        else:
            operands.append(Value("scalar", len(plan.scalars)))
            plan.scalars.append(scalar)
    plan.operations.append(Operation(one.function, tuple(operands), one.loop))
    return Value("step", len(plan.operations) - 1)


def _first_and_strides(place: Place, shape: Sequence[int], strides: Sequence[int], ndim: int) -> list[int] | None:
    """Return the first element that is read of an array, and by how many elements each axis of what is made moves in it."""
    first, along = 0, [0] * ndim
    for entry, length, stride in zip(place, shape, strides, strict=True):
        if isinstance(entry, Along):
            first += entry.start * stride
            along[entry.axis] += entry.step * stride
        else:
            taken = range(length)[entry]
            if len(taken) != 1:
                return None
            first += taken[0] * stride
    return [first, *along]


def _strides_in_order(shape: Sequence[int]) -> list[int]:
    """Return by how many elements each axis moves in an array in C order."""
    return [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]

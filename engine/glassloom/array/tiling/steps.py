"""How the steps of fused blocks are run on tiles: functions of elements, draws, fills, views, reductions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np

from glassloom.array.tiling import tiles
from glassloom.array.tiling.kernels import Kernel
from glassloom.array.tiling.tiles import (
    WHOLE,
    Along,
    Bounds,
    Call,
    Job,
    Place,
    Run,
    Sink,
    Spec,
    TiledForm,
    along_slice,
    is_number,
)
from glassloom.backends.arrays import join
from glassloom.backends.indexed_draws import BASES, C_TYPES, stream_words

_ELEMENTWISE = (np.where, np.isclose)
"""Functions besides ufuncs that work element by element and return new arrays."""

_ROUNDED_ONCE = frozenset(
    {np.add, np.subtract, np.multiply, np.divide, np.negative, np.absolute, np.square, np.sqrt, np.reciprocal}
)
"""Functions whose bits don't depend on how they are computed. Others choose another way if input and output overlap."""

_SEQUENTIAL = frozenset(
    {
        "beta", "binomial", "exponential", "gamma", "lognormal", "normal", "poisson", "random", "random_sample",
        "standard_exponential", "standard_gamma", "standard_normal", "uniform",
    }
)  # fmt: skip
"""Methods of NumPy's generators that fill an array in C order, so that a block can be drawn in pieces."""

_FILLS = {"standard_normal": "standard_normal", "random": "random", "normal": "standard_normal", "uniform": "random"}
"""Methods of `numpy.random.Generator` whose numbers are those of another that can fill an array which is there: as
they are, or ``loc + scale * number``."""


class TiledElementwise(TiledForm):
    """A function of elements: `args` holds its scalars, and `block` for each array."""

    def __init__(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], block: Any) -> None:
        self.function, self.args, self.kwargs = function, args, kwargs
        self.writes_over = function in _ROUNDED_ONCE and not kwargs
        self.places_of_blocks = tuple(place for place, arg in enumerate(args) if arg is block)

    @classmethod
    def of(
        cls, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], block: Any
    ) -> TiledElementwise | None:
        """Return the form; None if the function may do something else than working element by element."""
        if isinstance(function, np.ufunc):
            fits = function.signature is None and function.nout == 1 and function.nin == len(args)
            fits = fits and not kwargs.keys() - {"dtype", "casting"}
        else:
            fits = function in _ELEMENTWISE
        if not fits or any(np.ndim(arg) for arg in args if arg is not block):
            return None
        return cls(function, args, kwargs, block)

    def spec(self, operands: Sequence[Any]) -> Spec | None:
        if any(type(operand) is not Spec or operand.dtype is None for operand in operands):
            return None
        shape = _metrics([operand.shape for operand in operands])
        if shape is None:
            return None
        made = self._call([np.ones((0,) if operand.shape else (), operand.dtype) for operand in operands])
        return Spec(shape, made.dtype) if is_number(made.dtype) else None

    def places(self, own: Place, operands: Sequence[Any], shape: tuple[int, ...]) -> list[Place | None] | None:
        lengths = _metrics([operand.shape for operand in operands]) or ()
        return [_broadcast_place(own, lengths, operand.shape) for operand in operands]

    def begin(self, spec: Spec, operands: Sequence[Any], place: Place, sink: Sink) -> Run:
        return self._allocating if self.kwargs or not isinstance(self.function, np.ufunc) else self._writing

    def _writing(self, job: Job) -> Call | None:
        out, made, sources, function = job.take_out(), job.made, job.sources, self.function
        if out.is_fixed and all(source.is_fixed for source in sources):
            made.fix(out.value)
            return partial(function, *self._args([source.value for source in sources]), out=out.value)

        def call() -> None:
            made.value = function(*self._args([source.value for source in sources]), out=out.value)

        made.value, made.is_fixed = out.value, out.is_fixed
        return call

    def _allocating(self, job: Job) -> Call | None:
        made, sources = job.made, job.sources

        def call() -> None:
            made.value = self._call([source.value for source in sources])

        return call

    def _call(self, blocks: Sequence[Any]) -> Any:
        return self.function(*self._args(blocks), **self.kwargs)

    def _args(self, blocks: Sequence[Any]) -> list[Any]:
        args = list(self.args)
        for place, block in zip(self.places_of_blocks, blocks, strict=True):
            args[place] = block
        return args


class TiledCast(TiledForm):
    """Another type."""

    def __init__(self, dtype: Any) -> None:
        self.dtype = np.dtype(dtype)

    def spec(self, operands: Sequence[Any]) -> Spec | None:
        (operand,) = operands
        if type(operand) is not Spec or operand.dtype is None or not is_number(self.dtype):
            return None
        return Spec(operand.shape, self.dtype)

    def places(self, own: Place, operands: Sequence[Any], shape: tuple[int, ...]) -> list[Place | None] | None:
        return [own]

    def begin(self, spec: Spec, operands: Sequence[Any], place: Place, sink: Sink) -> Run:
        def run(job: Job) -> Call | None:
            out, made, (source,) = job.take_out(), job.made, job.sources
            made.value, made.is_fixed = out.value, out.is_fixed

            def call() -> None:
                np.copyto(out.value, source.value, casting="unsafe")
                made.value = out.value

            return call

        return run


class TiledFull(TiledForm):
    """One value everywhere: a single tile serves for all. Operands: the shape."""

    is_leaf = True

    def __init__(self, fill: Any, dtype: Any) -> None:
        self.fill, self.dtype = fill, np.dtype(dtype)

    def spec(self, operands: Sequence[Any]) -> Spec | None:
        return Spec(operands[0], self.dtype) if is_number(self.dtype) else None

    def places(self, own: Place, operands: Sequence[Any], shape: tuple[int, ...]) -> list[Place | None] | None:
        return [None]

    def begin(self, spec: Spec, operands: Sequence[Any], place: Place, sink: Sink) -> Run:
        def run(job: Job) -> Call | None:
            tile = job.buffers.take_for_good(job.shape, self.dtype)
            tile[...] = np.full((), self.fill, dtype=self.dtype)
            job.made.fix(tile)
            return None

        return run


class TiledDraw(TiledForm):
    """Random numbers, drawn piece by piece in C order: the same numbers as drawn at once. Operands: number, shape."""

    is_leaf = True
    needs_order = True

    def __init__(self, block: Any, dtype: Any) -> None:
        self.block, self.dtype = block, np.dtype(dtype)

    @classmethod
    def of(cls, block: Any, dtype: Any) -> TiledDraw | None:
        """Return the form for a `DrawBlock`; None if the method or the generator isn't known to draw in C order."""
        has_scalars = not any(np.ndim(arg) for arg in block.args) and not block.kwargs.keys() - {"dtype"}
        return cls(block, dtype) if block.streams.are_numpys and has_scalars and block.method in _SEQUENTIAL else None

    def spec(self, operands: Sequence[Any]) -> Spec | None:
        _, shape = operands
        return Spec(shape, self.dtype) if shape else None

    def places(self, own: Place, operands: Sequence[Any], shape: tuple[int, ...]) -> list[Place | None] | None:
        n_along = sum(isinstance(entry, Along) for entry in own)
        in_order = all(
            isinstance(entry, Along) and entry.axis == axis and entry.step > 0
            for axis, entry in enumerate(own[:n_along])
        )
        if not in_order or any(entry != WHOLE for entry in own[n_along:]) or math.prod(shape[n_along:]) != 1:
            return None
        return [None, None]

    def begin(self, spec: Spec, operands: Sequence[Any], place: Place, sink: Sink) -> Run:
        axis = min(sink.cut_axis, sum(isinstance(entry, Along) for entry in place) - 1)
        row_shape = spec.shape[axis + 1 :]
        row = math.prod(row_shape)
        strides = [math.prod(spec.shape[before + 1 :]) for before in range(axis)]
        pieces = _Pieces(self.block, operands[0], spec.dtype)

        def parts_at(bounds: Bounds) -> list[slice]:
            return [along_slice(entry, bounds) if isinstance(entry, Along) else entry for entry in place]

        def begin_of(parts: list[slice]) -> int:
            outer: int = sum(part.start * stride for part, stride in zip(parts, strides, strict=False))
            return outer + parts[axis].start * row

        def run(job: Job) -> Call | None:
            first = parts_at(job.bounds.value)
            length = first[axis].stop - first[axis].start
            inner = (slice(None, None, first[axis].step), *first[axis + 1 :])

            def tile_of(drawn: Any) -> Any:
                return drawn.reshape((length, *row_shape))[inner].reshape(job.shape)

            made, bounds = job.made, job.bounds
            if not pieces.can_fill:

                def draw() -> None:
                    made.value = tile_of(pieces.take(begin_of(parts_at(bounds.value)), length * row))

                return draw
            memory = job.buffers.take((length * row,), spec.dtype)
            made.fix(tile_of(memory))
            return lambda: pieces.fill(begin_of(parts_at(bounds.value)), memory)

        return run


class TiledIndexedDraw(TiledForm):
    """Random numbers that a device draws by their index, in any order. Operands: number, shape. Kernels draw them, or the step's own function."""

    def __init__(self, block: Any, dtype: Any, base: str, after: tuple[tuple[str, Any], ...]) -> None:
        self.block, self.dtype, self.base, self.after = block, np.dtype(dtype), base, after

    @classmethod
    def of(cls, block: Any, dtype: Any) -> TiledIndexedDraw | None:
        """Return the form for a `DrawBlock`; None if its backend draws by no index, or none by this method."""
        has_scalars = not any(np.ndim(arg) for arg in block.args) and not block.kwargs.keys() - {"dtype"}
        if not has_scalars or not block.streams.are_indexed or str(np.dtype(dtype)) not in C_TYPES:
            return None
        found = _drawn_from(block.method, block.args)
        return None if found is None else cls(block, dtype, *found)

    def spec(self, operands: Sequence[Any]) -> Spec | None:
        _, shape = operands
        return Spec(shape, self.dtype) if shape else None

    def words(self, operands: Sequence[Any]) -> tuple[Any, Any]:
        """Return the key and the high word of the stream."""
        return stream_words(self.block.streams.sequence_of(operands[0]))


def _drawn_from(method: str, args: tuple[Any, ...]) -> tuple[str, tuple[tuple[str, Any], ...]] | None:
    """Return which of `BASES` a method's numbers are made of, and by which functions with which scalar."""
    if method in BASES and not args:
        return method, ()
    if method in ("normal", "lognormal"):
        loc, scale = args
        after: tuple[tuple[str, Any], ...] = (("multiply", scale), ("add", loc))
        return "standard_normal", after if method == "normal" else (*after, ("exp", None))
    if method == "uniform":
        low, high = args
        return "random", (("multiply", high - low), ("add", low))
    return ("standard_exponential", (("multiply", args[0]),)) if method == "exponential" else None


class _Pieces:
    """The numbers of a block's stream, piece after piece."""

    def __init__(self, block: Any, number: int, dtype: Any) -> None:
        generator = block.streams.of_block(number)
        self._draw = getattr(generator, block.method)
        self._args, self._kwargs = block.args, block.kwargs
        self._dtype = dtype
        self._position = 0
        self._loc, self._scale = _loc_and_scale(block.method, block.args)
        self.can_fill = isinstance(generator, np.random.Generator) and block.method in _FILLS and _is_exact(self._scale)
        """Whether `fill` may be called."""
        self._fill = getattr(generator, _FILLS[block.method]) if self.can_fill else None

    def take(self, begin: int, length: int) -> Any:
        """Return `length` numbers from `begin` on, which doesn't lie before what was taken last."""
        while self._position < begin:
            self._next(min(self._longest, begin - self._position))
        return self._next(length)

    def fill(self, begin: int, out: Any) -> None:
        """Put the numbers from `begin` on into an array, which is written over for those before `begin` too."""
        while self._position < begin:
            self._fill_next(out[: begin - self._position])
        self._fill_next(out)
        if self._scale != 1:
            np.multiply(out, self._scale, out=out)
        if self._loc is not None:
            np.add(out, self._loc, out=out)

    @property
    def _longest(self) -> int:
        return int(tiles.TILE_BYTES // self._dtype.itemsize)

    def _next(self, length: int) -> Any:
        self._position += length
        return self._draw(*self._args, size=length, **self._kwargs)

    def _fill_next(self, out: Any) -> None:
        self._position += len(out)
        assert self._fill is not None  # where can_fill, there is one
        self._fill(out=out, **self._kwargs)


def _loc_and_scale(method: str, args: tuple[Any, ...]) -> tuple[float | None, float]:
    """Return what is added to the numbers (None for nothing, not even 0, which makes 0.0 of -0.0) and their factor."""
    if method == "normal":
        loc, scale = args
        return float(loc), float(scale)
    if method == "uniform":
        low, high = args
        return float(low), float(high) - float(low)
    return None, 1.0


def _is_exact(scale: float) -> bool:
    """Whether a factor is a power of 2: ``loc + scale * number`` is then rounded once, whether or not the compiler
    made one instruction of it."""
    return scale > 0 and math.frexp(scale)[0] == 0.5


class TiledSlice(TiledForm):
    """Evenly spaced parts. Operands: the array, and an index with a slice or an integer for each axis."""

    is_view = True

    def spec(self, operands: Sequence[Any]) -> Spec | None:
        array, index = operands
        if type(array) is not Spec or array.dtype is None or len(index) != len(array.shape):
            return None
        if any(not isinstance(entry, (slice, int)) for entry in index):
            return None
        shape = [
            len(range(length)[entry])
            for entry, length in zip(index, array.shape, strict=True)
            if isinstance(entry, slice)
        ]
        return Spec(tuple(shape), array.dtype)

    def places(self, own: Place, operands: Sequence[Any], shape: tuple[int, ...]) -> list[Place | None] | None:
        array, index = operands
        entries = iter(own)
        return [
            tuple(
                _compose(next(entries), range(length)[entry])
                if isinstance(entry, slice)
                else slice(range(length)[entry], range(length)[entry] + 1)
                for entry, length in zip(index, array.shape, strict=True)
            ),
            None,
        ]

    def begin(self, spec: Spec, operands: Sequence[Any], place: Place, sink: Sink) -> Run:
        dropped = tuple(slice(None) if isinstance(entry, slice) else 0 for entry in operands[1])
        return _as_it_is if all(dropped) else _view(lambda tile: tile[dropped])


class TiledPermute(TiledForm):
    """Axes in another order."""

    is_view = True

    def __init__(self, axes: tuple[int, ...]) -> None:
        self.axes = axes

    def spec(self, operands: Sequence[Any]) -> Spec | None:
        (array,) = operands
        if type(array) is not Spec or array.dtype is None:
            return None
        return Spec(tuple(array.shape[axis] for axis in self.axes), array.dtype)

    def places(self, own: Place, operands: Sequence[Any], shape: tuple[int, ...]) -> list[Place | None] | None:
        return [tuple(own[self.axes.index(axis)] for axis in range(len(own)))]

    def begin(self, spec: Spec, operands: Sequence[Any], place: Place, sink: Sink) -> Run:
        return _view(lambda tile: tile.transpose(self.axes))


class TiledNewAxes(TiledForm):
    """Axes of length 1 put in."""

    is_view = True

    def __init__(self, axes: tuple[int, ...]) -> None:
        self.axes = axes

    def spec(self, operands: Sequence[Any]) -> Spec | None:
        (array,) = operands
        if type(array) is not Spec or array.dtype is None:
            return None
        lengths = iter(array.shape)
        ndim = len(array.shape) + len(self.axes)
        return Spec(tuple(1 if axis in self.axes else next(lengths) for axis in range(ndim)), array.dtype)

    def places(self, own: Place, operands: Sequence[Any], shape: tuple[int, ...]) -> list[Place | None] | None:
        return [tuple(entry for axis, entry in enumerate(own) if axis not in self.axes)]

    def begin(self, spec: Spec, operands: Sequence[Any], place: Place, sink: Sink) -> Run:
        index = tuple(None if axis in self.axes else slice(None) for axis in range(len(spec.shape)))
        return _view(lambda tile: tile[index])


class TiledSame(TiledForm):
    """What is there already."""

    is_view = True

    def spec(self, operands: Sequence[Any]) -> Spec | None:
        return operands[0] if type(operands[0]) is Spec else None

    def places(self, own: Place, operands: Sequence[Any], shape: tuple[int, ...]) -> list[Place | None] | None:
        return [own]

    def begin(self, spec: Spec, operands: Sequence[Any], place: Place, sink: Sink) -> Run:
        return _as_it_is


class TiledFirstStage(TiledForm):
    """A reduction to partial results, which are merged as those of blocks are."""

    merges: ClassVar[bool] = True

    def __init__(self, kernel: Kernel, axes: tuple[int, ...]) -> None:
        self.kernel, self.axes = kernel, axes

    def spec(self, operands: Sequence[Any]) -> Spec | None:
        (array,) = operands
        if type(array) is not Spec or array.dtype is None or not array.shape or not math.prod(array.shape):
            return None
        shape = tuple(1 if axis in self.axes else length for axis, length in enumerate(array.shape))
        return Spec(shape, None, array.dtype)

    def places(self, own: Place, operands: Sequence[Any], shape: tuple[int, ...]) -> list[Place | None] | None:
        (array,) = operands
        reduced = math.prod(array.shape[axis] for axis in self.axes)
        if reduced * array.dtype.itemsize > tiles.TILE_BYTES:
            return None
        return [tuple(WHOLE if axis in self.axes else entry for axis, entry in enumerate(own))]

    def begin(self, spec: Spec, operands: Sequence[Any], place: Place, sink: Sink) -> Run:
        (array,) = operands
        dtype = self.kernel.scratch_dtype(array.dtype)
        own = tuple(Along(axis, 0, 1) for axis in range(len(sink.shape)))
        if dtype is not None and place == own and array.shape == sink.shape:  # then its tiles are the sink's
            return partial(self._with_scratch, dtype)
        return _new(lambda tile: self.kernel.first(tile, self.axes))

    def _with_scratch(self, dtype: Any, job: Job) -> Call:
        scratch = job.buffers.take(job.shape, dtype)
        job.buffers.give_back(scratch)  # nothing of it is read by the steps behind
        made, (source,) = job.made, job.sources

        def call() -> None:
            made.value = self.kernel.first_with(source.value, self.axes, scratch)

        return call

    def merges_well(self, sink: Sink) -> bool:
        return math.prod(sink.lengths[axis] for axis in self.axes) > 1

    def merge(self, parts: list[Any], grid: tuple[int, ...]) -> Any:
        if isinstance(parts[0], tuple):
            joined: Any = tuple(join(list(each), grid) for each in zip(*parts, strict=True))
        else:
            joined = join(parts, grid)
        if all(grid[axis] == 1 for axis in self.axes):
            return joined
        return self.kernel.combine(joined, self.axes)


class TiledFinish(TiledForm):
    """The end of a reduction: `stage` gets one partial result, and the axes in `dropped` go away."""

    def __init__(self, stage: Any) -> None:
        self.stage = stage

    def spec(self, operands: Sequence[Any]) -> Spec | None:
        (partial,) = operands
        if type(partial) is not Spec or partial.partial_of is None:
            return None
        sample = np.ones((1,) * len(partial.shape), partial.partial_of)
        with np.errstate(all="ignore"):
            made = self.stage(self.stage.kernel.first(sample, self.stage.axes))
        shape = tuple(length for axis, length in enumerate(partial.shape) if axis not in self.stage.dropped)
        return Spec(shape, made.dtype) if is_number(made.dtype) else None

    def places(self, own: Place, operands: Sequence[Any], shape: tuple[int, ...]) -> list[Place | None] | None:
        (partial,) = operands
        entries = iter(own)
        return [tuple(WHOLE if axis in self.stage.dropped else next(entries) for axis in range(len(partial.shape)))]

    def begin(self, spec: Spec, operands: Sequence[Any], place: Place, sink: Sink) -> Run:
        return _new(self.stage)


def _view(function: Callable[[Any], Any]) -> Run:
    """Return what prepares tiles that share the memory of the first operand's."""

    def run(job: Job) -> Call | None:
        if not job.sources[0].is_fixed:
            return _new(function)(job)
        job.made.fix(function(job.sources[0].value))
        return None

    return run


_as_it_is = _view(lambda tile: tile)


def _new(function: Callable[[Any], Any]) -> Run:
    """Return what prepares tiles that a function makes of the first operand's."""

    def run(job: Job) -> Call | None:
        made, source = job.made, job.sources[0]

        def call() -> None:
            made.value = function(source.value)

        return call

    return run


def _metrics(shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...] | None:
    """Return the shape of several arrays together; None if they don't go together."""
    first = shapes[0] if shapes else ()
    if all(shape == first for shape in shapes):
        return first
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        return None


def _broadcast_place(own: Place, lengths: tuple[int, ...], shape: tuple[int, ...]) -> Place:
    """Return where in an operand of this shape lies what is needed for `own` of a result with these lengths."""
    offset = len(lengths) - len(shape)
    return tuple(WHOLE if length != lengths[offset + axis] else own[offset + axis] for axis, length in enumerate(shape))


def _compose(entry: Along | slice, taken: range) -> Along | slice:
    """Return where an entry of a slice lies in what it was taken of."""
    if isinstance(entry, Along):
        return Along(entry.axis, taken.start + entry.start * taken.step, entry.step * taken.step)
    found = taken[entry]
    if not found:
        return slice(0, 0)
    stop = found.start + len(found) * found.step
    return slice(found.start, stop if stop >= 0 else None, found.step)

"""CUDA C kernels of fused steps: draws, slices and chains of element-wise functions, and the first stage of a reduction behind them, as one loop each.

What lies between two steps is a variable, so that it is never written to the device's memory. Random numbers are drawn where they are read
(`glassloom.backends.indexed_draws`), and slices and transposed arrays are ways to count, so that only what is needed is read or drawn. Here is no device:
a `KernelSource` is text and what it is called with, which tests compile for devices and for the CPU.

Operations are made in the types that NumPy would make them in. Kernels are compiled without contraction of ``a * b + c``, so that sums, products,
quotients and square roots have NumPy's bits; other functions are those of CUDA's mathematical library.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from glassloom.backends.cupy_ import KERNEL_THREADS as THREADS
from glassloom.backends.indexed_draws import FUNCTIONS, number_text

TYPES = {
    "bool": "bool", "int8": "signed char", "int16": "short", "int32": "int", "int64": "long long", "uint8": "unsigned char",
    "uint16": "unsigned short", "uint32": "unsigned int", "uint64": "unsigned long long", "float32": "float", "float64": "double",
}  # fmt: skip
"""C's types by NumPy's."""

_WRAPPING = {"add": "+", "subtract": "-", "multiply": "*"}
"""Operators that wrap around for whole numbers, which C leaves open for signed ones."""
_FLOAT_FUNCTIONS = {
    "sqrt": "sqrt", "cbrt": "cbrt", "exp": "exp", "exp2": "exp2", "expm1": "expm1", "log": "log", "log2": "log2", "log10": "log10",
    "log1p": "log1p", "sin": "sin", "cos": "cos", "tan": "tan", "arcsin": "asin", "arccos": "acos", "arctan": "atan", "sinh": "sinh",
    "cosh": "cosh", "tanh": "tanh", "arcsinh": "asinh", "arccosh": "acosh", "arctanh": "atanh", "floor": "floor", "ceil": "ceil",
    "trunc": "trunc", "rint": "rint", "fabs": "fabs", "power": "pow", "arctan2": "atan2", "hypot": "hypot", "copysign": "copysign",
}  # fmt: skip
"""Functions of floats, by NumPy's names."""
_COMPARISONS = {
    "greater": ">",
    "greater_equal": ">=",
    "less": "<",
    "less_equal": "<=",
    "equal": "==",
    "not_equal": "!=",
}
_LOGICAL = {"logical_and": "&&", "logical_or": "||"}
FOLDS = ("add", "multiply", "minimum", "maximum")
"""Ufuncs of reductions that kernels can begin."""


@dataclass(frozen=True)
class Value:
    """An operand of an operation: what is read or drawn (`source` "read"), a scalar ("scalar") or an earlier result ("step")."""

    source: str
    number: int


@dataclass(frozen=True)
class Operation:
    """An element-wise operation.

    Attributes
    ----------
    function
        The name of NumPy's ufunc, ``"where"`` or ``"cast"``.
    operands
        What it is made of.
    loop
        The types in which NumPy makes it: those of the operands, then that of the result.
    """

    function: str
    operands: tuple[Value, ...]
    loop: tuple[str, ...]

    @property
    def dtype(self) -> str:
        """The type of the result."""
        return self.loop[-1]


@dataclass(frozen=True)
class Read:
    """An element that is read of an array (`source` "array") or drawn ("draw").

    `is_plain` says that it is the one with the same number in C order as the element that is computed, and that elements are computed in that order; others
    are found by strides.
    """

    source: str
    number: int
    is_plain: bool


@dataclass(frozen=True)
class Fold:
    """A reduction along axes, in a type.

    Each thread makes elements of the result if `is_by_thread`; else each block makes one, or a part of one that several blocks share.
    """

    ufunc: str
    operand: Value
    dtype: str
    axes: tuple[int, ...]
    is_by_thread: bool


@dataclass(frozen=True)
class KernelSource:
    """A kernel: its text, and its name in it."""

    name: str
    text: str


def can_be_made(function: str, loop: Sequence[str]) -> bool:
    """Tell whether there is an operation in C of these types."""
    if any(dtype not in TYPES for dtype in loop):
        return False
    kinds = {np.dtype(dtype).kind for dtype in loop[:-1]}
    if function in ("cast", "where"):
        return True
    if function in _COMPARISONS or function in _LOGICAL or function == "logical_not":
        return len(kinds) == 1 and (function in _LOGICAL or function == "logical_not" or len(set(loop[:-1])) == 1)
    if function in _FLOAT_FUNCTIONS or function in ("divide", "reciprocal", "sign"):
        return kinds == {"f"}
    if function in ("minimum", "maximum", "absolute", "negative", "positive", "square") or function in _WRAPPING:
        return "b" not in kinds and len(kinds) == 1
    return function in ("isnan", "isfinite", "isinf", "signbit") and kinds == {"f"}


def make_kernel(
    arrays: Sequence[str],
    draws: Sequence[tuple[str, str]],
    reads: Sequence[Read],
    scalars: Sequence[str],
    operations: Sequence[Operation],
    outputs: Sequence[tuple[Value, str]],
    fold: Fold | None,
    ndim: int,
    is_small: bool,
) -> KernelSource:
    """Return the kernel of operations.

    Parameters
    ----------
    arrays, scalars
        The types of the arrays that are read, and of the scalars.
    draws
        The method and the type of random arrays, whose numbers are drawn where they are read.
    reads
        What the operations read.
    outputs
        What is written, and its type; nothing if there is a reduction.
    ndim
        The number of axes of what is written or reduced.
    is_small
        Whether all places are below 2**31: devices divide numbers of 32 bits several times faster.

    Its arguments are the number of elements; of reductions, also those of an element of the result and how many blocks share them; the lengths of the
    axes, unless all reads are plain; the arrays; the key and the high word of each draw; the first place and the strides of each read that
    isn't plain; the scalars; the outputs, or the partial results.
    """
    is_plain = all(read.is_plain for read in reads)
    arguments = ["const long long size", *(_FOLD_ARGUMENTS if fold is not None else [])]
    arguments += [] if is_plain else [f"const long long n{axis}" for axis in range(ndim)]
    arguments += [f"const {TYPES[dtype]}* __restrict__ in{number}" for number, dtype in enumerate(arrays)]
    for number in range(len(draws)):
        arguments += [f"const unsigned long long key{number}", f"const unsigned long long high{number}"]
    for number, read in enumerate(reads):
        if not read.is_plain:
            arguments.append(f"const long long o{number}")
            arguments += [f"const long long s{number}_{axis}" for axis in range(ndim)]
    arguments += [f"const {TYPES[dtype]} scalar{number}" for number, dtype in enumerate(scalars)]
    arguments += [f"{TYPES[dtype]}* __restrict__ out{place}" for place, (_, dtype) in enumerate(outputs)]
    arguments += [] if fold is None else [f"{TYPES[fold.dtype]}* __restrict__ parts"]
    body = [_read(number, read, draws, ndim) for number, read in enumerate(reads)]
    for number, operation in enumerate(operations):
        body.append(f"const {TYPES[operation.dtype]} step{number} = {_expression(operation)};")
    body += [f"out{place}[i] = {_operand(value, dtype)};" for place, (value, dtype) in enumerate(outputs)]
    place_type = None if is_plain else "unsigned int" if is_small else "long long"
    lines = _element_loop(body, ndim, place_type) if fold is None else _fold_loops(fold, body, ndim, place_type)
    text = "\n".join(f"  {line}" for line in lines)
    name = "fused_fold" if fold is not None else "fused"
    functions = FUNCTIONS if draws else ""
    return KernelSource(name, f'{functions}extern "C" __global__ void {name}({", ".join(arguments)}) {{\n{text}\n}}\n')


_FOLD_ARGUMENTS = ["const long long n_reduced", "const long long splits"]
_LOOP = "for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < size; i += gridDim.x * (long long)blockDim.x) {"


def _element_loop(body: list[str], ndim: int, place_type: str | None) -> list[str]:
    """Return the loop over the elements of the outputs."""
    places = [] if place_type is None else _places("i", tuple(range(ndim)), place_type)
    return [_LOOP, *_indented([*places, *body]), "}"]


def _fold_loops(fold: Fold, body: list[str], ndim: int, place_type: str | None) -> list[str]:
    """Return the loops of a reduction: over elements of the result, and over what each is made of."""
    own, kept = TYPES[fold.dtype], tuple(axis for axis in range(ndim) if axis not in fold.axes)
    outer = [] if place_type is None else _places("kept", kept, place_type)
    inner = [
        "const long long i = kept * n_reduced + at;"
    ]  # in C order if the last axes are reduced; others have no plain reads
    inner += [] if place_type is None else _places("at", fold.axes, place_type)
    inner += [*body, _joined(fold, "sum", _operand(fold.operand, fold.dtype))]
    begin = [f"{own} sum = {'1' if fold.ufunc == 'multiply' else '0'};", "bool any = false;", *outer]
    if fold.is_by_thread:
        return [
            "for (long long kept = blockIdx.x * (long long)blockDim.x + threadIdx.x; kept < size / n_reduced; kept += gridDim.x * (long long)blockDim.x) {",
            *_indented([*begin, "for (long long at = 0; at < n_reduced; ++at) {", *_indented(inner), "}"]),
            "  parts[kept] = sum;",
            "}",
        ]
    return [
        f"__shared__ {own} shared[{THREADS}];",
        f"__shared__ bool filled[{THREADS}];",
        "for (long long kept = blockIdx.x / splits; kept < size / n_reduced; kept += gridDim.x / splits) {",
        *_indented([
            *begin,
            "for (long long at = (blockIdx.x % splits) * blockDim.x + threadIdx.x; at < n_reduced; at += splits * blockDim.x) {",
            *_indented(inner), "}", *_end(fold),
        ]),
        "}",
    ]  # fmt: skip


def _indented(lines: Sequence[str]) -> list[str]:
    return [f"  {line}" for line in lines]


def _places(number: str, axes: Sequence[int], place_type: str) -> list[str]:
    """Return what finds the places along these axes of an element by its number among theirs, in C order."""
    lines = [f"{place_type} rest_{number} = ({place_type}){number};"] if axes else []
    for axis in reversed(axes[1:]):
        length = f"({place_type})n{axis}"
        lines.append(f"const {place_type} c{axis} = rest_{number} % {length}; rest_{number} /= {length};")
    return [*lines, *(f"const {place_type} c{axis} = rest_{number};" for axis in axes[:1])]


def _read(number: int, read: Read, draws: Sequence[tuple[str, str]], ndim: int) -> str:
    """Return what reads or draws a value."""
    along = "".join(f" + c{axis} * s{number}_{axis}" for axis in range(ndim))
    place = "i" if read.is_plain else f"o{number}{along}"
    if read.source == "array":
        return f"const auto value{number} = in{read.number}[{place}];"
    base, dtype = draws[read.number]
    bits = f"draw_bits(key{read.number}, high{read.number}, (unsigned long long)({place}))"
    return f"const auto value{number} = {number_text(base, dtype, bits)};"


def _operand(value: Value, dtype: str) -> str:
    name = {"read": "value", "scalar": "scalar", "step": "step"}[value.source]
    return f"(({TYPES[dtype]}){name}{value.number})"


def _expression(operation: Operation) -> str:
    function, own = operation.function, TYPES[operation.dtype]
    args = [_operand(value, dtype) for value, dtype in zip(operation.operands, operation.loop, strict=False)]
    is_float = np.dtype(operation.loop[0]).kind == "f"
    first = args[0]
    if function == "cast":
        return f"({own}){first}" if operation.dtype != "bool" else f"({first} != 0)"
    if function == "where":
        return f"({first} ? {args[1]} : {args[2]})"
    if function in _WRAPPING:
        return _wrapping(_WRAPPING[function], operation, args)
    if function == "square":
        return _wrapping("*", operation, [first, first])
    if function == "negative":
        return f"(-{first})" if is_float else _wrapping("-", operation, ["0", first])
    if function == "absolute":
        return f"fabs({first})" if is_float else f"({first} < 0 ? {_wrapping('-', operation, ['0', first])} : {first})"
    if function in ("minimum", "maximum"):
        return _extreme(function, args[0], args[1])
    return _other(function, args)


def _other(function: str, args: list[str]) -> str:
    first = args[0]
    if function in _FLOAT_FUNCTIONS:
        return f"{_FLOAT_FUNCTIONS[function]}({', '.join(args)})"
    if function in _COMPARISONS or function in _LOGICAL:
        return f"({first} {(_COMPARISONS | _LOGICAL)[function]} {args[1]})"
    return {
        "divide": f"({first} / {args[-1]})",
        "reciprocal": f"(1 / {first})",
        "positive": first,
        "sign": f"({first} > 0 ? 1 : {first} < 0 ? -1 : {first})",
        "logical_not": f"(!{first})",
        "isnan": f"({first} != {first})",
        "isfinite": f"({first} - {first} == 0)",
        "isinf": f"({first} == {first} && {first} - {first} != 0)",
        "signbit": f"(copysign(1.0, (double){first}) < 0)",
    }[function]


def _wrapping(operator: str, operation: Operation, args: list[str]) -> str:
    """Return an operator of two operands; whole numbers wrap around, as NumPy's do."""
    own = TYPES[operation.dtype]
    if np.dtype(operation.dtype).kind == "f":
        return f"({args[0]} {operator} {args[1]})"
    return f"({own})((unsigned long long){args[0]} {operator} (unsigned long long){args[1]})"


def _extreme(function: str, one: str, other: str) -> str:
    """Return the smaller or larger of two, or the one that is NaN, as NumPy does."""
    sign = "<" if function == "minimum" else ">"
    return f"(({one} {sign} {other} || {one} != {one}) ? {one} : {other})"


def _joined(fold: Fold, name: str, value: str) -> str:
    if fold.ufunc == "add":
        return f"{name} += {value}; any = true;"
    if fold.ufunc == "multiply":
        return f"{name} *= {value}; any = true;"
    return f"{name} = any ? {_extreme(fold.ufunc, name, value)} : {value}; any = true;"


def _end(fold: Fold) -> list[str]:
    """Return what joins the threads of a block, half by half, and writes the block's partial result."""
    how = {"add": "shared[t] + shared[t + half]", "multiply": "shared[t] * shared[t + half]"}
    joined = how.get(fold.ufunc) or _extreme(fold.ufunc, "shared[t]", "shared[t + half]")
    return [
        "const int t = threadIdx.x;",
        "shared[t] = sum; filled[t] = any;",
        "__syncthreads();",
        "for (int half = blockDim.x / 2; half > 0; half /= 2) {",
        "  if (t < half && filled[t + half]) {",
        f"    shared[t] = filled[t] ? {joined} : shared[t + half]; filled[t] = true;",
        "  }",
        "  __syncthreads();",
        "}",
        "if (t == 0) parts[kept * splits + blockIdx.x % splits] = shared[0];",
        "__syncthreads();",
    ]

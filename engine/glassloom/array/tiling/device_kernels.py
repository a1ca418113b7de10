"""CUDA C kernels of fused steps: chains of element-wise functions, and the first stage of a reduction behind them, as one loop each.

What lies between two steps is a variable, so that it is never written to the device's memory. Here is no device: a `KernelSource` is text and
what it is called with, which tests compile for devices and for the CPU.

Operations are made in the types that NumPy would make them in. Kernels are compiled without contraction of ``a * b + c``, so that sums, products,
quotients and square roots have NumPy's bits; other functions are those of CUDA's mathematical library.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from glassloom.backends.cupy_ import KERNEL_THREADS as THREADS

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
    """An operand of an operation: an array that is read (`source` "in"), a scalar ("scalar") or an earlier result ("step")."""

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
class Fold:
    """A reduction of all elements of an operation's result, in a type."""

    ufunc: str
    operand: Value
    dtype: str


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
    inputs: Sequence[str],
    scalars: Sequence[str],
    operations: Sequence[Operation],
    outputs: Sequence[int],
    fold: Fold | None,
    ndim: int | None,
) -> KernelSource:
    """Return the kernel of operations.

    Parameters
    ----------
    inputs, scalars
        The types of the arrays that are read, and of the scalars.
    outputs
        The numbers of the operations whose results are written.
    fold
        The reduction; the kernel writes one partial result for each of its blocks.
    ndim
        The number of axes of arrays that lie anyhow in memory, whose lengths and strides (in elements, 0 for what is repeated) are passed;
        None for arrays that all lie in C order.

    Its arguments are the number of elements, the lengths, each input followed by its strides, the scalars, the outputs and the partial results.
    """
    arguments = ["const long long size"]
    arguments += [f"const long long n{axis}" for axis in range(ndim or 0)]
    for number, dtype in enumerate(inputs):
        arguments.append(f"const {TYPES[dtype]}* __restrict__ in{number}")
        arguments += [f"const long long s{number}_{axis}" for axis in range(ndim or 0)]
    arguments += [f"const {TYPES[dtype]} scalar{number}" for number, dtype in enumerate(scalars)]
    arguments += [f"{TYPES[operations[number].dtype]}* __restrict__ out{place}" for place, number in enumerate(outputs)]
    if fold is not None:
        arguments.append(f"{TYPES[fold.dtype]}* __restrict__ parts")
    body = _places(len(inputs), ndim)
    for number, operation in enumerate(operations):
        body.append(f"const {TYPES[operation.dtype]} step{number} = {_expression(operation)};")
    body += [f"out{place}[i] = step{number};" for place, number in enumerate(outputs)]
    lines = [*([] if fold is None else _begin(fold)), _LOOP]
    lines += [
        f"  {line}"
        for line in [*body, *([] if fold is None else [_joined(fold, "sum", _operand(fold.operand, fold.dtype))])]
    ]
    lines += ["}", *([] if fold is None else _end(fold))]
    text = "\n".join(f"  {line}" for line in lines)
    name = "fused_fold" if fold is not None else "fused"
    return KernelSource(name, f'extern "C" __global__ void {name}({", ".join(arguments)}) {{\n{text}\n}}\n')


_LOOP = "for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < size; i += gridDim.x * (long long)blockDim.x) {"


def _places(count: int, ndim: int | None) -> list[str]:
    """Return what reads the inputs at a position."""
    if ndim is None:
        return [f"const auto value{number} = in{number}[i];" for number in range(count)]
    lines = ["long long rest = i;"]
    for axis in reversed(range(ndim)):
        lines.append(f"const long long c{axis} = rest % n{axis}; rest /= n{axis};")
    for number in range(count):
        place = " + ".join(f"c{axis} * s{number}_{axis}" for axis in range(ndim)) or "0"
        lines.append(f"const auto value{number} = in{number}[{place}];")
    return lines


def _operand(value: Value, dtype: str) -> str:
    name = {"in": "value", "scalar": "scalar", "step": "step"}[value.source]
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


def _begin(fold: Fold) -> list[str]:
    """Return what a thread begins a reduction with. Its first element stands for an identity where there is none."""
    own = TYPES[fold.dtype]
    start = {"add": "0", "multiply": "1"}.get(fold.ufunc, "0")
    return [
        f"__shared__ {own} shared[{THREADS}];",
        f"__shared__ bool filled[{THREADS}];",
        f"{own} sum = {start};",
        "bool any = false;",
    ]


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
        "if (t == 0) parts[blockIdx.x] = shared[0];",
    ]

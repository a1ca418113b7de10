"""Random NumPy expressions, each run on NumPy's arrays and on lazy ones: what `test_differential` compares.

A case is made from its seed alone: an array of random shape, type and chunks, up to two operations that are exact, and
one operation of any kind. `text` says what was called.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import glassloom.array as ga
import numpy as np

DTYPES = ("f8", "f8", "f8", "f4", "f2", "i8", "i8", "i4", "i1", "u1", "u2", "?", "c16", "c8", "M8[D]", "m8[s]")
Operation = tuple[str, Callable[[Any, Any], Any]]
"""What a person reads, and a function of the array's namespace and the array."""


@dataclass
class Draw:
    """Random choices, and the further arrays of a case."""

    rng: np.random.Generator
    made: list[str] = field(default_factory=list)

    def one(self, choices: Any) -> Any:
        return choices[int(self.rng.integers(len(choices)))]

    def chance(self, probability: float) -> bool:
        return bool(self.rng.random() < probability)

    def integer(self, low: int, high: int) -> int:
        """Return an integer from `low` to `high`, both included."""
        return int(self.rng.integers(low, high + 1))

    def shape(self, most: int = 3) -> tuple[int, ...]:
        lengths = (0, 1, 1, 2, 3, 4, 5, 6, 7) if self.chance(0.25) else (1, 2, 3, 4, 5, 6, 7)
        return tuple(self.one(lengths) for _ in range(self.integer(0 if self.chance(0.2) else 1, most)))

    def values(self, shape: tuple[int, ...], dtype: str) -> Any:
        low = 0 if np.dtype(dtype).kind in "ub" else -4
        array = self.rng.integers(low, 6, size=shape)
        if np.dtype(dtype).kind in "fc":
            array = array + self.one((0, 0.5, 0.25)) * self.rng.integers(0, 4, size=shape)
            if self.chance(0.2):
                array = np.where(self.rng.random(shape) < 0.2, self.one((np.nan, np.nan, np.inf)), array)
            if np.dtype(dtype).kind == "c":
                array = array + 1j * self.rng.integers(-2, 3, size=shape)
        return np.asarray(array).astype(dtype)

    def chunks(self, shape: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
        found = []
        for length in shape:
            cuts = sorted(self.integer(0, length) for _ in range(self.integer(0, 3)))
            edges = [0, *(cut for cut in cuts if self.chance(0.1) or 0 < cut < length), length]
            found.append(tuple(stop - start for start, stop in zip(edges, edges[1:], strict=False)))
        return tuple(found)

    def array(self, shape: tuple[int, ...], dtype: str) -> Callable[[Any], Any]:
        """Return a function that gives an array of a namespace: NumPy's, or a lazy one in random chunks."""
        values = self.values(shape, dtype)
        chunks = self.chunks(shape)
        is_lazy = self.chance(0.7)
        return lambda xp: ga.from_array(values, chunks=chunks) if xp is ga and is_lazy else values

    def axis(self, ndim: int, several: bool = False, none: bool = True) -> Any:
        if none and (not ndim or self.chance(0.3)):
            return None
        if several and ndim > 1 and self.chance(0.3):
            return tuple(int(a) for a in self.rng.permutation(ndim)[: self.integer(1, ndim)])
        return self.integer(-ndim, max(ndim - 1, 0))


def near(d: Draw, x: Any) -> tuple[str, Callable[[Any], Any]]:
    """Return another operand for an array: of a shape that broadcasts, or a scalar."""
    kind = d.one(("same", "same", "part", "python", "numpy"))
    dtype = d.one(DTYPES) if d.chance(0.4) or x.dtype.kind in "mM" else x.dtype.str
    if kind == "python":
        value = d.one((2, 3, -1, 0, 2.5, True, 1j, 300)) if x.dtype.kind not in "mM" else np.timedelta64(2, "D")
        return repr(value), lambda xp: value
    if kind == "numpy":
        scalar = d.values((), dtype)[()]
        return repr(scalar), lambda xp: scalar
    shape = x.shape
    if kind == "part":
        shape = tuple(1 if d.chance(0.4) else n for n in shape)[d.integer(0, len(shape)) :]
    return f"{np.dtype(dtype).str}{shape}", d.array(shape, dtype)


UNARY = ("negative", "absolute", "sign", "square", "rint", "isnan", "isfinite", "logical_not", "conjugate", "sqrt", "exp", "log",
         "sin", "tanh", "floor", "ceil", "trunc", "reciprocal", "signbit", "positive", "invert", "cbrt", "expm1", "isnat",
         "deg2rad", "arctan")  # fmt: skip
BINARY = ("add", "subtract", "multiply", "true_divide", "floor_divide", "remainder", "power", "maximum", "minimum", "fmax",
          "fmin", "equal", "not_equal", "less", "greater_equal", "logical_and", "logical_xor", "bitwise_and", "bitwise_or",
          "left_shift", "hypot", "arctan2", "logaddexp", "copysign", "gcd", "fmod", "heaviside", "nextafter")  # fmt: skip


def unary(d: Draw, x: Any) -> Operation:
    name = d.one(UNARY)
    return f"{name}(x)", lambda xp, v: getattr(xp, name)(v)


def binary(d: Draw, x: Any) -> Operation:
    name = d.one(BINARY)
    text, other = near(d, x)
    if d.chance(0.3):
        return f"{name}({text}, x)", lambda xp, v: getattr(xp, name)(other(xp), v)
    return f"{name}(x, {text})", lambda xp, v: getattr(xp, name)(v, other(xp))


REDUCTIONS = ("sum", "prod", "min", "max", "any", "all", "mean", "var", "std", "nansum", "nanprod", "nanmin", "nanmax", "nanmean",
              "nanstd", "count_nonzero", "median", "nanmedian", "ptp")  # fmt: skip


def reduction(d: Draw, x: Any) -> Operation:
    name = d.one(REDUCTIONS)
    options: dict[str, Any] = {"axis": d.axis(x.ndim, several=True)}
    if d.chance(0.3):
        options["keepdims"] = True
    if name in ("sum", "prod", "mean", "nansum") and d.chance(0.2):
        options["dtype"] = d.one(("f8", "f4", "i8"))
    if name in ("var", "std", "nanstd") and d.chance(0.4):
        options["ddof"] = 1
    return f"{name}(x, {options})", lambda xp, v: getattr(xp, name)(v, **options)


def scan(d: Draw, x: Any) -> Operation:
    name = d.one(("cumsum", "cumprod", "nancumsum", "argmin", "argmax", "nanargmax", "diff", "gradient"))
    options: dict[str, Any] = {"axis": d.axis(x.ndim, none=name not in ("diff",))}
    if name.startswith("arg") and d.chance(0.3):
        options["keepdims"] = True
    if name == "diff":
        options["n"] = d.integer(0, 3)
    return f"{name}(x, {options})", lambda xp, v: getattr(xp, name)(v, **options)


def quantiles(d: Draw, x: Any) -> Operation:
    name = d.one(("quantile", "nanquantile", "percentile"))
    q = d.one((0.5, 0.3, [0.2, 0.9], 1, 0))
    options: dict[str, Any] = {
        "axis": d.axis(x.ndim, several=True),
        "method": d.one(("linear", "nearest", "lower", "hazen")),
    }
    if d.chance(0.3):
        options["keepdims"] = True
    if not x.size or x.dtype.kind == "b":  # NumPy's own results depend on the method there
        return "x", lambda xp, v: v
    return f"{name}(x, {q}, {options})", lambda xp, v: getattr(xp, name)(v, q, **options)


def ordering(d: Draw, x: Any) -> Operation:
    axis = d.axis(x.ndim)
    name = d.one(("sort", "argsort", "unique", "searchsorted", "isin", "digitize", "histogram", "bincount", "lexsort"))
    if name in ("sort", "argsort"):
        return f"{name}(x, {axis}, stable)", lambda xp, v: getattr(xp, name)(v, axis=axis, stable=True)
    if name in ("unique", "bincount"):
        return f"{name}(x)", lambda xp, v: getattr(xp, name)(v)
    if name == "lexsort":
        return "lexsort([x, -x])", lambda xp, v: xp.lexsort([v, v * 2])
    if name == "searchsorted":
        side = d.one(("left", "right"))
        return f"searchsorted(sort(x), x, {side})", lambda xp, v: xp.searchsorted(xp.sort(xp.ravel(v)), v, side=side)
    if name == "isin":
        return "isin(x, [1, 2])", lambda xp, v: xp.isin(v, [1, 2, 5])
    if name == "digitize":
        return "digitize(x, [0, 2])", lambda xp, v: xp.digitize(v, [0, 2, 4])
    bins = d.one((3, [0, 1, 4]))
    limits = d.one((None, (-2, 3)))
    return f"histogram(x, {bins}, {limits})", lambda xp, v: xp.histogram(v, bins, limits)


def structure(d: Draw, x: Any) -> Operation:
    n = x.ndim
    axis = d.axis(n)
    known = d.axis(n, none=False)
    order = tuple(int(a) for a in d.rng.permutation(n))
    fortran = d.one("CF")
    return d.one([
        lambda: ("transpose(x)", lambda xp, v: xp.transpose(v)),
        lambda: (f"transpose(x, {order})", lambda xp, v: xp.transpose(v, order)),
        lambda: (f"reshape(x, -1, {fortran})", lambda xp, v: xp.reshape(v, -1, order=fortran)),
        lambda: (f"reshape(x, turned, {fortran})", lambda xp, v: xp.reshape(v, v.shape[::-1], order=fortran)),
        lambda: ("squeeze(x)", lambda xp, v: xp.squeeze(v)),
        lambda: (f"expand_dims(x, {known})", lambda xp, v: xp.expand_dims(v, known)),
        lambda: (f"flip(x, {axis})", lambda xp, v: xp.flip(v, axis)),
        lambda: (f"roll(x, 2, {axis})", lambda xp, v: xp.roll(v, 2, axis)),
        lambda: (f"swapaxes(x, 0, {known})", lambda xp, v: xp.swapaxes(v, 0, known)),
        lambda: (f"moveaxis(x, {known}, 0)", lambda xp, v: xp.moveaxis(v, known, 0)),
        lambda: ("rot90(x)", lambda xp, v: xp.rot90(v, 3)),
        lambda: ("tile(x, (2, 1))", lambda xp, v: xp.tile(v, (2, 1))),
        lambda: (f"repeat(x, 2, {axis})", lambda xp, v: xp.repeat(v, 2, axis)),
        lambda: (f"concatenate([x, x], {axis})", lambda xp, v: xp.concatenate([v, v], axis)),
        lambda: (f"stack([x, x], {known})", lambda xp, v: xp.stack([v, v], known)),
        lambda: ("vstack([x, x])", lambda xp, v: xp.vstack([v, v])),
        lambda: ("hstack([x, x])", lambda xp, v: xp.hstack([v, v])),
        lambda: ("dstack([x])", lambda xp, v: xp.dstack([v])),
        lambda: ("column_stack([x, x])", lambda xp, v: xp.column_stack([v, v])),
        lambda: ("atleast_3d(x)", lambda xp, v: xp.atleast_3d(v)),
        lambda: ("broadcast_to(x, (2, ...))", lambda xp, v: xp.broadcast_to(v, (2, *v.shape))),
        lambda: (f"append(x, x, {axis})", lambda xp, v: xp.append(v, v, axis)),
        lambda: (f"insert(x, 1, 3, {axis})", lambda xp, v: xp.insert(v, 1, 3, axis)),
        lambda: (f"delete(x, 0, {axis})", lambda xp, v: xp.delete(v, 0, axis)),
        lambda: (f"take(x, [0, -1], {axis})", lambda xp, v: xp.take(v, [0, -1], axis)),
        lambda: ("diag(x, 1)", lambda xp, v: xp.diag(v, 1)),
        lambda: ("diagonal(x)", lambda xp, v: xp.diagonal(v)),
        lambda: ("tril(x, -1)", lambda xp, v: xp.tril(v, -1)),
        lambda: ("triu(x)", lambda xp, v: xp.triu(v)),
        lambda: ("array_split(x, 2)[1]", lambda xp, v: xp.array_split(v, 2)[1]),
        lambda: (f"pad(x, 1, {(mode := d.one(('constant', 'edge', 'reflect', 'symmetric', 'wrap', 'mean', 'maximum', 'linear_ramp')))})",
                 lambda xp, v: xp.pad(v, 1, mode)),
        lambda: ("ediff1d(x)", lambda xp, v: xp.ediff1d(v)),
        lambda: ("trim(x)[..., ::-2]", lambda xp, v: v[..., ::-2]),
    ])()  # fmt: skip


def index_of(d: Draw, x: Any) -> tuple[Any, ...]:
    entries: list[Any] = []
    for length in x.shape[: d.integer(0, x.ndim)]:
        kind = d.one(("slice", "slice", "int", "list", "mask"))
        if kind == "int" and length:
            entries.append(d.integer(-length, length - 1))
        elif kind == "list" and length and not any(isinstance(e, (list, np.ndarray)) for e in entries):
            entries.append([d.integer(-length, length - 1) for _ in range(d.integer(0, 4))])
        elif kind == "mask" and not any(isinstance(e, (list, np.ndarray)) for e in entries):
            entries.append(d.rng.random(length) < 0.5)
        else:
            bounds = [d.one((None, d.integer(-length - 1, length + 1))) for _ in range(2)]
            entries.append(slice(*bounds, d.one((None, 1, 2, -1, -2))))
    if d.chance(0.2):
        entries.insert(d.integer(0, len(entries)), None)
    return tuple(entries)


def indexing(d: Draw, x: Any) -> Operation:
    key = index_of(d, x)
    return f"x[{key}]", lambda xp, v: v[key]


def assignment(d: Draw, x: Any) -> Operation:
    key = tuple(entry for entry in index_of(d, x) if entry is not None)
    value = d.array(x[key].shape if d.chance(0.5) else (), x.dtype.str)
    is_lazy_key = d.chance(0.5)

    def lazy(entry: Any) -> Any:
        is_list = isinstance(entry, (list, np.ndarray)) and len(entry)
        return ga.from_array(np.asarray(entry), chunks=2) if is_list else entry

    def assign(xp: Any, v: Any) -> Any:
        made = v.copy()
        made[tuple(map(lazy, key)) if xp is ga and is_lazy_key else key] = value(xp)
        return made

    return f"x[{key}] = value", assign


def masked(d: Draw, x: Any) -> Operation:
    def assign(xp: Any, v: Any) -> Any:
        made = v.copy()
        made[v == v] = xp.ravel(v)[: int((v == v).sum())]
        return made

    return d.one([("x[x == x] = values", assign), ("x[x != 0]", lambda xp, v: v[v != 0]), ("argwhere(x)", lambda xp, v: xp.argwhere(v)),
                  ("nonzero(x)", lambda xp, v: xp.nonzero(v)), ("compress", lambda xp, v: xp.compress([True, False], v, 0)),
                  ("extract", lambda xp, v: xp.extract(v != 0, v))])  # fmt: skip


def products(d: Draw, x: Any) -> Operation:
    dtype = d.one(("f8", "i8", x.dtype.str)) if x.dtype.kind not in "mM" else x.dtype.str
    last = x.shape[-1] if x.ndim else 1
    right = d.array((last, d.integer(1, 3)), dtype)
    if (
        x.dtype.kind in "fc"
        and not np.isfinite(x).all()
        or np.dtype(dtype).kind in "fc"
        and not np.isfinite(right(np)).all()
    ):
        return "x", lambda xp, v: v  # what BLAS makes of 0 times infinity depends on the shapes
    return d.one([
        ("x @ y", lambda xp, v: v @ right(xp)), ("dot(x, y)", lambda xp, v: xp.dot(v, right(xp))),
        ("tensordot(x, y, 1)", lambda xp, v: xp.tensordot(v, right(xp), 1)), ("outer(x, x)", lambda xp, v: xp.outer(v, v)),
        ("inner(x, x)", lambda xp, v: xp.inner(v, v)), ("kron(x, [1, 2])", lambda xp, v: xp.kron(v, np.array([1, 2]))),
        ("einsum(...i,ij)", lambda xp, v: xp.einsum("...i,ij->...j", v, right(xp))), ("cov(x)", lambda xp, v: xp.cov(v)),
        ("trace(x)", lambda xp, v: xp.trace(v)), ("vdot(x, x)", lambda xp, v: xp.vdot(v, v)),
        ("convolve(x, [1, 2])", lambda xp, v: xp.convolve(xp.ravel(v), [1, 2, 3], "same")),
        ("polyval([1, 2], x)", lambda xp, v: xp.polyval([1, 2], v)),
        ("fft(x)", lambda xp, v: xp.fft.fft(v)), ("trapezoid(x)", lambda xp, v: xp.trapezoid(v)),
    ])  # fmt: skip


def elements(d: Draw, x: Any) -> Operation:
    text, other = near(d, x)
    dtype = d.one(("f8", "f4", "i8", "u1", "?", "c16"))
    low, high = d.one(((-1, 2), (0, None), (None, 1), (1, 300), (0.5, 2.5)))
    return d.one([
        (f"where(x > 0, x, {text})", lambda xp, v: xp.where(v != 0, v, other(xp))),
        (f"clip(x, {low}, {high})", lambda xp, v: xp.clip(v, low, high)),
        ("round(x, 1)", lambda xp, v: xp.round(v, 1)), ("nan_to_num(x)", lambda xp, v: xp.nan_to_num(v)),
        (f"x.astype({dtype})", lambda xp, v: v.astype(dtype)), ("real(x)", lambda xp, v: xp.real(v)), ("imag(x)", lambda xp, v: xp.imag(v)),
        (f"isclose(x, {text})", lambda xp, v: xp.isclose(v, other(xp))), ("angle(x)", lambda xp, v: xp.angle(v)),
        ("interp(x)", lambda xp, v: xp.interp(v, [0, 1, 3], [2, 5, 1])), ("select", lambda xp, v: xp.select([v != 0], [v], 7)),
        ("average(x)", lambda xp, v: v if v.dtype.kind == "m" else xp.average(v)), ("array_equal(x, x)", lambda xp, v: xp.array_equal(v, v)),
        (f"x == {text}", lambda xp, v: v == other(xp)), ("x == 'a'", lambda xp, v: v == "a"),
        (f"x + {text}", lambda xp, v: v + other(xp)), (f"x // {text}", lambda xp, v: v // other(xp)),
        (f"x ** {text}", lambda xp, v: v ** other(xp)), ("-x", lambda xp, v: -v), ("sinc(x)", lambda xp, v: xp.sinc(v)),
        ("zeros_like(x)", lambda xp, v: xp.zeros_like(v)), ("count_nonzero(x)", lambda xp, v: xp.count_nonzero(v)),
    ])  # fmt: skip


SCALARS = (np.nan, np.inf, -np.inf, 300, -3, 0, 7, 10**30, 1j, 2.7, True, None, "a", "12", np.float64(np.nan), np.int64(300),
           np.float32(2.5), np.complex128(1j), np.timedelta64(1, "s"), np.datetime64("2020-01-01"), np.array(300), np.array(1.5))  # fmt: skip


def scalar_in_place(d: Draw, x: Any) -> Operation:
    """Return an assignment of a scalar, which fits or doesn't, or its relatives."""
    value = d.one(SCALARS)
    kind = d.one(("assign", "assign", "assign", "mask", "positions", "fill", "full", "pad", "list"))
    if kind == "full":
        return f"full_like(x, {value!r})", lambda xp, v: xp.full_like(v, value)
    if kind == "pad":
        return f"pad(x, 1, {value!r})", lambda xp, v: xp.pad(v, 1, constant_values=value)
    key = tuple(entry for entry in index_of(d, x) if entry is not None)
    if kind == "list":
        value = [value]
        key = (slice(None, None, d.one((1, 2, -1))),)
    drawn = d.rng.random(x.shape[:1] if d.chance(0.5) else x.shape) < 0.5

    def put(xp: Any, v: Any) -> Any:
        made = v.copy()
        if kind == "fill":
            made.fill(value)
        elif kind in ("mask", "positions"):
            where: Any = drawn if kind == "mask" else drawn.ravel()[: len(x)].nonzero()[0]
            made[ga.from_array(where, chunks=2) if xp is ga else where] = value
        else:
            made[key] = value
        return made

    return f"{kind}: x[{drawn.shape if kind == 'mask' else key}] = {value!r}", put


def masked_in_place(d: Draw, x: Any) -> Operation:
    """Return assignments to masked arrays, and of them."""
    array = np.ma.masked_array(x, d.rng.random(x.shape) < d.one((0.0, 0.3, 1.0)))
    chunks = d.chunks(x.shape)
    kind = d.one(("key", "key", "own mask", "mask", "mask of rows"))
    key: Any = tuple(entry for entry in index_of(d, x) if entry is not None)
    if kind == "own mask" and x.ndim:
        key = array == array
    elif kind != "key":
        kind = "mask" if not x.ndim else kind
        key = d.rng.random(x.shape[:1] if kind == "mask of rows" else x.shape) < 0.5
    shape = x[np.ma.getdata(key) if kind == "own mask" else key].shape
    values, is_hidden = d.values(shape, x.dtype.str), d.rng.random(shape) < 0.4
    value = d.one((np.ma.masked, 1, values, np.ma.masked_array(values, is_hidden)))
    is_lazy = d.chance(0.5)

    def put(xp: Any, v: Any) -> Any:
        made: Any = ga.from_array(array, chunks=chunks) if xp is ga else array.copy()
        lazy_key = made == made if kind == "own mask" else ga.from_array(key, chunks=2) if kind != "key" else key
        lazy_value = ga.from_array(value, chunks=2) if is_lazy and np.ndim(value) else value
        made[lazy_key if xp is ga else key] = lazy_value if xp is ga else value
        return made

    return f"masked by {kind} {key!r:.80}: {value!r:.80}", put


def sequences(d: Draw, x: Any) -> Operation:
    """Return products of sequences that hold NaN, infinity or truth values, polynomials, and sets of two types."""
    flat = np.ravel(x)
    other = d.array((d.integer(1, 4),), d.one((*DTYPES[:-2], "f8", "?", "?")))
    mode = d.one(("full", "same", "valid"))
    if flat.dtype.kind in "mM" or flat.dtype == "f2" or other(np).dtype == "f2":
        return "x", lambda xp, v: v
    name = d.one(("convolve", "convolve", "correlate", "correlate", "polyval", "intersect1d", "union1d", "setdiff1d"))
    if name == "polyval":
        return "polyval(y, x)", lambda xp, v: xp.polyval(other(np), xp.ravel(v))
    if name.endswith("1d"):
        return f"{name}(x, y)", lambda xp, v: getattr(xp, name)(xp.ravel(v), other(xp))
    swap = d.chance(0.5)

    def call(xp: Any, v: Any) -> Any:
        pair = (xp.ravel(v), other(xp))
        return getattr(xp, name)(*(pair[::-1] if swap else pair), mode)

    return f"{name}(x, {other(np).dtype}{other(np).shape}, {mode}, {swap})", call


CORNERS = (scalar_in_place, masked_in_place, sequences)
EXACT = (structure, structure, indexing)
ANY = (unary, binary, binary, reduction, reduction, scan, quantiles, ordering, structure, indexing, assignment, masked, products,
       elements, elements)  # fmt: skip


@dataclass(frozen=True)
class Case:
    """What both libraries made of an expression: results, or what they raised."""

    text: str
    expected: Any
    found: Any
    is_strict: bool = False
    """Whether errors have to be of one type."""


def run_corner(seed: int) -> Case:
    """Return the case of a seed where NumPy refuses values, masks them, or multiplies NaN and infinity."""
    d = Draw(np.random.default_rng(seed))
    shape, dtype = d.shape(), d.one(DTYPES)
    x, chunks = d.values(shape, dtype), d.chunks(shape)
    call_of = d.one(CORNERS)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        name, call = call_of(d, x)
        expected = attempt(call, np, x)
        found = attempt(call, ga, ga.from_array(x, chunks=chunks), compute=True)
        return Case(f"x = {dtype}{shape} in {chunks}; {name}", expected, found, call_of is scalar_in_place)


def run(seed: int) -> Case:
    """Return the case of a seed."""
    d = Draw(np.random.default_rng(seed))
    shape, dtype = d.shape(), d.one(DTYPES)
    x = d.values(shape, dtype)
    chunks = d.chunks(shape)
    lazy: Any = ga.from_array(x, chunks=chunks)
    text = [f"x = {dtype}{shape} in {chunks}"]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for _ in range(d.integer(0, 2)):
            name, call = d.one(EXACT)(d, x)
            after = attempt(call, np, x)
            if not isinstance(after, np.ndarray) or after.size > 3000:
                continue
            text.append(f"x = {name}")
            lazy_after = attempt(call, ga, lazy)
            if isinstance(lazy_after, Exception):
                return Case("; ".join(text), after, lazy_after)
            x, lazy = after, lazy_after
        name, call = d.one(ANY)(d, x)
        text.append(name)
        expected = attempt(call, np, x)
        return Case("; ".join(text), expected, attempt(call, ga, lazy, compute=True))


def attempt(call: Callable[[Any, Any], Any], xp: Any, x: Any, compute: bool = False) -> Any:
    """Return what a call returns, computed on request, or the exception."""
    try:
        made = call(xp, x)
        return computed(made) if compute else made
    except Exception as error:  # whatever either library raises is what the other is compared with
        return error


def computed(value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return tuple(map(computed, value))
    if not isinstance(value, ga.Array):
        return value
    result = value.compute(scheduler="inline")
    if result is np.ma.masked:  # NumPy's one masked element, of no type
        return np.ma.masked_array(np.zeros((), value.dtype), True)
    said, is_ = (value.dtype, value.shape), (np.asarray(result).dtype, np.shape(result))
    if said[0] != is_[0] or any(n == n and n != m for n, m in zip(said[1], is_[1], strict=True)):
        raise AssertionError(f"the array said {said}, but its value has {is_}")
    return result


def difference(case: Case) -> str | None:
    """Return how the two differ, None if they don't. What isn't there yet says so, which is no difference."""
    expected, found = case.expected, case.found
    if isinstance(found, NotImplementedError):
        return None
    if case.is_strict and isinstance(expected, Exception):
        return None if type(found) is type(expected) else f"NumPy: {expected!r:.300}\nours:  {found!r:.300}"
    if isinstance(expected, TypeError) and not isinstance(found, AssertionError):
        return (
            None  # some types go through where NumPy refuses them: differences of truth values, products of durations
        )
    if isinstance(expected, Exception) or isinstance(found, Exception):
        is_same = (
            isinstance(expected, Exception) and isinstance(found, Exception) and not isinstance(found, AssertionError)
        )
        return None if is_same else f"NumPy: {expected!r:.300}\nours:  {found!r:.300}"
    if isinstance(expected, (tuple, list)):
        pairs = zip(expected, found, strict=True)
        return next((found for found in (difference(Case(case.text, *pair)) for pair in pairs) if found), None)
    if isinstance(expected, np.ma.MaskedArray):
        masks = np.ma.getmaskarray(expected), np.ma.getmaskarray(found)
        if not np.array_equal(*masks):
            return f"NumPy: masks {masks[0]!r:.300}\nours:  masks {masks[1]!r:.300}"
        expected, found = (np.where(masks[0], np.zeros((), x.dtype), np.ma.getdata(x)) for x in (expected, found))
    return _unlike(np.asarray(expected), np.asarray(found))


def _unlike(expected: Any, found: Any) -> str | None:
    if expected.dtype != found.dtype or expected.shape != found.shape:
        return f"NumPy: {expected.dtype}{expected.shape}\nours:  {found.dtype}{found.shape}"
    kind = expected.dtype.kind
    if kind in "fc":
        digits = {2: 5e-3, 4: 1e-4, 8: 1e-4 if kind == "c" else 1e-8, 16: 1e-8}[expected.dtype.itemsize]
        finite = np.abs(expected[np.isfinite(expected)])
        is_same = np.allclose(found, expected, digits, digits * float(finite.max(initial=0)), equal_nan=True)
    else:
        is_same = np.array_equal(expected, found, equal_nan=kind in "mM")
    return None if is_same else f"NumPy: {expected!r:.400}\nours:  {found!r:.400}"

"""Tokens: unequal values never share one; equal values do, in every process."""

from __future__ import annotations

import copy
import dataclasses
import datetime
import decimal
import enum
import fractions
import functools
import itertools
import os
import pathlib
import pickle
import struct
import subprocess
import sys
import threading
import types
import uuid
import zoneinfo
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple
from typing import Any, NamedTuple

import cloudpickle
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import token_values
from glassloom.graph import CallTokenizer, tokenize
from hypothesis import given, settings
from hypothesis import strategies as st
from long_tests import examples
from notebook_code import DEFINITIONS, in_main
from scipy import sparse, special

FOLDER = str(pathlib.Path(__file__).parent)
SHARED = str(pathlib.Path(__file__).parents[1] / "shared")


class Point(NamedTuple):
    x: int
    y: int


Pair = namedtuple("Pair", "x y")


class Items(list[Any]):
    pass


class Names(dict[Any, Any]):
    pass


class Group(set[Any]):
    pass


class Number(int):
    pass


class Unit(np.ndarray):
    """An array with a unit that its pickle leaves out."""

    def __new__(cls, values: Any, unit: str) -> Unit:
        made = np.asarray(values).view(cls)
        made.unit = unit
        return made

    unit: str

    def __array_finalize__(self, source: Any) -> None:
        self.unit = getattr(source, "unit", "")


class UnitFrame(pd.DataFrame):
    _metadata = ["unit"]  # noqa: RUF012 - pandas reads it so
    unit = ""

    @property
    def _constructor(self) -> Any:
        return UnitFrame


def unit_frame(unit: str) -> UnitFrame:
    frame = UnitFrame({"a": [1]})
    frame.unit = unit
    return frame


def with_attrs(value: Any, **attrs: Any) -> Any:
    value.attrs.update(attrs)
    return value


def masked(fill: Any = None, hard: bool = False) -> Any:
    return np.ma.MaskedArray([1, 2], mask=[False, True], fill_value=fill, hard_mask=hard)


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


class Access(enum.IntFlag):
    READ = 1


@dataclasses.dataclass
class Plain:
    x: Any


@dataclasses.dataclass(frozen=True)
class Frozen:
    x: Any


class Slotted:
    __slots__ = ("x",)

    def __init__(self, x: Any) -> None:
        self.x = x


class Scale:
    def __init__(self, factor: int) -> None:
        self.factor = factor

    def __call__(self, x: int) -> int:
        return self.factor * x

    def apply(self, x: int) -> int:
        return self.factor * x


QUIET_NAN = struct.unpack("<d", (0x7FF8000000000000).to_bytes(8, "little"))[0]
OTHER_NAN = struct.unpack("<d", (0x7FF8000000000001).to_bytes(8, "little"))[0]
BERLIN, UTC = zoneinfo.ZoneInfo("Europe/Berlin"), datetime.UTC
NOON = datetime.datetime(2020, 1, 1, 12)
RECORDS = np.array([("a", 1)], dtype=[("x", "U1"), ("y", "i4")])
LONG_LIST = list(range(1000))

UNEQUAL: dict[str, list[Any]] = {
    "numbers": [0, 1, -1, True, False, 0.0, -0.0, 1.0, 1j, 0j, complex(0, -0.0), 2**63, -(2**63), 2**64, 10**5000,
                float("inf"), QUIET_NAN, OTHER_NAN, Number(1), np.int8(1), np.int64(1), np.float32(1), np.float64(1),
                np.bool_(True), np.complex64(1), np.longdouble(1), decimal.Decimal(1), decimal.Decimal("1.0"),
                decimal.Decimal("-0"), decimal.Decimal("nan"), decimal.Decimal("snan"), decimal.Decimal(0), fractions.Fraction(1), np.float16(1), np.uint64(1)],
    "text": ["", "a", "ab", "1", np.str_("a"), np.bytes_(b"a"), b"a", bytearray(b"a"), memoryview(b"a"), b"", "\ud800",
             b"a" * 2000, bytearray(b"a" * 2000), memoryview(b"a" * 2000), "a" * 2000, np.void(b"a")],
    "memory": [memoryview(b"abcdef"), memoryview(b"abcdef")[::2], memoryview(b"abcdef")[::-1], memoryview(b"abcdef").cast("H"),
               memoryview(b"abcdef").cast("B", (2, 3)), memoryview(b"abcdef").cast("B", (3, 2)),
               memoryview(b"abcdef").cast("c")],
    "constants": [None, ..., NotImplemented, (), "None", "Ellipsis"],
    "sequences": [[1, 2], (1, 2), Point(1, 2), Pair(1, 2), Items([1, 2]), {1, 2}, frozenset([1, 2]), {1: 2}, [[1], 2],
                  [1, [2]], [[1, 2]], [(1, 2)], range(1, 3), slice(1, 2), slice(1, 2, 1), slice(0, 1, 2), range(1, 5, 2), deque([1, 2]),
                  deque([1, 2], 5), ["ab"], ["a", "b"], Group([1, 2]), [], {}, set(), frozenset(), np.array([1, 2])],
    "mappings": [{"a": 1, "b": 2}, {"b": 2, "a": 1}, {"a": 2, "b": 1}, Names(a=1, b=2), OrderedDict(a=1, b=2),
                 defaultdict(int, a=1, b=2), defaultdict(list, a=1, b=2), Counter(a=1, b=2), types.SimpleNamespace(a=1, b=2),
                 types.MappingProxyType({"a": 1, "b": 2})],
    "slices of arrays": [slice(np.arange(2000), None), slice(np.where(np.arange(2000) == 1000, 7, np.arange(2000)), None)],
    "times": [NOON, NOON.replace(tzinfo=UTC), NOON.replace(tzinfo=BERLIN), NOON.replace(fold=1), NOON.date(), NOON.time(),
              NOON.replace(tzinfo=datetime.timezone(datetime.timedelta(0), "UTC*")), datetime.timedelta(1), pd.Timestamp(NOON),
              pd.Timestamp(NOON, tz="UTC"), pd.Timestamp(NOON).as_unit("s"), np.datetime64(NOON), np.datetime64(NOON, "h"), pd.NaT, pd.NA,
              pd.Timedelta(1, "D"), np.timedelta64(1, "D")],
    "paths and ids": [pathlib.PurePosixPath("/a"), pathlib.PureWindowsPath("/a"), pathlib.PosixPath("/a"), "/a",
                      uuid.UUID(int=1), uuid.UUID(int=2)],
    "enumerations": [Colour.RED, Colour.BLUE, 1, Access.READ, Access(8), Access(16), Access(24), Access(0), Colour, Access],
    "objects": [Plain(1), Plain(2), Frozen(1), Slotted(1), Slotted(2), Plain([1]), Plain((1,)), Scale(1), Scale(2),
                Scale(1).apply, Scale(2).apply, Scale.apply, Scale],
    "arrays": [np.arange(4), np.arange(4.0), np.arange(4).reshape(2, 2), np.arange(4, dtype=">i8"), np.arange(4, dtype="i4"),
               np.zeros(0), np.zeros((0, 2)), np.zeros((2, 0)), np.array(0), np.array([0.0]), np.array([-0.0]), np.array(["a"]),
               np.array(["a"], dtype=object), np.array([b"a"]), np.array(["a"], dtype=np.dtypes.StringDType()), RECORDS,
               np.array(["a"], dtype=np.dtypes.StringDType(na_object=None)), RECORDS.view(np.recarray), np.matrix([[1, 2]]),
               np.array([[1, 2]]), np.array([1, "1"], dtype=object), np.array(["1", 1], dtype=object),
               np.array([1], dtype=np.dtype("i4", metadata={"a": 1})), np.array([1], "i4"), np.array([1], "M8[D]"), np.array([1], "M8[s]"),
               np.array([([1, 2],)], dtype=[("x", "i4", 2)]), np.array([({},)], dtype=[("x", "O")]), np.array([1], dtype=np.longdouble),
               np.array([[1], [2, 3], None], dtype=object)],
    "subclasses of arrays": [Unit([1, 2], "m"), Unit([1, 2], "km"), np.array([1, 2]), Unit([1, 3], "m"), masked(), masked(7), masked(8),
                             masked(7, hard=True), np.ma.MaskedArray([1, 2]), np.ma.MaskedArray([1, 2], mask=[True, True]),
                             np.ma.MaskedArray([1, 3], mask=[False, True]), np.ma.masked],
    "dtypes": [np.dtype("i4"), np.dtype(">i4"), np.dtype("f4"), np.dtype("i4", metadata={"a": 1}), np.dtype([("x", "i4")]), np.dtype([("y", "i4")]),
               np.dtype([("x", "i4"), ("y", "i1")]), np.dtype([("x", "i4"), ("y", "i1")], align=True), np.dtype(("i4", 2)), np.dtype("O"), np.int32,
               np.dtype("M8[s]"), np.dtype("M8[25s]"), np.dtypes.StringDType(), np.dtypes.StringDType(coerce=False), pd.StringDtype("python"),
               pd.CategoricalDtype(["a"]), pd.CategoricalDtype(["a"], ordered=True), pd.PeriodDtype("D"), pd.PeriodDtype("M"),
               pd.DatetimeTZDtype(tz="UTC"), pd.IntervalDtype("i8"), pd.SparseDtype("f8"), pd.Int64Dtype(), pd.ArrowDtype(pa.int64())],
    "frames": [pd.DataFrame({"a": [1]}), with_attrs(pd.DataFrame({"a": [1]}), k=1), with_attrs(pd.DataFrame({"a": [1]}), k=2),
               pd.DataFrame({"a": [1]}).set_flags(allows_duplicate_labels=False), pd.DataFrame({"b": [1]}), pd.DataFrame({"a": [1]}, index=[1]),
               pd.DataFrame({"a": [1]}, index=pd.Index([0])), unit_frame("m"), unit_frame("km"), pd.Series([1]), with_attrs(pd.Series([1]), k=1), pd.Series([1], name="a"),
               pd.Series(["a"], dtype=object), pd.Series(["a"], dtype="string"), pd.Series(["a"], dtype="category"), pd.Series([1], dtype="Int64"),
               pd.Series([1], dtype="Sparse[int]"), pd.Series([pd.Interval(0, 1)]), pd.Series([pd.Interval(0, 1, "left")]), pd.Series([1.0]),
               pd.Series([pd.Period("2020-01", "M")]), pd.Series([1], dtype=pd.ArrowDtype(pa.int64()))],
    "indexes": [pd.Index([0, 1]), pd.RangeIndex(2), pd.Index([0, 1], name="n"), pd.CategoricalIndex([0, 1]), pd.IntervalIndex.from_breaks([0, 1, 2]),
                pd.MultiIndex.from_tuples([(0, 1)]), pd.MultiIndex.from_tuples([(0, 1)], names=["a", "b"]), pd.DatetimeIndex(["2020"]),
                pd.date_range("2020", periods=1, freq="D"), pd.date_range("2020", periods=1, freq="h"), pd.period_range("2020", periods=1, freq="D"),
                pd.DatetimeIndex(["2020"], tz="UTC"), pd.TimedeltaIndex([1])],
    "arrow": [pa.array([1, 2]), pa.array([1, 3]), pa.array([1.0, 2.0]), pa.chunked_array([[1, 2]]), pa.table({"a": [1, 2]}), pa.table({"b": [1, 2]}),
              pa.table({"a": [1, 2]}).replace_schema_metadata({"k": "v"}), pa.record_batch({"a": [1, 2]}), pa.py_buffer(b"a"), pa.int64(), pa.int32(), pa.scalar(1)],
    "sparse": [sparse.csr_array(np.eye(2)), sparse.csc_array(np.eye(2)), sparse.csr_matrix(np.eye(2)), sparse.csr_array(2 * np.eye(2)),
               sparse.coo_array(np.eye(2)), sparse.dok_array(np.eye(2)), np.eye(2)],
    "importable code": [int, len, sum, "abc".upper, "abd".upper, "abc".lower, [].append, np.add, np.multiply, np.sum, np.random.rand, int.__add__, str.join,
                        functools.partial(int, base=2), functools.partial(int, base=3), token_values.first, token_values.second, token_values.cached,
                        itertools.chain, os, sys, list[int], list[str], int | str, datetime.datetime.now, np.frompyfunc, token_values.Inner.method],
}  # fmt: skip


@pytest.mark.parametrize("kind", UNEQUAL)
def test_unequal_values_have_unequal_tokens(kind: str) -> None:
    groups: dict[str, list[Any]] = {}
    for value in UNEQUAL[kind]:
        groups.setdefault(tokenize(value), []).append(value)
    assert [values for values in groups.values() if len(values) > 1] == []


@pytest.mark.parametrize("kind", UNEQUAL)
def test_a_value_keeps_its_token(kind: str) -> None:
    assert [value for value in UNEQUAL[kind] if tokenize(value) != tokenize(value)] == []


@pytest.mark.parametrize("kind", UNEQUAL)
def test_a_copy_has_the_same_token(kind: str) -> None:
    copyable = [
        value for value in UNEQUAL[kind] if type(value) not in (memoryview, types.MappingProxyType, types.ModuleType)
    ]
    assert [value for value in copyable if tokenize(copy.deepcopy(value)) != tokenize(value)] == []


# Values that contain themselves, or parts that are one


def ring(*values: Any) -> Any:
    nodes = [Plain([value]) for value in values]
    for node, after in zip(nodes, nodes[1:] + nodes[:1], strict=True):
        node.x.append(after)
    return nodes[0]


def test_a_list_that_contains_itself_has_a_token() -> None:
    def loop(*values: Any) -> list[Any]:
        made: list[Any] = [*values]
        made.append(made)
        return made

    assert tokenize(loop(1)) == tokenize(loop(1)) != tokenize(loop(2))
    assert tokenize(loop(1)) != tokenize([1, loop(1)])


def test_objects_that_refer_to_each_other_have_a_token() -> None:
    assert tokenize(ring(1, 2, 3)) == tokenize(copy.deepcopy(ring(1, 2, 3)))
    others = [ring(1, 2), ring(2, 1), ring(1, 2, 3), ring(1, 3, 2), ring(1, 2, 1, 2), ring(1), [ring(1)], ring([1])]
    assert len({tokenize(each) for each in others}) == len(others)


def test_which_of_a_ring_is_meant_counts() -> None:
    whole = ring(1, 1, 2)
    assert len({tokenize(whole, each) for each in (whole, whole.x[1], whole.x[1].x[1])}) == 3


def test_a_tokenizer_gives_the_tokens_that_values_have_alone() -> None:
    whole, definition = ring(1, 2, 3), DEFINITIONS["mutual recursion"].format(1)
    part, function = whole.x[1], in_main(definition, "f")
    values = [
        whole,
        part,
        [whole, part],
        function,
        {function, Scale},
        threading.Lock,
        [[whole]],
        whole,
        *UNEQUAL["objects"],
    ]
    tokenizer = CallTokenizer("f", {})
    assert [tokenizer.tokenize((value, 1)) for value in values] == [tokenize("f", {}, (value, 1)) for value in values]


def test_a_tokenizer_looks_at_a_shared_part_once() -> None:
    class Counted:
        n_pickled = 0

        def __reduce__(self) -> Any:
            Counted.n_pickled += 1
            return (Counted, ())

    shared = Counted()
    tokenizer = CallTokenizer("f", {"data": shared})
    tokens = {tokenizer.tokenize((number, shared)) for number in range(10)}
    assert (len(tokens), Counted.n_pickled) == (10, 1)


def test_a_tokenizer_can_go_on_after_a_value_without_a_token() -> None:
    tokenizer = CallTokenizer("f", {})
    tokenizer.tokenize(([[threading.Lock()]],))
    assert tokenizer.tokenize(([1, [2]],)) == tokenize("f", {}, ([1, [2]],))


def test_calls_with_a_keyword_argument_without_a_token_are_equal_to_nothing() -> None:
    tokenizer = CallTokenizer("f", {"lock": threading.Lock()})
    assert len({tokenizer.tokenize((1,)) for _ in range(3)}) == 3


def test_a_graph_of_many_cycles_is_walked_once() -> None:
    nodes = [Plain([]) for _ in range(60)]
    for node in nodes:
        node.x = list(nodes)
    assert tokenize(nodes) == tokenize(copy.deepcopy(nodes))


def test_a_tree_of_shared_parts_is_walked_once() -> None:
    value: Any = ["leaf"]
    for _ in range(60):
        value = [value, (value,), frozenset([1]), value]
    assert tokenize(value) == tokenize(copy.deepcopy(value))


def test_one_object_twice_is_like_two_equal_objects() -> None:
    one = [[1]]
    assert tokenize([one, one]) == tokenize([one, copy.deepcopy(one)])


def test_what_contains_a_set_that_contains_it_is_equal_to_nothing() -> None:
    scale = Scale(1)
    scale.peers = {scale}  # type: ignore[attr-defined]
    assert tokenize(scale) != tokenize(scale)


def test_nesting_deeper_than_the_stack_is_equal_to_nothing() -> None:
    value: Any = [[]]
    for _ in range(100_000):
        value = [value, {}, {}]
    assert tokenize(value) != tokenize(value)


@pytest.mark.parametrize("make", [threading.Lock, lambda: (number for number in ())])
def test_what_cannot_be_pickled_is_equal_to_nothing(make: Any) -> None:
    value = make()
    assert tokenize([value]) != tokenize([value])


class Broken:
    def __reduce__(self) -> Any:
        return (Broken, (), None, (1 / 0 for _ in range(1)))


def test_what_fails_when_it_is_pickled_or_refers_to_memory_is_equal_to_nothing() -> None:
    for value in (Broken(), memoryview(np.array([[]], dtype=object))):
        assert tokenize(value) != tokenize(value)


def test_padding_does_not_count() -> None:
    dtype = np.dtype([("a", "i1"), ("b", "i8")], align=True)
    ones, zeros = (np.full(16, fill, "u1").view(dtype) for fill in (1, 0))
    for array in (ones, zeros):
        array["a"], array["b"] = 3, 4
    assert ones.tobytes() != zeros.tobytes()
    assert tokenize(ones) == tokenize(zeros)
    assert tokenize(ones[0]) == tokenize(zeros[0])


def test_empty_frames_and_short_texts_are_told_apart() -> None:
    whole = pd.DataFrame(
        {"a": pd.Series(["x", None, ""], dtype="str"), "b": [1, 2, 3], "c": pd.Categorical(list("xyx"))}
    )
    frames = [
        whole, whole[:0], whole[:1], whole[:0].astype({"b": "int32"}), whole[:0].astype({"a": "category"}), whole[["a", "b"]][:0],
        whole[:0].astype({"a": "string"}), whole[:0].rename(columns={"a": "b", "b": "a"}), whole[:0].astype({"c": pd.CategoricalDtype(["y", "x"], ordered=True)}),
        whole[:0].set_index("b"), whole[:0].rename_axis("row"),
    ]  # fmt: skip
    texts = [["x", None], ["x", ""], ["x"], ["x", "None"], ["x"] * 65, ["x"] * 66, [], [None], ["y"] * 64 + [None]]
    dtypes = ["str", "string"]
    values = [*frames, *(pd.Series(some, dtype=dtype) for some in texts for dtype in dtypes)]
    assert len({tokenize(value) for value in values}) == len(values)
    assert [tokenize(value) for value in values] == [tokenize(value.copy()) for value in values]


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.int64(), pa.list_(pa.int8())], ids=str)
@pytest.mark.parametrize(("start", "length"), [(0, 0), (0, 9), (5, 9), (3, 1), (990, 20)])
def test_columns_of_one_chunk_are_known_by_what_they_show(kind: pa.DataType, start: int, length: int) -> None:
    values = [[number % 9] if pa.types.is_list(kind) else number for number in range(1000)]
    whole = pa.chunked_array([pa.array([*values, None]).cast(kind)])
    shown = whole.slice(start, length)
    assert tokenize(shown) == tokenize(pa.chunked_array([pa.array(shown.to_pylist(), kind)]))
    assert tokenize(whole) == tokenize(pa.chunked_array([whole.chunk(0).slice(0, 7), whole.chunk(0).slice(7)]))


def test_the_rows_that_a_slice_does_not_show_do_not_count() -> None:
    whole = pa.table({"a": [0, 1, 2], "b": ["x", "y", "z"]})
    assert tokenize(whole.slice(1, 2)) == tokenize(pa.table({"a": [1, 2], "b": ["y", "z"]}))


_plain = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.complex_numbers(), st.text(max_size=5), st.binary(max_size=5),
    st.binary(max_size=5).map(bytearray), st.sampled_from([..., NotImplemented, *Colour, int, len, np.add]),
    st.decimals(allow_nan=False), st.fractions(), st.datetimes(timezones=st.just(BERLIN) | st.none()), st.dates(), st.timedeltas(),
    st.integers(0, 255).map(Access), st.uuids(), st.text("ab/", max_size=4).map(pathlib.PurePosixPath),
    st.builds(range, st.integers(-3, 3), st.integers(-3, 3)), st.integers(-3, 3).map(Number), st.integers(-3, 3).map(np.int64),
    st.integers(-3, 3).map(np.int8), st.floats().map(np.float64), st.text("ab\u20ac", max_size=3).map(np.str_),
)  # fmt: skip
_hashable = st.recursive(
    _plain.filter(lambda value: type(value) is not bytearray),
    lambda inner: (
        st.tuples(inner) | st.tuples(inner, inner) | st.frozensets(inner, max_size=3) | st.builds(Frozen, inner)
    ),
    max_leaves=4,
)
_arrays = st.builds(
    lambda values, dtype, order: np.array(values, dtype=dtype, order=order).reshape(-1, *([1] * (len(values) % 2))),
    st.lists(st.integers(0, 3), max_size=4),
    st.sampled_from(["i4", ">i4", "f8", "O", "U2", "?", "M8[s]", "g"]),
    st.sampled_from("CF"),
)


_atoms = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5))
_long = st.one_of(
    _atoms.map(lambda value: [value] * 65), _atoms.map(lambda value: (value,) * 65), _atoms.map(lambda value: dict.fromkeys(range(65), value)),
    _atoms.map(lambda value: {*range(65), value}), st.text(max_size=5).map(lambda value: frozenset([*map(str, range(65)), value])),
)  # fmt: skip


def _nested(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    items = st.lists(inner, max_size=3)
    return st.one_of(
        items, items.map(tuple), items.map(Items), st.builds(Point, inner, inner), st.builds(Pair, inner, inner),
        st.dictionaries(_hashable, inner, max_size=3), st.dictionaries(_hashable, inner, max_size=3).map(Names),
        st.sets(_hashable, max_size=4), st.frozensets(_hashable, max_size=4), st.sets(_hashable, max_size=4).map(Group),
        st.builds(slice, inner, inner), st.builds(Plain, inner), st.builds(Slotted, inner), st.builds(Scale, inner),
        st.builds(functools.partial, st.just(print), inner, end=inner), items.map(deque),
        items.map(lambda values: np.array([*values, None], dtype=object)),
        st.builds(lambda values, unit: Unit(values, unit), st.lists(st.integers(0, 3)), st.sampled_from(["m", "km"])),
        st.builds(lambda value: with_attrs(pd.Series([1]), k=value), inner),
    )  # fmt: skip


VALUES = st.recursive(_plain | _arrays | _long, _nested, max_leaves=8)


def spelled(value: Any) -> Any:
    """Return a value's structure as text: what the tokens must tell apart, found in another way."""
    kind = type(value)
    name = f"{kind.__module__}.{kind.__qualname__}"
    if kind is float or kind is np.float64:
        return f"{name} {struct.pack('<d', value).hex()}"
    if kind is complex:
        return f"{name} {struct.pack('<dd', value.real, value.imag).hex()}"
    if kind is Number:
        return f"{name} {int(value)}"
    if isinstance(value, (set, frozenset)):
        return f"{name} {sorted(map(spelled, value))}"
    if isinstance(value, dict):
        return f"{name} {[(spelled(key), spelled(item)) for key, item in value.items()]}"
    if isinstance(value, (list, tuple, deque)):
        return f"{name} {list(map(spelled, value))}"
    if isinstance(value, np.ndarray):
        content = list(map(spelled, value.ravel().tolist()))
        return f"{name} {value.dtype.str} {value.shape} {content} {spelled(getattr(value, 'unit', ''))}"
    if isinstance(value, slice):
        return f"{name} {spelled((value.start, value.stop, value.step))}"
    if kind in (Plain, Frozen, Slotted):
        return f"{name} {spelled(value.x)}"
    if kind is Scale:
        return f"{name} {spelled(value.factor)}"
    if kind is functools.partial:
        return f"{name} {spelled((value.args, value.keywords))}"
    if kind is pd.Series:
        return f"{name} {spelled(value.attrs)}"
    return f"{name} {value!r}"


@settings(max_examples=examples(300), deadline=None)
@given(st.lists(VALUES, max_size=12))
def test_two_values_share_a_token_if_and_only_if_they_are_equal(values: list[Any]) -> None:
    known = [(tokenize(value), spelled(value), value) for value in values]
    for (token, text, one), (other_token, other_text, other) in itertools.combinations(known, 2):
        assert (token == other_token) == (text == other_text), (one, other)


@settings(max_examples=examples(200), deadline=None)
@given(VALUES, VALUES)
def test_tokens_of_calls_are_those_of_their_parts(shared: Any, value: Any) -> None:
    tokenizer = CallTokenizer("f", {"shared": shared})
    assert tokenizer.tokenize((1, value)) == tokenize("f", {"shared": shared}, (1, value))
    assert tokenizer.tokenize(()) == tokenize("f", {"shared": shared}, ())


@given(VALUES)
def test_a_deep_copy_and_a_pickled_copy_have_the_same_token(value: Any) -> None:
    token = tokenize(value)
    assert tokenize(copy.deepcopy(value)) == token
    if "Unit" not in spelled(value):  # its pickle has no unit
        assert tokenize(pickle.loads(cloudpickle.dumps(value, 5))) == token


SCRIPT = """
import pickle, sys
sys.path[:0] = sys.argv[1:]
from glassloom.graph import tokenize
while True:
    length = int.from_bytes(sys.stdin.buffer.read(8), "little")
    if not length:
        break
    print(tokenize(pickle.loads(sys.stdin.buffer.read(length))), flush=True)
"""


@pytest.fixture(scope="module")
def other_process() -> Any:
    """Return a function that makes tokens of pickles in a process with another hash seed."""
    environment = {**os.environ, "PYTHONHASHSEED": "7"}
    command = [sys.executable, "-c", SCRIPT, FOLDER, SHARED]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment) as process:
        assert process.stdin is not None and process.stdout is not None
        into, out_of = process.stdin, process.stdout

        def token(value: Any) -> str:
            data = cloudpickle.dumps(value, 5)
            into.write(len(data).to_bytes(8, "little") + data)
            into.flush()
            return out_of.readline().decode().strip()

        yield token
        into.write(bytes(8))


@settings(max_examples=examples(100), deadline=None)
@given(VALUES)
def test_a_copy_in_another_process_has_the_same_token(other_process: Any, value: Any) -> None:
    if "Unit" not in spelled(value):
        assert other_process(value) == tokenize(value)


@pytest.mark.parametrize("kind", DEFINITIONS)
def test_code_of_a_notebook_has_the_same_token_in_another_process(other_process: Any, kind: str) -> None:
    if kind in ("cached", "size of the cache", "cached property"):
        pytest.skip("cloudpickle can't send it")
    function = in_main(DEFINITIONS[kind].format(1), "f")
    assert other_process(function) == tokenize(function)


def test_many_calls_have_the_tokens_that_each_has_by_itself() -> None:
    calls: list[Any] = [(1,), (2**70,), ("x",), (None,), (1.5, True), (), ([1],), (b"y",), (memoryview(b"z"),)]
    assert CallTokenizer("f", {}).tokenize_all(calls) == [tokenize("f", {}, call) for call in calls]
    assert CallTokenizer("f", {"a": 1}).tokenize_all(calls) == [tokenize("f", {"a": 1}, call) for call in calls]


def test_a_call_with_what_has_no_token_has_a_random_one() -> None:
    objects = memoryview(np.array([object()]))
    tokenizer = CallTokenizer("f", {})
    assert tokenizer.tokenize((objects,)) != tokenizer.tokenize((objects,))


def test_functions_by_element_of_other_packages_go_by_their_place_and_those_of_python_functions_are_equal_to_nothing() -> (
    None
):
    assert tokenize(special.expit) == tokenize(special.expit) != tokenize(special.erf)
    assert tokenize(np.add) == tokenize(np.add) != tokenize(np.subtract)
    own = np.frompyfunc(abs, 1, 1)
    assert tokenize(own) != tokenize(own)

"""pandas' own test suite as an oracle: what its tests ask of frames is asked of lazy frames, too, and the results are compared.

    python tests/dataframe/pandas_suite.py [--report FILE] [PATHS below pandas/tests ...]

The tests run as they are, from where pandas is installed. Whenever a test itself calls a method of a frame, a series or an index, of its
group-bys, windows and accessors, or one of the functions (`concat`, `merge`, `read_csv`, ...), the same call is made of the same object in one partition
and in three, and computed. What came of it is counted by method:

- same: what pandas made, to the last dtype, label and missing value; or both raised an error;
- order: the same rows in another order, as `set_index` and joins may have them (`docs/dataframe-support.md` says which);
- labels: the same rows with other labels, as `reset_index` numbers those of each partition; of joins and `melt` also in another order;
- kind: the same values in another kind of object: the rows of a label as a frame, distinct values as a series;
- refused: an error that a `raise` of ours raises, which says what isn't supported, such as `NotImplementedError`;
- error: another error, of Python or pandas, which pandas does not raise when it is asked the same;
- different: another result;
- accepted: pandas raised an error, ours gave a result.

Nothing is copied: the tests are collected from where pandas is installed. A line of the report is a JSON object for each call that came out otherwise.
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import functools
import io
import json
import signal
import sys
import tempfile
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from pandas.core.groupby import DataFrameGroupBy, SeriesGroupBy
from pandas.core.window import Expanding, ExponentialMovingWindow, Rolling

sys.path.insert(0, str(Path(__file__).parent))
from pandas_suite_results import assert_same, weaker  # noqa: E402 - beside this file, also in a process of its own

TESTS = Path(pd.__file__).parent / "tests"
PATHS = [
    "frame/methods",
    "frame/test_reductions.py",
    "series/methods",
    "groupby",
    "reshape",
    "window",
    "resample",
    "strings",
]
LIMIT_S = 10
PARTS = (1, 3)
ROWS = (pd.DataFrame, pd.Series, pd.Index)
CONCRETE = (*ROWS, np.ndarray, pd.api.extensions.ExtensionArray, pd.Categorical)

_OPERATORS = (
    "add radd sub rsub mul rmul truediv rtruediv floordiv rfloordiv mod rmod pow rpow and rand or ror xor rxor eq ne lt le gt ge"
    " neg pos abs invert divmod rdivmod len getitem setitem delitem"
)
_LEFT_OUT = (
    "sample plot hist boxplot style sparse pipe copy info flags attrs set_flags array values memory_usage items iterrows"
    " itertuples keys to_clipboard to_excel to_markdown to_latex to_xarray to_html to_xml to_stata to_feather to_iceberg to_hdf"
    " to_pickle to_string to_csv to_json to_sql to_orc to_parquet from_arrow from_dict from_records is_ view list struct"
    " searchsorted get_loc get_indexer get_indexer_for get_indexer_non_unique get_slice_bound slice_locs slice_indexer"
)
"""What isn't asked: what is drawn or written, random, views of one object, and what needs positions in one object."""
_FUNCTIONS = (
    "concat merge merge_asof pivot_table pivot crosstab cut qcut get_dummies from_dummies melt wide_to_long"
    " to_datetime to_numeric to_timedelta isna notna factorize"
)
_READERS = "read_csv read_table read_fwf read_json"


_SETTERS = ["__setitem__", "__delitem__", "isetitem", "insert", "update"]
_OF_LAZY_KIND = ["groupby", "resample", "rolling", "expanding", "ewm"]
_ACCESSORS = {
    "StringMethods": "str",
    "CategoricalAccessor": "cat",
    "_LocIndexer": "loc",
    "_iLocIndexer": "iloc",
    "_AtIndexer": "at",
    "_iAtIndexer": "iat",
}


class Call(NamedTuple):
    """A call of a test: of which object, in steps from it, with what."""

    root: Any
    steps: tuple[Callable[[Any], Any], ...]
    name: str
    arguments: str


class Outcomes:
    """What came of the calls."""

    def __init__(self, report: str) -> None:
        self.counts: Counter[tuple[str, str]] = Counter()
        self.file = open(report, "a") if report else None  # noqa: SIM115 - as long as the session
        self.test = ""
        self.busy = False

    def add(self, call: Call, outcome: str, parts: int, text: str) -> None:
        self.counts[call.name, outcome] += 1
        if outcome != "same" and self.file:
            row = {
                "outcome": outcome,
                "name": call.name,
                "test": self.test,
                "arguments": call.arguments,
                "parts": parts,
                "text": text,
            }
            self.file.write(json.dumps(row) + "\n")
            self.file.flush()


OUTCOMES: Outcomes
_recipes: dict[int, tuple[Any, Call]] = {}
"""How group-bys, windows and accessors were made: by their identity, with the object itself, so that it lives as long."""


def _by_test(frame: FrameType) -> bool:
    return str(TESTS) in frame.f_code.co_filename


def asked(original: Callable[..., Any], name: str, *, function: bool = False) -> Callable[..., Any]:
    """Return pandas' method or function, which asks ours the same if a test calls it."""

    @functools.wraps(original)
    def call(*args: Any, **kwargs: Any) -> Any:
        if OUTCOMES.busy or not _by_test(sys._getframe(1)):
            return original(*args, **kwargs)
        OUTCOMES.busy = True
        try:
            return _both(original, name, args, kwargs, function)
        finally:
            OUTCOMES.busy = False

    return call


def _both(
    original: Callable[..., Any], name: str, args: tuple[Any, ...], kwargs: dict[str, Any], function: bool
) -> Any:
    given = args if function else args[1:]
    if function and not _has_rows((args, kwargs)):
        return original(*args, **kwargs)  # of values at hand pandas itself makes concrete results
    if not function and type(args[0]).__module__.startswith(("pandas.tests", "pandas._testing")):
        return original(*args, **kwargs)  # a class of the test's own, of which lazy frames know nothing
    if _has_iterators((given, kwargs)):
        return original(*args, **kwargs)  # which can be read but once
    try:
        root, steps, label = (None, (), name) if function else _origin(args[0], name)
        kept = _own(root), _own(given), _own(kwargs)
    except _Unknown:
        return original(*args, **kwargs)
    step = _function_step(name, kept[1], kept[2]) if function else _method_step(name, kept[1], kept[2])
    changes = not function and (name in _SETTERS or bool(kwargs.get("inplace")))
    if changes:
        steps, step = (), _changing_step(steps, step)
    made = Call(kept[0], (*steps, step), label, _short((given, kwargs)))
    try:
        result = original(*args, **kwargs)
    except Exception as error:
        if not isinstance(error, (NotImplementedError, pytest.fail.Exception)):
            _compare(made, None, error)
        raise
    if changes:
        if isinstance(root, (pd.DataFrame, pd.Series)):
            _compare(made, _own(root), None)
    elif isinstance(result, LAZY_KINDS):
        if len(_recipes) > 10_000:
            _recipes.clear()
        _recipes[id(result)] = (result, made)
    elif isinstance(result, CONCRETE) or pd.api.types.is_scalar(result) or isinstance(result, tuple):
        _compare(made, result, None)
    return result


def _has_iterators(value: Any) -> bool:
    if type(value) in (list, tuple, dict):
        return any(map(_has_iterators, value.values() if type(value) is dict else value))
    return isinstance(value, Iterator)


def _has_rows(value: Any) -> bool:
    """Whether there is a frame or series among arguments."""
    if type(value) in (list, tuple, dict):
        return any(map(_has_rows, value.values() if type(value) is dict else value))
    return isinstance(value, (pd.DataFrame, pd.Series))


def _own(value: Any) -> Any:
    """A copy that the test can't write to."""
    if isinstance(value, (pd.DataFrame, pd.Series)):
        return value.copy()
    if type(value) in (list, tuple):
        return type(value)(_own(one) for one in value)
    if type(value) is dict:
        return {key: _own(one) for key, one in value.items()}
    return copy.copy(value) if isinstance(value, (set, np.ndarray)) else value


def _origin(owner: Any, name: str) -> tuple[Any, tuple[Callable[[Any], Any], ...], str]:
    """Of which rows an object was made, and how."""
    kind = type(owner).__name__
    if isinstance(owner, ROWS):
        if isinstance(owner, pd.Index):
            kind = "Index"
        return owner, (), f"{kind}.{name}"
    known = _recipes.get(id(owner))
    if known is not None and known[0] is owner:
        return known[1].root, known[1].steps, f"{known[1].name}.{name}"
    if isinstance(owner, LAZY_KINDS):  # such as a column of a group-by, of which no call was noted
        raise _Unknown
    parent = getattr(owner, "_orig", None)
    parent = getattr(owner, "orig", None) if parent is None else parent
    parent = getattr(owner, "_parent", None) if parent is None else parent
    parent = getattr(owner, "obj", None) if parent is None else parent
    accessor = _ACCESSORS.get(kind, "dt")
    if not isinstance(parent, ROWS) or (accessor in ("loc", "iloc") and owner.axis is not None):
        raise _Unknown
    return parent, (lambda lazy: getattr(lazy, accessor),), f"{type(parent).__name__}.{accessor}.{name}"


class _Unknown(Exception):
    """Nothing is known of how an object was made."""


def _method_step(name: str, args: Any, kwargs: Any) -> Callable[[Any], Any]:
    if name == "__len__":
        return len
    return lambda lazy: getattr(lazy, name)(*args, **kwargs)


def _changing_step(steps: tuple[Callable[[Any], Any], ...], step: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A step that changes an object, and gives the object itself."""

    def change(lazy: Any) -> Any:
        reached = lazy
        for before in steps:
            reached = before(reached)
        step(reached)
        return lazy

    return change


def read(original: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Return pandas' reader, which lets ours read the same text from a file if a test calls it."""

    @functools.wraps(original)
    def call(source: Any = None, *args: Any, **kwargs: Any) -> Any:
        content = None if OUTCOMES.busy or not _by_test(sys._getframe(1)) else _content(source)
        if content is None or kwargs.get("chunksize") or kwargs.get("iterator"):
            return original(source, *args, **kwargs)
        OUTCOMES.busy = True
        try:
            return _read_by_both(original, name, source, content, args, kwargs)
        finally:
            OUTCOMES.busy = False

    return call


def _read_by_both(
    original: Callable[..., Any], name: str, source: Any, content: bytes, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, Path(source).name if isinstance(source, (str, Path)) else "file.txt")
        path.write_bytes(content)
        made = Call(
            None,
            (_reading_step(name, str(path), len(content), _own(args), _own(kwargs)),),
            name,
            _short((content, args, kwargs), 400),
        )
        try:
            result = original(source, *args, **kwargs)
        except Exception as error:
            if not isinstance(error, (NotImplementedError, pytest.fail.Exception)):
                _compare(made, None, error)
            raise
        if isinstance(result, ROWS):
            _compare(made, result, None)
    return result


def _reading_step(name: str, path: str, length: int, args: Any, kwargs: Any) -> Callable[[Any], Any]:
    import glassloom.dataframe as gd

    def step(parts: int) -> Any:
        cut = (
            {}
            if parts == 1 or name == "read_json" and not kwargs.get("lines")
            else {"blocksize": max(length // parts, 1)}
        )
        return getattr(gd, name)(path, *args, **kwargs, **cut)

    return step


def _content(source: Any) -> bytes | None:
    """Return what a test lets a reader read: of a text or file at hand, or of a file by its name."""
    if isinstance(source, io.StringIO):
        return source.getvalue()[source.tell() :].encode("utf-8", "surrogatepass")
    if isinstance(source, io.BytesIO):
        return source.getvalue()[source.tell() :]
    if isinstance(source, (str, Path)) and "://" not in str(source) and Path(source).is_file():
        return Path(source).read_bytes()
    return None


def _function_step(name: str, args: Any, kwargs: Any) -> Callable[[Any], Any]:
    import glassloom.dataframe as gd

    return lambda parts: getattr(gd, name)(*_lazily(args, parts), **_lazily(kwargs, parts))


def _lazily(value: Any, parts: int) -> Any:
    """Rows as lazy ones, wherever they are in arguments."""
    if isinstance(value, (pd.DataFrame, pd.Series)):
        return _lazy(value, parts)
    if type(value) in (list, tuple):
        return type(value)(_lazily(one, parts) for one in value)
    if type(value) is dict:
        return {key: _lazily(one, parts) for key, one in value.items()}
    return value


def _lazy(rows: Any, parts: int) -> Any:
    import glassloom.dataframe as gd

    if isinstance(rows, pd.Index):
        return gd.from_pandas(pd.DataFrame(index=rows), npartitions=parts, sort=False).index
    has_gaps = rows.index.nlevels == 1 and rows.index.hasnans  # of several levels, monotonic ones have none
    in_order = parts > 1 and rows.index.is_monotonic_increasing and not has_gaps
    return gd.from_pandas(rows, npartitions=parts, sort=in_order)


def _compare(call: Call, expected: Any, raised: Exception | None) -> None:
    for parts in PARTS:
        with warnings.catch_warnings(), np.errstate(all="ignore"), _limited():
            warnings.simplefilter("ignore")
            outcome, text = _outcome(call, expected, raised, parts)
        if outcome:
            OUTCOMES.add(call, outcome, parts, text)


def _outcome(call: Call, expected: Any, raised: Exception | None, parts: int) -> tuple[str, str]:
    try:
        lazy = parts if call.root is None else _lazy(call.root, parts)
    except Exception as error:
        return "refused", f"from_pandas: {type(error).__name__}: {error}"[:300]
    try:
        for step in call.steps:
            lazy = step(lazy)
        got = _computed(lazy)
    except _TooLong:
        return "error", f"took longer than {LIMIT_S} s"
    except Exception as error:
        outcome = "same" if raised is not None else "refused" if _is_refusal(error) else "error"
        return outcome, f"{type(error).__name__}: {error}"[:400]
    if raised is not None and call.name.rsplit(".", 1)[-1] in _OF_LAZY_KIND:
        return "", ""  # the error comes when windows are aggregated
    if raised is not None:
        return "accepted", f"pandas: {type(raised).__name__}: {raised}; ours: {_short(got)}"[:400]
    try:
        assert_same(got, expected)
    except Exception as error:
        outcome = next(
            (name for name, change in weaker(call.name) if _is_same_when(change, got, expected)), "different"
        )
        return outcome, f"{error}"[:500] + f" | ours: {_short(got, 300)} | pandas: {_short(expected, 300)}"
    return "same", ""


def _is_refusal(error: Exception) -> bool:
    """Whether an error says what isn't supported, rather than came about by chance."""
    if isinstance(error, NotImplementedError) or type(error).__module__ == "glassloom.errors":
        return True
    last = traceback.extract_tb(error.__traceback__)[-1]
    return "/glassloom/" in last.filename and (last.line or "").startswith("raise ")


def _is_same_when(change: Callable[[Any], Any], got: Any, expected: Any) -> bool:
    try:
        assert_same(change(got), change(expected))
    except Exception:
        return False
    return True


def _computed(made: Any) -> Any:
    if isinstance(made, tuple) and any(hasattr(one, "compute") for one in made):
        return tuple(_computed(one) for one in made)
    return made.compute(**COMPUTED) if hasattr(made, "compute") else made


class _TooLong(Exception):
    """A call took too long."""


@contextlib.contextmanager
def _limited() -> Iterator[None]:
    def stop(*_: Any) -> None:
        raise _TooLong

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(LIMIT_S)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def _short(value: Any, length: int = 200) -> str:
    try:
        return repr(value)[:length]
    except Exception as error:
        return f"({type(error).__name__} in its repr)"


COMPUTED: dict[str, Any] = {"scheduler": "inline"}
"""The options of `compute`."""
LAZY_KINDS: tuple[type, ...] = ()
"""pandas' objects that only hold what will be computed: group-bys, windows, bins of times."""


def patch() -> None:
    """Put what asks ours in the place of pandas' methods and functions."""
    global LAZY_KINDS
    from pandas._testing import _warnings
    from pandas.core.arrays.categorical import CategoricalAccessor
    from pandas.core.indexes.accessors import DatetimeProperties, PeriodProperties, TimedeltaProperties
    from pandas.core.indexing import _AtIndexer, _iAtIndexer, _iLocIndexer, _LocIndexer
    from pandas.core.resample import Resampler
    from pandas.core.strings.accessor import StringMethods

    LAZY_KINDS = (DataFrameGroupBy, SeriesGroupBy, Rolling, Expanding, ExponentialMovingWindow, Resampler)
    accessors = (StringMethods, DatetimeProperties, PeriodProperties, TimedeltaProperties, CategoricalAccessor)
    for indexer in (_LocIndexer, _iLocIndexer, _AtIndexer, _iAtIndexer):
        for name in ("__getitem__", "__setitem__"):
            setattr(indexer, name, asked(getattr(indexer, name), name))
    below = [kind for base in (pd.Index, Rolling, Expanding, Resampler) for kind in _subclasses(base)]
    for kind in (*ROWS, *LAZY_KINDS, *accessors, *below):
        inherited = kind in (*ROWS, *LAZY_KINDS, *accessors)
        for name in dir(kind) if inherited else list(vars(kind)):
            method = getattr(kind, name, None)
            if (
                _is_asked(name)
                and hasattr(method, "__code__")
                and not isinstance(vars(kind).get(name), (classmethod, staticmethod))
            ):
                setattr(kind, name, asked(method, name))
    _warnings._assert_raised_with_correct_stacklevel = lambda *_: None  # a frame of ours is between
    for name in _FUNCTIONS.split():
        setattr(pd, name, asked(getattr(pd, name), name, function=True))
    for name in _READERS.split():
        made = read(getattr(pd, name), name)
        setattr(pd, name, made)
        for module in ("pandas.io.parsers", "pandas.io.parsers.readers", "pandas.io.json", "pandas.io.api"):
            if hasattr(sys.modules.get(module), name):
                setattr(sys.modules[module], name, made)


def _is_asked(name: str) -> bool:
    return name.strip("_") in _OPERATORS.split() if name.startswith("_") else name not in _LEFT_OUT.split()


def _subclasses(kind: type) -> list[type]:
    return [each for below in kind.__subclasses__() for each in (below, *_subclasses(below))]


class Plugin:
    """Notes which test runs."""

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        OUTCOMES.test = nodeid
        _recipes.clear()


def main() -> int:
    """Run pandas' tests and print what came of their calls."""
    global OUTCOMES
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--report", default="", help="where a line is written for each call that came out otherwise")
    parser.add_argument("--processes", action="store_true", help="compute in two worker processes")
    parser.add_argument("paths", nargs="*", default=PATHS)
    options = parser.parse_args()
    OUTCOMES = Outcomes(options.report)
    patch()
    with contextlib.ExitStack() as stack:
        if options.processes:
            import glassloom

            stack.enter_context(glassloom.Client(n_workers=2, threads_per_worker=1))
            COMPUTED.clear()
        _run(options.paths)
    _report()
    return 0


def _run(paths: list[str]) -> None:
    settings = ["-q", "--tb=line", "-W", "ignore", "-c", "/dev/null", f"--rootdir={TESTS.parent}"]
    settings += ["-p", "no:cacheprovider"]
    chosen = ["-m", "not slow and not network and not db and not single_cpu"]
    pytest.main([*settings, *chosen, *(str(TESTS / path) for path in paths)], plugins=[Plugin()])


def _report() -> None:
    """Print how often each outcome came."""
    kinds = ("same", "order", "labels", "kind", "refused", "error", "different", "accepted")
    total = Counter[str]()
    for (_, outcome), count in OUTCOMES.counts.items():
        total[outcome] += count
    print(
        "\n".join(
            f"{outcome:10} {total[outcome]:8,}  {total[outcome] / max(total.total(), 1):.1%}" for outcome in kinds
        )
    )


if __name__ == "__main__":
    raise SystemExit(main())

"""Dask's own tests of frames as an oracle: what they ask of Dask's frames is asked of ours.

    python tests/dataframe/dask_suite.py [--report FILE] [--limit SECONDS] [PATHS below dask/dataframe ...]

The tests run as they are, from where Dask is installed. Where their modules import from `dask`, `dask.dataframe` or `dask.array`, they get what
`glassloom`, `glassloom.dataframe` or `glassloom.array` has under that name, and `assert_eq` is one of ours (`_Assertions`). What came of each test:

- passed: as Dask's frames would;
- refused: `NotImplementedError`, `AttributeError` or another error of ours that says what isn't supported;
- error: another error;
- different: an assertion about values failed;
- accepted, silent, message: all else is as it should be, but an expected error or warning didn't come, or says something else: a test goes on after these;
- inside: it tests the inside of Dask, by the rule of `_reaches_inside`; it runs, and only the report tells what came of it;
- skipped: it skips itself, or is expected to fail.

Nothing is copied. A line of the report is a JSON object for each test that neither passed nor was skipped.
"""

from __future__ import annotations

import argparse
import builtins
import dis
import json
import signal
import sys
import types
from collections import Counter, defaultdict
from collections.abc import Callable, Generator, Iterator, Mapping
from pathlib import Path
from typing import Any

import dask
import numpy as np
import pandas as pd
import pytest

DASK = Path(dask.__file__).parent
TESTS = DASK / "dataframe"
_OF_FRAMES = (
    "dataframe groupby multi arithmetics_reduction shuffle indexing ufunc categorical rolling reshape accessors"
    " merge_column_and_index map numeric boolean hashing extensions pyarrow pyarrow_compat"
)
_OF_EXPRESSIONS = (
    "categorical collection concat cumulative datasets datetime describe dummies groupby indexing map_partitions_overlap"
    " merge merge_asof quantiles reductions repartition reshape rolling shuffle string_accessor ufunc"
)
PATHS = [f"tests/test_{name}.py" for name in _OF_FRAMES.split()]
PATHS += [f"io/tests/test_{name}.py" for name in ("csv", "parquet", "json", "orc", "sql", "io", "demo")]
PATHS += ["tseries/tests", *(f"dask_expr/tests/test_{name}.py" for name in _OF_EXPRESSIONS.split())]
PATHS += [f"dask_expr/io/tests/test_{name}.py" for name in ("delayed", "from_pandas", "io", "parquet", "sql")]
LIMIT_S = 20

FRAMES = [
    f"dask.dataframe{name}"
    for name in (
        "",
        ".core",
        ".multi",
        ".groupby",
        ".io",
        ".io.io",
        ".io.csv",
        ".io.parquet",
        ".io.sql",
        ".io.json",
        ".io.orc",
        ".io.demo",
        ".dask_expr",
    )
] + [f"dask.dataframe.dask_expr.{name}" for name in ("_collection", "_groupby", "io", "datasets")]
"""The modules of Dask's from which people import what frames have."""
OUTSIDE = ("dask.dataframe._compat", "dask.dataframe.methods", "dask.utils", "dask.base", "dask.dataframe.utils")
"""Modules whose functions tests use as tools, with pandas' objects or any."""
INTERNAL_NAMES = (
    "dask expr dependencies operands simplify lower_once lower_completely rewrite find_operations walk layers"
    " enforce_runtime_divisions pprint analyze cache_info divisions_lru"
)
"""Attributes that only Dask's objects have: graphs, expressions and what is done with them."""
INTERNAL_FILES = (
    "test_demo.py",  # of Dask's own random data
    "test_hyperloglog.py",
    "test_methods.py",
    "test_api.py",
    "test_utils_dataframe.py",
    "test_distributed.py",
)
PUBLIC_UNDERSCORES = ("_meta", "_repr_html_", "_accessors")


def _is_test(globals_: Mapping[str, Any] | None) -> bool:
    file = (globals_ or {}).get("__file__") or ""
    return file.startswith(str(TESTS)) and "/tests/" in file


class StandIn(types.ModuleType):
    """A module of Dask's in which our functions and classes are in the place of those of the same name."""

    def __init__(self, module: types.ModuleType) -> None:
        super().__init__(module.__name__)
        self.__dict__["_module"] = module

    def __getattr__(self, name: str) -> Any:
        module = self.__dict__["_module"]
        found, ours = _of_ours(module.__name__, name)
        if found:
            return ours
        value = getattr(module, name)
        if isinstance(value, types.ModuleType) and value.__name__.startswith("dask"):
            return StandIn(value)
        return value


def _of_ours(module: str, name: str) -> tuple[bool, Any]:
    """Return whether ours is in the place of what a module of Dask's has under a name, and what it is."""
    import glassloom
    import glassloom.array as ga
    import glassloom.dataframe as gd
    from glassloom.dataframe.base import Frame

    if name == "FrameBase":
        return True, Frame
    if name in vars(_Assertions) and module.startswith("dask.") and not name.startswith("_"):
        return True, getattr(_Assertions, name)
    home: Any = None
    if module.endswith((".dask_expr.datasets", ".io.demo")):
        home = gd.datasets if hasattr(gd.datasets, name) else gd
    elif module in FRAMES:
        home = gd
    elif module == "dask.array" or module.startswith("dask.array."):
        home = ga
    elif module in ("dask", "dask.base", "dask.delayed"):
        home = glassloom
        if name not in ("compute", "persist", "delayed", "Delayed", "visualize", "annotate", "is_dask_collection"):
            return False, None
    if home is None or name.startswith("_"):
        return False, None
    value = getattr(home, name, None)
    if name == "is_dask_collection":
        return True, lambda value: hasattr(value, "compute") and hasattr(value, "persist")
    if value is None or isinstance(value, types.ModuleType) and module != "dask":
        return False, None
    return True, value


def _import(
    original: Callable[..., Any],
    name: str,
    globals_: Any = None,
    locals_: Any = None,
    fromlist: Any = (),
    level: int = 0,
) -> Any:
    made = original(name, globals_, locals_, fromlist, level)
    if level == 0 and name.split(".")[0] == "dask" and _is_test(globals_):
        return StandIn(made)
    return made


def _import_or_skip(original: Callable[..., Any]) -> Callable[..., Any]:
    """Return `pytest.importorskip`, by which some tests import Dask's modules."""

    def import_or_skip(name: str, *args: Any, **kwargs: Any) -> Any:
        made = original(name, *args, **kwargs)
        return StandIn(made) if name.split(".")[0] == "dask" and _is_test(sys._getframe(1).f_globals) else made

    return import_or_skip


class _Assertions:
    """What tests assert with, for lazy objects of ours: compared as Dask's do, in any order of rows, but with pandas' dtypes."""

    @staticmethod
    def pyarrow_strings_enabled() -> bool:
        return False

    @staticmethod
    def to_pyarrow_string(value: Any) -> Any:
        return value

    @staticmethod
    def has_known_categories(value: Any) -> bool:
        if _is_lazy(value):
            return bool(value.cat.known)
        return "__UNKNOWN_CATEGORIES__" not in getattr(value, "cat", value).categories

    @staticmethod
    def assert_divisions(lazy: Any, scheduler: Any = None) -> None:
        divisions = getattr(lazy, "divisions", None)
        if divisions is None or not getattr(lazy, "known_divisions", False):
            return
        assert isinstance(divisions, tuple)
        labels = [part if isinstance(part, pd.Index) else part.index for part in _parts(lazy)]
        assert len(labels) == len(divisions) - 1, f"{len(labels)} partitions, divisions {divisions}"
        for number, index in enumerate(labels):
            if not len(index):
                continue
            values = index.get_level_values(0)
            assert values.min() >= divisions[number], (number, divisions, values)
            last = number == len(labels) - 1
            assert values.max() <= divisions[number + 1] if last else values.max() < divisions[number + 1], (
                number,
                divisions,
                values,
            )

    @staticmethod
    def assert_eq(
        a: Any,
        b: Any,
        check_names: bool = True,
        check_dtype: bool = True,
        check_divisions: bool = True,
        check_index: bool = True,
        sort_results: bool = True,
        scheduler: Any = None,
        serialize_graph: bool = True,
        **options: Any,
    ) -> bool:
        from dask.dataframe import utils

        lazy = [one for one in (a, b) if _is_lazy(one)]
        for one in lazy if check_divisions else ():
            _Assertions.assert_divisions(one)
        first, second = (_checked(one, check_dtype, check_names) for one in (a, b))
        if isinstance(first, (pd.DataFrame, pd.Series)) and sort_results:
            first, second = (vars(utils)["_maybe_sort"](one, check_index) for one in (first, second))
        if not check_index and isinstance(first, (pd.DataFrame, pd.Series)):
            first, second = (one.reset_index(drop=True) for one in (first, second))
        _assert_same(first, second, check_names=check_names, check_dtype=check_dtype, **options)
        return True


def _is_lazy(value: Any) -> bool:
    return hasattr(value, "compute") and not isinstance(value, type)


def _parts(lazy: Any) -> list[Any]:
    import glassloom

    return list(glassloom.compute(*(lazy.partitions[number] for number in range(lazy.npartitions))))


def _checked(value: Any, check_dtype: bool, check_names: bool) -> Any:
    """Compute a lazy object, and hold the result against what was known before."""
    if not _is_lazy(value):
        return value
    made = value.compute()
    meta = getattr(value, "meta", None)
    if isinstance(made, (pd.DataFrame, pd.Series, pd.Index)) and meta is not None:
        assert isinstance(made, type(meta)) or isinstance(meta, type(made)), f"meta is {type(meta)}, not {type(made)}"
        if check_names and isinstance(made, pd.DataFrame):
            pd.testing.assert_index_equal(meta.columns, made.columns, exact="equiv")
        elif check_names:
            assert meta.name == made.name or pd.isna(meta.name), f"meta has name {meta.name!r}, not {made.name!r}"
        if check_dtype and not isinstance(made.index if not isinstance(made, pd.Index) else made, pd.MultiIndex):
            given, found = (pd.Series(list(np.atleast_1d(_dtypes(one)))) for one in (meta, made))
            assert given.map(str).tolist() == found.map(str).tolist(), f"meta has {given}, not {found}"
    return made


def _dtypes(rows: Any) -> Any:
    return list(rows.dtypes) if isinstance(rows, pd.DataFrame) else [rows.dtype]


def _assert_same(a: Any, b: Any, check_names: bool, check_dtype: bool, **options: Any) -> None:
    if isinstance(a, pd.DataFrame):
        pd.testing.assert_frame_equal(
            a, b, check_names=check_names, check_dtype=check_dtype, **{"check_freq": False, **options}
        )
    elif isinstance(a, pd.Series):
        pd.testing.assert_series_equal(
            a, b, check_names=check_names, check_dtype=check_dtype, **{"check_freq": False, **options}
        )
    elif isinstance(a, pd.Index):
        pd.testing.assert_index_equal(a, b, exact="equiv", **options)
    elif isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        np.testing.assert_allclose(a, b) if np.asarray(a).dtype.kind in "fc" else np.testing.assert_array_equal(a, b)
    elif isinstance(a, (list, tuple)) or not np.isscalar(a):
        assert a is b or a == b or (pd.isna(a) and pd.isna(b)), (a, b)
    else:
        assert a == b or (pd.isna(a) and pd.isna(b)) or np.allclose(a, b), (a, b)


def _reaches_inside(function: Any) -> str:
    """Say what a test reads of the inside of Dask: attributes of expressions and graphs, private names, or what isn't in public modules."""
    for instruction in _instructions(function.__code__):
        name = instruction.argval
        if instruction.opname in ("LOAD_ATTR", "LOAD_METHOD"):
            if _is_internal(name):
                return f".{name}"
        elif instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME") and name in function.__globals__:
            value = function.__globals__[name]
            module = getattr(value, "__module__", None) or ""
            own = module.endswith(Path(function.__code__.co_filename).stem) or isinstance(value, types.ModuleType)
            if (
                isinstance(module, str)
                and module.startswith("dask.")
                and not own
                and not module.startswith(OUTSIDE)
                and "/tests/" not in module
                and ".tests." not in module
            ):
                return f"{module}.{name}"
    return ""


def _is_internal(name: str) -> bool:
    private = name.startswith("_") and not (name.startswith("__") and not name.startswith("__dask"))
    return name in INTERNAL_NAMES.split() or private and name not in PUBLIC_UNDERSCORES


def _instructions(code: types.CodeType) -> Iterator[dis.Instruction]:
    yield from dis.get_instructions(code)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _instructions(constant)


class _TooLong(BaseException):
    """A test took too long."""


_missed: list[tuple[str, str]] = []
"""What a test expected of errors and warnings that didn't come, or said something else."""


def _forgiving(original: Callable[..., Any], kind: str) -> Callable[..., Any]:
    """Return `pytest.raises` or `pytest.warns` for Dask's tests: what is missed is noted, and the test goes on."""

    def expect(*args: Any, **options: Any) -> Any:
        if len(args) > 1:  # with a function to call
            with _Expectation(original(args[0]), kind):
                return args[1](*args[2:], **options)
            return None
        return _Expectation(original(*args, **options), kind)

    return expect


class _Expectation:
    """What `pytest.raises` or `pytest.warns` returns, that notes where an error or warning is missed."""

    def __init__(self, expected: Any, kind: str) -> None:
        self.expected, self.kind = expected, kind

    def __enter__(self) -> Any:
        return self.expected.__enter__()

    def __exit__(self, *raised: Any) -> Any:
        try:
            return self.expected.__exit__(*raised)
        except pytest.fail.Exception as error:
            if self.kind == "silent" and raised[1] is not None:  # an error is why no warning came
                return False
            _missed.append((self.kind, str(error)))
        except AssertionError as error:
            if "Regex pattern did not match" not in str(error):
                raise
            _missed.append(("message", str(error)))
        return True


class Plugin:
    """Finds tests of the inside, limits the time of all, and notes what came of them."""

    def __init__(self, report: str, limit_s: int) -> None:
        self.counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self.inside: dict[str, str] = {}
        self.file = open(report, "a") if report else None  # noqa: SIM115 - as long as the session
        self.limit_s = limit_s

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        for item in items:
            function = getattr(item, "function", None)
            reason = "the file" if item.path.name in INTERNAL_FILES else _reaches_inside(function) if function else ""
            if reason:
                self.inside[item.nodeid] = reason

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, Any, Any]:
        def stop(*_: Any) -> None:
            raise _TooLong

        _missed.clear()
        before = signal.signal(signal.SIGALRM, stop)
        signal.alarm(self.limit_s)
        try:
            return (yield)
        except _TooLong:
            raise RuntimeError(f"took longer than {self.limit_s} s") from None
        finally:
            signal.alarm(0)
            signal.signal(signal.SIGALRM, before)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[Any]) -> Generator[None, Any, Any]:
        report = yield
        if report.when == "teardown" or report.when == "setup" and report.passed:
            return report
        if report.passed or call.excinfo is None:  # or is expected to fail, but doesn't
            kind, text = min(_missed, key=lambda missed: missed[0], default=("passed", ""))
            self.note(item, kind, text, "")
        elif report.skipped:
            self.note(item, "skipped", "", "")
        else:
            self.note(item, *_told(call.excinfo))
        return report

    def note(self, item: pytest.Item, outcome: str, text: str, line: str) -> None:
        reason = self.inside.get(item.nodeid)
        if reason and outcome != "skipped":
            outcome, text = "inside", f"{reason}; {outcome} {text}"
        self.counts[str(item.path.relative_to(TESTS))][outcome] += 1
        if self.file and outcome not in ("passed", "skipped"):
            row = {"outcome": outcome, "test": item.nodeid, "text": text[:1500], "line": line}
            self.file.write(json.dumps(row) + "\n")
            self.file.flush()


def _told(found: pytest.ExceptionInfo[BaseException]) -> tuple[str, str, str]:
    """Say of which kind an error is, with its text and the line of the test where it came up."""
    error = found.value
    lines = [entry for entry in found.traceback if str(TESTS) in str(entry.path) and "/tests/" in str(entry.path)]
    line = f"{lines[-1].lineno + 1}: {str(lines[-1].statement).strip()}"[:300] if lines else ""
    last = found.traceback[-1]
    text = f"{type(error).__name__}: {error} [{Path(last.path).name}:{last.lineno + 1}]"
    ours = isinstance(error, (NotImplementedError, AttributeError)) or type(error).__module__ == "glassloom.errors"
    if isinstance(error, AttributeError) and _is_internal(error.name or ""):
        return "inside", text, line
    if _missed and "after the context manager exits" in str(error):  # the test looks at an error that didn't come
        return *_missed[-1], line
    if isinstance(error, AssertionError):
        return "different", text, line
    return "refused" if ours else "error", text, line


def _report(counts: Mapping[str, Counter[str]]) -> None:
    """Print how often each outcome came, by file."""
    kinds = ("passed", "refused", "error", "different", "accepted", "silent", "message", "inside", "skipped")
    print(f"{'':46}" + "".join(f"{kind:>10}" for kind in kinds))
    total: Counter[str] = sum(counts.values(), Counter())
    for file, found in [*counts.items(), ("all", total)]:
        print(f"{file:46}" + "".join(f"{found[kind]:10,}" for kind in kinds))


def main() -> int:
    """Run Dask's tests with our frames and print what came of them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--report", default="", help="where a line is written for each test that didn't pass")
    parser.add_argument("--limit", type=int, default=LIMIT_S, help="the most seconds that a test may take")
    parser.add_argument("-k", default="", help="only tests with such names, as pytest's -k")
    parser.add_argument("paths", nargs="*", default=PATHS)
    options = parser.parse_args()
    import glassloom

    glassloom.config.set({"compute.scheduler": "synchronous"})
    dask.config.set({"dataframe.convert-string": False})
    original = builtins.__import__
    builtins.__import__ = lambda *args, **kwargs: _import(original, *args, **kwargs)
    plugin = Plugin(options.report, options.limit)
    for name, kind in (("raises", "accepted"), ("warns", "silent")):
        setattr(pytest, name, _forgiving(getattr(pytest, name), kind))
    setattr(pytest, "importorskip", _import_or_skip(pytest.importorskip))  # noqa: B010 - mypy takes no other way
    settings = [
        "-q",
        "--tb=no",
        "-rN",
        "--assert=plain",
        "-W",
        "ignore",
        "-c",
        "/dev/null",
        f"--rootdir={DASK}",
        "-p",
        "no:cacheprovider",
    ]
    chosen = ["-k", options.k] if options.k else []
    pytest.main([*settings, *chosen, *(str(TESTS / path) for path in options.paths)], plugins=[plugin])
    _report(plugin.counts)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

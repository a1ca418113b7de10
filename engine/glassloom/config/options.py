"""The table of options: their names, types, defaults, and what they do. Reads nothing.

To add an option: add a row, read it with ``config.get(...)`` or as a default of ``Configured(...)``, test that setting it
changes what happens, and run ``python docs/configuration.py``.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from glassloom.errors import ConfigError
from glassloom.units import parse_bytes, parse_seconds

PREFIX = "GLASSLOOM_"
"""What the environment variables begin with."""
_NONE_WORDS = ("", "none", "null", "~")
_SWITCH_WORDS = {
    "true": True,
    "yes": True,
    "on": True,
    "1": True,
    "false": False,
    "no": False,
    "off": False,
    "0": False,
}


# Types


@dataclass(frozen=True)
class Kind:
    """A type of option: `parse` returns the value, or raises ValueError; `expected` ends "expected ..." in the message."""

    name: str
    unit: str
    expected: str
    parse: Callable[[Any], Any]


def _parse_size(value: Any) -> int:
    nbytes = parse_bytes(value)
    if nbytes < 1:
        raise ValueError(value)
    return nbytes


def _parse_time(value: Any) -> float:
    time_s = None if isinstance(value, bool) else parse_seconds("", value)
    if not time_s:
        raise ValueError(value)
    return time_s


def _parse_count(value: Any, least: int) -> int:
    number = int(value) if isinstance(value, str) and value.strip().isdecimal() else value
    if not isinstance(number, int) or isinstance(number, bool) or number < least:
        raise ValueError(value)
    return number


def _parse_share(value: Any) -> float:
    share = float(value) if isinstance(value, str) else value
    if not isinstance(share, (int, float)) or isinstance(share, bool) or not 0 < share <= 1:
        raise ValueError(value)
    return float(share)


def _parse_switch(value: Any) -> bool:
    switch = _SWITCH_WORDS.get(value.strip().lower()) if isinstance(value, str) else value
    if not isinstance(switch, bool):
        raise ValueError(value)
    return switch


def _parse_path(value: Any) -> str:
    if not isinstance(value, (str, os.PathLike)) or not os.fspath(value):
        raise ValueError(value)
    return os.path.expanduser(os.fspath(value))


def _parse_memory(value: Any) -> int | float | str:
    """Return ``"auto"``, a fraction (a float up to 1) or bytes."""
    if value == "auto":
        return "auto"
    try:
        return _parse_share(value) if isinstance(value, float) or "." in value else _parse_size(value)
    except (ValueError, TypeError):  # no fraction
        return _parse_size(value)


def _parse_text(value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError(value)
    return value


def _parse_name(value: Any) -> str:
    if not isinstance(value, str) or not value.isidentifier():
        raise ValueError(value)
    return value


def _choice(*names: str) -> Kind:
    def parse(value: Any) -> str:
        if value not in names:
            raise ValueError(value)
        return str(value)

    return Kind(" or ".join(names), "", f"one of {', '.join(map(repr, names))}", parse)


def _count(least: int) -> Kind:
    return Kind("number", "", f"a whole number, {least} or more", lambda value: _parse_count(value, least))


_SIZE = Kind("size", "bytes", "a size in bytes, such as 1000000 or '128 MiB'", _parse_size)
_TIME = Kind("time", "seconds", "a time above 0: seconds, or text such as '500ms' or '2 min'", _parse_time)
_ADDRESS = Kind("address", "", "the name of a cluster, or an address such as 'tcp://10.0.0.1:8786'", _parse_text)
_NAME = Kind("name", "", "the name of a library, such as 'numpy' or 'cupy'", _parse_name)
_SHARE = Kind("fraction", "of the memory limit", "a number above 0, up to 1", _parse_share)
_SWITCH = Kind("switch", "", "true or false", _parse_switch)
_PATH = Kind("path", "", "the path of a folder", _parse_path)
_FILE = Kind("path", "", "the path of a file", _parse_path)
_MEMORY = Kind(
    "memory",
    "bytes",
    "bytes, text such as '4GB', a fraction of the memory that there is, such as 0.5, or 'auto'",
    _parse_memory,
)


# The table


@dataclass(frozen=True)
class Option:
    """One option.

    Attributes
    ----------
    name
        ``section.name``, in lower case with dashes.
    kind
        Its type.
    default
        As one would write it in a file.
    is_optional
        Whether None is a value of its own.
    text
        What it does; what None means, if it may be None.
    """

    name: str
    kind: Kind
    default: Any
    is_optional: bool
    text: str

    @property
    def variable(self) -> str:
        """The environment variable that sets it."""
        return PREFIX + self.name.upper().replace(".", "__").replace("-", "_")

    def parsed(self, value: Any, source: str) -> Any:
        """Return a value as the code uses it.

        Raises
        ------
        ConfigError
            If it isn't of the option's type; the message names `source`.
        """
        if self.is_optional and (value is None or (isinstance(value, str) and value.strip().lower() in _NONE_WORDS)):
            return None
        try:
            return self.kind.parse(value)
        except (ValueError, TypeError, OverflowError):
            or_none = ", or none" if self.is_optional else ""
            raise ConfigError(f"{self.name}={value!r} ({source}): expected {self.kind.expected}{or_none}") from None


def _table(*options: Option) -> dict[str, Option]:
    return {option.name: option for option in options}


OPTIONS: Mapping[str, Option] = _table(
    Option(
        "array.backend", _NAME, "numpy", False,
        "Which library makes the blocks of arrays that are created: `numpy`, `cupy`, or one that follows the array API standard.",
    ),
    Option(
        "array.chunk-size", _SIZE, "128 MiB", False,
        "How large the blocks of an array are made where `chunks` is `\"auto\"`.",
    ),
    Option(
        "dataframe.arrow", _SWITCH, True, False,
        "Whether Arrow's kernels may compute blocks of frames where the result is the one of pandas.",
    ),
    Option(
        "dataframe.backend", _choice("pandas", "cudf"), "pandas", False,
        "Which library has the partitions of frames that are read: `pandas`, or `cudf` on workers with GPUs.",
    ),
    Option(
        "dataframe.csv-block-size", _SIZE, "64 MiB", True,
        "How much of a file goes into a partition: the default of `blocksize` in `read_csv`. None: one partition a file.",
    ),
    Option(
        "dataframe.parquet-block-size", _SIZE, "128 MiB", False,
        "Bytes, uncompressed, up to which small row groups are joined to a partition: the default of `blocksize` in "
        "`read_parquet`.",
    ),
    Option(
        "dataframe.parquet-engine", _choice("auto", "pyarrow", "polars"), "auto", False,
        "What reads Parquet files: the default of `engine` in `read_parquet`. `auto`: Polars where it is installed, there is much to read and rows are filtered.",
    ),
    Option(
        "client.address", _ADDRESS, None, True,
        "What `Client()` connects to if it is told nothing: the name of a running cluster, or the address of a scheduler of dask.distributed. "
        "None: it starts a cluster.",
    ),
    Option(
        "compute.scheduler", _choice("threads", "synchronous", "processes"), None, True,
        "Where `compute()` and `persist()` run. None: on the current client, or on threads if there is none.",
    ),
    Option(
        "compute.fuse", _SWITCH, True, False,
        "Whether block-wise operations that follow each other become one task.",
    ),
    Option(
        "compute.tune-allocators", _SWITCH, True, False,
        "Whether C's allocator and Arrow's keep some freed memory for the next blocks, on Linux. What the environment says of "
        "them (`MALLOC_...`, `GLIBC_TUNABLES`, `LD_PRELOAD`, `ARROW_DEFAULT_MEMORY_POOL`) stays. Read when tasks first run.",
    ),
    Option(
        "threads.n-threads", _count(1), None, True,
        "Threads of this process's pool. None: one for each CPU that the process may use.",
    ),
    Option(
        "threads.publish", _SWITCH, True, False,
        "Whether the pool shows in the panel and the dashboards. Read when the pool starts.",
    ),
    Option(
        "distributed.attach", _SWITCH, True, False,
        "Whether a client's cluster of dask.distributed shows in the panel and the dashboards. Read when the client connects.",
    ),
    Option(
        "cluster.n-workers", _count(0), None, True,
        "Worker processes of a `LocalCluster`. None: such that workers and threads divide the CPUs evenly.",
    ),
    Option(
        "cluster.threads-per-worker", _count(1), None, True,
        "Threads of each worker. None: the CPUs divided among the workers.",
    ),
    Option(
        "cluster.memory-limit", _MEMORY, "auto", True,
        "Memory of each worker. `auto`: its share by threads. None: no limit.",
    ),
    Option(
        "cluster.memory-target-fraction", _SHARE, 0.6, True,
        "Share that results may take before the least recently used go to disk. None: never.",
    ),
    Option(
        "cluster.memory-spill-fraction", _SHARE, 0.7, True,
        "Share that the worker's process may take before results go to disk although they are within the target. None: never.",
    ),
    Option(
        "cluster.memory-pause-fraction", _SHARE, 0.8, True,
        "Share that the worker's process may take before it gets no more tasks. None: never.",
    ),
    Option(
        "cluster.memory-terminate-fraction", _SHARE, 0.95, True,
        "Share that the worker's process may take before it is ended and replaced. None: never.",
    ),
    Option(
        "cluster.shared-memory-fraction", _SHARE, 0.3, True,
        "Share of all workers' limits that results in shared memory may take before further ones go to disk. None: no bound.",
    ),
    Option(
        "cluster.spill-compression", _choice("lz4", "zstd"), None, True,
        "How results are compressed that go to disk. None: not at all.",
    ),
    Option(
        "cluster.local-directory", _PATH, None, True,
        "Where a cluster's private directory is made, to which results are spilled. None: the system's for temporary files.",
    ),
    Option(
        "cluster.blas-threads", _count(1), 1, False,
        "Threads of NumPy's linear algebra within each task, unless `OMP_NUM_THREADS` and its like are set.",
    ),
    Option(
        "cluster.idle-timeout", _TIME, None, True,
        "How long a cluster may be idle before it ends: see `LocalCluster`. None: for ever.",
    ),
    Option(
        "cluster.start-timeout", _TIME, "60 s", False,
        "How long a cluster may take to start before it is given up.",
    ),
    Option(
        "timeouts.request", _TIME, "30 s", False,
        "How long a cluster's head may take to answer a question, or a sign of life, before the call that asked raises.",
    ),
    Option(
        "cluster.print-task-output", _SWITCH, True, False,
        "Whether a client prints what tasks of its cluster print or log, with the worker's name before each line.",
    ),
    Option(
        "cluster.adapt-wait", _TIME, "3 s", False,
        "How long fewer workers must have been enough before `adapt` retires some.",
    ),
    Option(
        "metrics.log-memory", _SIZE, "64 MiB", False,
        "How much of a cluster's record of events stays in memory; what is older goes to disk.",
    ),
    Option(
        "metrics.nvml-session", _FILE, None, True,
        "A recorded NVML session (docs/nvml-sessions.md) that clusters show instead of this machine's GPUs.",
    ),
    Option(
        "metrics.profile-interval", _TIME, "50 ms", True,
        "How often it is looked what running tasks are doing, for the statistical profile, on average. None: never.",
    ),
    Option(
        "tracebacks.show-engine", _SWITCH, False, False,
        "Whether tracebacks of failed tasks show the engine's own frames too.",
    ),
    Option(
        "visualize.max-tasks", _count(1), 300, False,
        "The largest graph that `visualize` draws task by task; of larger ones it draws the layers.",
    ),
)  # fmt: skip
"""Every option. Each is read by the code, as the default of an argument or in place of a constant."""


def canonical(name: Any, source: str) -> str:
    """Return an option's name as the table has it.

    Raises
    ------
    ConfigError
        If there is none; the message names `source` and the nearest names that there are.
    """
    if isinstance(name, str) and name in OPTIONS:
        return name
    usual = str(name).lower().replace("__", ".").replace("_", "-")
    if usual in OPTIONS:
        return usual
    same_end = [option for option in OPTIONS if option.rpartition(".")[2] == usual.rpartition(".")[2]]
    near = dict.fromkeys([*same_end, *difflib.get_close_matches(usual, OPTIONS, n=3)])
    hint = f"did you mean {' or '.join(map(repr, near))}?" if near else f"there are {', '.join(OPTIONS)}"
    raise ConfigError(f"{source}: no option is called {str(name)!r}; {hint}")

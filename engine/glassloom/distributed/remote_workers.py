"""What scheduler and workers of another cluster have: whether they can run our tasks, and our code for those that don't have it."""

from __future__ import annotations

import sys
import tempfile
import zipfile
from functools import partial
from pathlib import Path
from types import FunctionType
from typing import Any

import distributed
from distributed.diagnostics.plugin import SchedulerUploadFile, UploadFile
from glassloom_metrics import __version__

from glassloom.distributed.bounded_calls import bounded
from glassloom.distributed.connecting import require_same_python, scheduler_of, workers_told_of
from glassloom.distributed.silent_workers import SilentWorkers
from glassloom.errors import ClusterError

PROBE_S = 30.0
"""How long scheduler and workers may take to say what they have: they import it, perhaps from a slow disk."""
SEND_S = 30.0
"""How long they may take to load our code."""
VERSION = __version__
"""Not that of the metadata of what is installed: code that was sent has none."""
SCHEDULER = "the scheduler"
_PACKAGES = ("glassloom", "glassloom_metrics")
_SUFFIXES = (".py", ".json", ".yaml", ".j2", ".css", ".svg", ".html")


def require_same_pythons(dask: distributed.Client, address: str) -> None:
    """See that no worker has another Python, before any code is sent to it: that of another Python might crash it.

    Raises
    ------
    ClusterError
        If one of them has.
    """
    try:
        told = dask.sync(
            scheduler_of(dask).broadcast,
            msg={"op": "versions"},
            workers=_heard_of(dask),
            on_error="ignore",
            callback_timeout=PROBE_S,
        )
    except TimeoutError as error:
        raise _unanswered(dask, "didn't say which Python it has within", PROBE_S) from error
    for name, versions in told.items():
        require_same_python(f"worker {name} of {address}", versions.get("packages", {}))


def prepare(dask: distributed.Client, address: str) -> None:
    """See that scheduler and workers can load and run our tasks: send our code to those that don't have it.

    Workers that come later get it too, unless they have one. The scheduler loads graphs, whose tasks name our functions.

    Raises
    ------
    ClusterError
        If one of them has another Python or another version of Glassloom, or lacks what our code needs. It says what to install.
    """
    found = _probed(dask)
    for who, (python, version, _) in found.items():
        here = f"{sys.version_info[0]}.{sys.version_info[1]}"
        if python != here:
            raise ClusterError(
                f"{who} of {address} runs Python {python}, and this process Python {here}: code can't be sent "
                "between them; use the same Python"
            )
        if version not in (None, VERSION):
            raise ClusterError(
                f"{who} of {address} has glassloom {version}, and this process {VERSION}; "
                f"install glassloom=={VERSION} there"
            )
    lacking = {who for who, (_, version, _) in found.items() if version is None}
    if not lacking and len(found) > 1:
        return
    with tempfile.TemporaryDirectory() as folder:
        archive = _packed(Path(folder, "glassloom_code.zip"))
        plugins: dict[str, Any] = {"a worker": _upload_unless_there(archive)}
        if SCHEDULER in lacking:  # one that has our code may be in this process, whose modules must stay as they are
            plugins = {SCHEDULER: SchedulerUploadFile(str(archive)), **plugins}
        for who, plugin in plugins.items():
            try:
                bounded(partial(dask.register_plugin, plugin, name=f"glassloom-code-{VERSION}"), SEND_S)
            except TimeoutError as error:
                raise _unanswered(dask, "didn't take our code within", SEND_S) from error
            except (ImportError, SyntaxError) as error:
                raise _unusable(who, address, f"{type(error).__name__}: {error}") from error
    for who, (_, version, problem) in _probed(dask).items() if lacking else ():
        if version is None:
            raise _unusable(who, address, problem)


def _upload_unless_there(archive: Path) -> UploadFile:
    """Return a plugin for workers. It is pickled with its code, as they may have nothing of ours."""

    class CodeOfGlassloom(UploadFile):
        async def setup(self, worker: Any) -> None:
            import importlib

            try:
                importlib.import_module("glassloom")
            except ImportError:
                await super().setup(worker)

    return CodeOfGlassloom(str(archive))


def _unusable(who: str, address: str, problem: str) -> ClusterError:
    return ClusterError(
        f"{who} of {address} can't run Glassloom's code, which was sent there: {problem}; "
        f"install glassloom=={VERSION} there"
    )


def _probed(dask: distributed.Client) -> dict[str, tuple[str, str | None, str]]:
    """Return what scheduler and workers have: the version of Python, that of Glassloom or None, and why there is none."""
    probe = _by_value(_probe)
    try:
        names = _heard_of(dask)
        workers = bounded(lambda: dask.run(probe, workers=names, on_error="return"), PROBE_S)
        scheduler = bounded(lambda: dask.run_on_scheduler(probe), PROBE_S)
    except TimeoutError as error:
        raise _unanswered(dask, "didn't say which Python and which Glassloom it has within", PROBE_S) from error
    found: dict[str, tuple[str, str | None, str]] = {SCHEDULER: scheduler}
    for name, told in workers.items():
        if isinstance(told, OSError):  # it has left meanwhile
            continue
        if isinstance(told, BaseException):
            raise told
        found[f"worker {name}"] = told
    return found


def _heard_of(dask: distributed.Client) -> list[str]:
    """Return the workers that the scheduler has heard of lately. Another one, that was stopped, would be waited for without end."""
    workers = bounded(lambda: workers_told_of(dask), PROBE_S)
    heard = SilentWorkers()
    heard.note(workers, 0.0)
    silent = heard.silent(0.0)
    return [name for name in workers if name not in silent]


def _unanswered(dask: distributed.Client, what: str, timeout_s: float) -> ClusterError:
    return ClusterError(
        f"the scheduler or a worker of {scheduler_of(dask).address} {what} {timeout_s:g} s: one of them is stopped, cut off, or runs "
        "code that lets no other thread run; end it, or try again"
    )


def _probe() -> Any:
    """Run on the scheduler or a worker, where there may be nothing of ours: it names nothing but builtins."""
    import importlib
    import sys

    python = f"{sys.version_info[0]}.{sys.version_info[1]}"
    try:
        version = importlib.import_module("glassloom").__version__
        for module in ("glassloom.array", "glassloom.dataframe"):
            importlib.import_module(module)
    except ImportError as error:
        return python, None, f"{type(error).__name__}: {error}"
    return python, version, ""


def _by_value(function: Any) -> Any:
    """Return a function that is pickled with its code, not by its name."""
    return FunctionType(function.__code__, {"__name__": "__main__", "__builtins__": __builtins__}, function.__name__)


def _packed(path: Path) -> Path:
    """Write our packages to an archive from which Python imports them."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for package in _PACKAGES:
            folder = Path(str(sys.modules[package].__file__)).parent
            for file in sorted(folder.rglob("*")):
                if file.suffix in _SUFFIXES:
                    archive.write(file, file.relative_to(folder.parent))
    return path

"""What workers of another cluster have: whether they can run our tasks, and our code for those that don't have it."""

from __future__ import annotations

import sys
import tempfile
import zipfile
from importlib.metadata import version as installed_version
from pathlib import Path
from types import FunctionType
from typing import Any

import distributed
from distributed.diagnostics.plugin import UploadFile

from glassloom.errors import ClusterError

VERSION = installed_version("glassloom")
_PACKAGES = ("glassloom", "glassloom_metrics")
_SUFFIXES = (".py", ".json", ".yaml", ".j2", ".css", ".svg", ".html")


def prepare(dask: distributed.Client, address: str) -> None:
    """See that the workers can run our tasks: send our code to those that don't have it.

    Workers that come later get it too. Nothing is asked if there are none yet.

    Raises
    ------
    ClusterError
        If a worker has another Python or another version of Glassloom, or lacks what our code needs. It says what to install.
    """
    found = _probed(dask)
    for worker, (python, version, _) in found.items():
        here = f"{sys.version_info[0]}.{sys.version_info[1]}"
        if python != here:
            raise ClusterError(
                f"worker {worker} of {address} runs Python {python}, and this process Python {here}: code can't be sent "
                "between them; use the same Python"
            )
        if version not in (None, VERSION):
            raise ClusterError(
                f"worker {worker} of {address} has glassloom {version}, and this process {VERSION}; "
                f"install glassloom=={VERSION} there"
            )
    if all(version is not None for _, version, _ in found.values()):
        return
    with tempfile.TemporaryDirectory() as folder:
        try:
            _send(dask, _packed(Path(folder, "glassloom_code.zip")))
        except (ImportError, SyntaxError) as error:
            raise _unusable("a worker", address, f"{type(error).__name__}: {error}") from error
        for worker, (_, version, problem) in _probed(dask).items():
            if version is None:
                raise _unusable(f"worker {worker}", address, problem)


def _send(dask: distributed.Client, archive: Path) -> None:
    """Send an archive to the workers only: a scheduler may run in this process, whose modules must stay as they are."""
    dask.register_plugin(UploadFile(str(archive)), name=f"glassloom-code-{VERSION}")


def _unusable(worker: str, address: str, problem: str) -> ClusterError:
    return ClusterError(
        f"{worker} of {address} can't run Glassloom's code, which was sent there: {problem}; "
        f"install glassloom=={VERSION} there"
    )


def _probed(dask: distributed.Client) -> dict[str, tuple[str, str | None, str]]:
    """Return what each worker has: the version of Python, that of Glassloom or None, and why there is none."""
    found: dict[str, tuple[str, str | None, str]] = dask.run(_by_value(_probe))
    return found


def _probe() -> Any:
    """Run on a worker, where there may be nothing of ours: it names nothing but builtins."""
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

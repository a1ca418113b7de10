"""Modules that need the extra ``glassloom[distributed]``: loaded when they are asked for, else an error says what to install."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from glassloom.errors import OptionError

_EXTRA = "'glassloom[distributed]'"
_TO_INSTALL = {"dask": _EXTRA, "distributed": _EXTRA, "joblib": "joblib", "mpi4py": "mpi4py"}
"""What to install for a package that is missing."""


def load(module: str, what: str) -> Any:
    """Return a module of this package.

    Parameters
    ----------
    module
        Its name in this package.
    what
        What it is for, for the message.

    Raises
    ------
    OptionError
        If something that it imports isn't installed.
    """
    try:
        return import_module(f"glassloom.distributed.{module}")
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in _TO_INSTALL:
            raise
        raise OptionError(
            f"{what} needs {package}, which isn't installed: pip install {_TO_INSTALL[package]}"
        ) from error


def offer_joblib_backend() -> None:
    """Let ``joblib.parallel_config("glassloom")`` find the backend by itself, also if joblib is imported later."""
    if "joblib.parallel" in sys.modules:
        _offer(sys.modules["joblib.parallel"])
    elif not any(isinstance(finder, _OnImportOfJoblib) for finder in sys.meta_path):
        sys.meta_path.insert(0, _OnImportOfJoblib())


def _offer(parallel: ModuleType) -> None:
    loaders = getattr(parallel, "EXTERNAL_BACKENDS", None)  # as joblib knows of Dask's
    if isinstance(loaders, dict):
        loaders.setdefault("glassloom", lambda: load("joblib_backend", "joblib's backend 'glassloom'").register())


class _OnImportOfJoblib(MetaPathFinder):
    """Waits for joblib to be imported. It goes when joblib comes, which the finders after it find."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != "joblib.parallel":
            return None
        if self in sys.meta_path:
            sys.meta_path.remove(self)
        for finder in sys.meta_path:
            spec = finder.find_spec(fullname, path, target)
            if spec is not None:
                if spec.loader is not None:
                    spec.loader = _OfferingLoader(spec.loader)
                return spec
        return None


class _OfferingLoader(Loader):
    """Loads joblib as its own loader does, which the module has afterwards, and offers it the backend."""

    def __init__(self, loader: Any) -> None:
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        made: ModuleType | None = self._loader.create_module(spec)
        return made

    def exec_module(self, module: ModuleType) -> None:
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        _offer(module)

"""Modules that need the extra ``glassloom[distributed]``: loaded when they are asked for, else an error says what to install."""

from __future__ import annotations

import sys
from importlib import import_module
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
    """Let ``joblib.parallel_config("glassloom")`` find the backend by itself, if joblib has been imported."""
    loaders = getattr(sys.modules.get("joblib.parallel"), "EXTERNAL_BACKENDS", None)  # as joblib knows of Dask's
    if isinstance(loaders, dict):
        loaders.setdefault("glassloom", lambda: load("joblib_backend", "joblib's backend 'glassloom'").register())

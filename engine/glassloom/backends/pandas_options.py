"""pandas' options that decide on results, which tasks of other processes need as the caller has set them."""

from __future__ import annotations

import re
import warnings
from functools import cache
from typing import Any

import pandas as pd

from glassloom.graph.caller_options import Options, register_options

_OF_RESULTS = (
    "mode.string_storage", "mode.copy_on_write", "mode.use_inf_as_na", "future.infer_string", "future.no_silent_downcasting",
    "future.distinguish_nan_and_na", "future.python_scalars", "future.infer_freq_returns_offset", "io.parquet.engine", "io.sql.engine",
)  # fmt: skip
"""Those of any version. How values are shown, or by which library they are computed, decides on no result; dask.dataframe sets the latter."""
_DEFAULT = re.compile(r"\[default: (.*?)\]")


def changed_options() -> Options:
    """Return the options that aren't as they are in a new process, and their values."""
    changed = []
    for name, default in _defaults().items():
        value = _value(name)
        if str(value) != default:
            changed.append((name, value))
    return tuple(changed)


def set_options(options: Options) -> Options:
    """Set options, and return those that were there before."""
    before = tuple((name, _value(name)) for name, _ in options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the caller has been told that an option is deprecated
        for name, value in options:
            pd.set_option(name, value)
    return before


@cache
def _defaults() -> dict[str, str]:
    """Return the text of the default value of each option that this version has."""
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in _OF_RESULTS:
            try:
                text = pd.describe_option(name, _print_desc=False)
            except KeyError:  # what pandas raises of an option that it lacks
                continue
            default = _DEFAULT.search(text or "")
            if default is not None:
                found[name] = default[1]
    return found


def _value(name: str) -> Any:
    """Return an option's value; without the warning that `pandas.get_option` gives of those that are deprecated."""
    found: Any = pd.options.d
    for part in name.split("."):
        found = found[part]
    return found


register_options(changed_options, set_options)

"""pandas' options that decide on results, which tasks of other processes need as the caller has set them."""

from __future__ import annotations

import re
import warnings
from ast import literal_eval
from functools import cache
from typing import Any

import pandas as pd

from glassloom.errors import OptionError
from glassloom.graph.caller_options import register_options
from glassloom.graph.options_in_use import Library, Options

_OF_RESULTS = (
    "mode.string_storage", "mode.copy_on_write", "mode.use_inf_as_na", "future.infer_string", "future.no_silent_downcasting",
    "future.distinguish_nan_and_na", "future.python_scalars", "future.infer_freq_returns_offset", "io.parquet.engine", "io.sql.engine",
)  # fmt: skip
"""Those of any version. How values are shown, or by which library they are computed, decides on no result; dask.dataframe sets the latter."""
_DEFAULT = re.compile(r"\[default: (.*?)\]")


def changed_options() -> Options:
    """Return the options that aren't as they are in a new process, and their values."""
    return tuple([(name, value) for name, value in all_options() if str(value) != _defaults()[name]])


def all_options() -> Options:
    """Return all options that decide on results, and their values."""
    return tuple([(name, owner[part]) for name, (owner, part) in _places().items()])


def default_options() -> Options:
    """Return all options that decide on results, with the values that they have in a new process."""
    return tuple([(name, _value_of(_defaults()[name])) for name in _places()])


def infers_text() -> bool:
    """Whether pandas makes text of its own, rather than objects, of strings: the option ``future.infer_string``."""
    owner, name = _places().get("future.infer_string", ({}, ""))
    return bool(owner.get(name, False))


def set_options(options: Options) -> None:
    """Set options.

    Raises
    ------
    OptionError
        If this process can't have one of them.
    """
    places = _places()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the caller has been told that an option is deprecated
        for name, value in options:
            owner, part = places.get(name, ({}, name))
            if part in owner and owner[part] == value:
                continue
            try:
                pd.set_option(name, value)
            except Exception as error:  # pandas raises errors of many kinds there
                raise OptionError(
                    f"pandas' option {name!r} is {value!r} where this was submitted, and the pandas of this process can't have that: {error}. "
                    "Install what the caller has where tasks run, or reset the option before it is submitted"
                ) from error


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


def _value_of(text: str) -> Any:
    return literal_eval(text) if text in ("True", "False", "None") else text


@cache
def _places() -> dict[str, tuple[dict[str, Any], str]]:
    """Return, for each option, the dict of pandas' that has its value, and under which name: `pandas.get_option` takes longer, and may warn."""
    found = {}
    for name in _defaults():
        *above, last = name.split(".")
        owner: Any = pd.options.d
        for part in above:
            owner = owner[part]
        found[name] = (owner, last)
    return found


register_options(
    Library(
        changed_options,
        all_options,
        default_options,
        set_options,
        list({id(owner): owner for owner, _ in _places().values()}.values()),
    )
)

"""Which arguments of methods may be lazy. Others are part of the plan, as a number of rows is: a lazy one is refused by name.

Whole numbers among them may be NumPy's.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from glassloom.collection import Collection
from glassloom.dataframe.keys_at_hand import is_lazy_scalar
from glassloom.dataframe.scalars_in_functions import CALLING, with_scalars_at_hand
from glassloom.dataframe.whole_numbers import WholeNumbers
from glassloom.dataframe.wrap import holds_lazy

_VALUES = frozenset([
    "aggregate_kwargs", "arg", "args", "caselist", "chunk_kwargs", "combine_kwargs", "cond", "decimals", "default", "fill_value",
    "func", "indices", "kwargs", "left", "left_on", "lower", "mapper", "meta", "objs", "on", "other", "others", "percentiles", "q", "repeats",
    "right", "right_on", "thresh", "to_replace", "upper", "value", "values",
])  # fmt: skip
"""Arguments that may be lazy, or hold what is."""
_ROWS = frozenset(["by", "keys", "key", "labels", "index", "columns", "weights", "times"])
"""Arguments that may be lazy objects of rows, or hold such, but no lazy scalars."""
_ROWS_OF_CONDITION = (
    "rows for which a condition holds are chosen by filter(cond=...), labels that are known by items=value.compute()"
)
_INSTEAD = {(f"{kind}.filter", "items"): _ROWS_OF_CONDITION for kind in ("DataFrame", "Series")}
"""What to use instead of lazy rows, by a method and its argument."""
_LOOK_AT_CALLER = frozenset(["query", "eval"])
"""Methods that look for variables where they are called."""


def with_lazy_arguments_checked(kind: str) -> Callable[[type], type]:
    """Return a class decorator that lets public methods refuse lazy arguments that can't be. Errors name the class as `kind`.

    A class that gets methods later is changed again.
    """

    def change(cls: type) -> type:
        for name in dir(cls):
            method = inspect.getattr_static(cls, name)
            is_checked = name in _LOOK_AT_CALLER or getattr(method, "checks_lazy_arguments", False)
            if not name.startswith("_") and inspect.isfunction(method) and not is_checked:
                setattr(cls, name, _checking(method, f"{kind}.{name}"))
        return cls

    return change


def require_at_hand(where: str, **arguments: Any) -> None:
    """Check that arguments of a function are no lazy objects.

    Raises
    ------
    TypeError
        If one is: it says which.
    """
    for name, value in arguments.items():
        if holds_lazy((value,)):
            raise _refused(where, name, value)


def _checking(method: Callable[..., Any], where: str) -> Callable[..., Any]:
    numbers = WholeNumbers(method)
    is_calling = method.__name__ in CALLING

    @functools.wraps(method)
    def checking(*args: Any, **kwargs: Any) -> Any:
        if is_calling and not _gives_columns(where, args, kwargs):
            own, *others, kwargs = with_scalars_at_hand((*args, kwargs))
            args = (own, *others)
        if holds_lazy(args[1:]) or (kwargs and holds_lazy(kwargs.values())):
            _check(method, where, args, kwargs)
        args, kwargs = numbers.taken(args, kwargs)
        return method(*args, **kwargs)

    checking.checks_lazy_arguments = True  # type: ignore[attr-defined]
    return hiding_as(method, checking)


def _gives_columns(where: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether a method gives functions lazy columns, beside which lazy scalars stay lazy."""
    axis = kwargs.get("axis", args[2] if len(args) > 2 else 0)
    return where == "DataFrame.apply" and isinstance(axis, (int, str)) and axis in (0, "index", "rows")


def hiding_as(method: Callable[..., Any], around: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that was put around a method, so that it hides the engine's frames from users if the method does."""
    decorate = getattr(method, "hides_engine_frames", None)
    return around if decorate is None else decorate(around)


def _check(method: Callable[..., Any], where: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    signature = inspect.signature(method)
    try:
        given = signature.bind_partial(*args, **kwargs).arguments
    except TypeError:  # the method says what is wrong
        return
    takes_none = where.startswith("GroupBy.") and where != "GroupBy.pipe"
    for name, value in list(given.items())[1:]:
        is_open = signature.parameters[name].kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
        is_meta = name == "meta" and isinstance(value, Collection)
        if not holds_lazy((value,)) or is_meta or ((is_open or name in _VALUES) and not takes_none):
            continue
        if takes_none or name not in _ROWS or _holds_scalars(value):
            raise _refused(where, name, value)


def _holds_scalars(value: Any) -> bool:
    if isinstance(value, Collection):
        return is_lazy_scalar(value)
    if type(value) is dict:
        return any(map(_holds_scalars, value.values()))
    return type(value) in (list, tuple) and any(map(_holds_scalars, value))


def _refused(where: str, name: str, value: Any) -> TypeError:
    kind = type(value).__name__
    if isinstance(value, Collection):
        instead = _INSTEAD.get((where, name)) if kind in ("Series", "DataFrame", "Index") else None
        if instead is not None:
            return TypeError(f"{where}: {name}= is a lazy {kind}; {instead}")
        return TypeError(
            f"{where}: {name}= is a lazy {kind}; it takes the value itself: compute() it before, as {name}=value.compute()"
        )
    return TypeError(
        f"{where}: {name}= is a {kind} of lazy values; it takes the values themselves: compute() them before"
    )

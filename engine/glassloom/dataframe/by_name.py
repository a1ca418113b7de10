"""Arguments by position that may be given by name, of methods whose other keyword arguments are those of a user's function.

The user's function may have arguments of any name, also of that by which the method calls its own: ``frame.map_partitions(f, func=3)`` is
``f(partition, func=3)``, and ``frame.map_partitions(func=f)`` is ``f(partition)``. So the method takes `func` by position only, and
`with_places_filled` puts there what is given by name where nothing is given by position.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

_PANDAS_OWN = frozenset(["self", "func"])
"""Names by which methods of pandas take the object and the user's function."""


def places_by_name(parameters: Iterable[inspect.Parameter]) -> tuple[inspect.Parameter, ...]:
    """Return the parameters that a method takes by position only, without the object itself."""
    return tuple(one for one in parameters if one.kind is one.POSITIONAL_ONLY and one.name != "self")


def with_places_filled(
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    places: tuple[inspect.Parameter, ...],
    others: Mapping[str, str],
    n_before: int,
) -> tuple[Any, ...]:
    """Return arguments by position with those that are given by name in `kwargs`, out of which they are taken.

    Parameters
    ----------
    places
        As of `places_by_name`, which follow `n_before` other arguments.
    others
        Other names of them.

    Examples
    --------
    >>> places = places_by_name(inspect.signature(lambda func, /, **kwargs: None).parameters.values())
    >>> kwargs = {"func": len, "x": 1}
    >>> with_places_filled((), kwargs, places, {}, 0), kwargs
    ((<built-in function len>,), {'x': 1})
    """
    filled = list(args)
    for place in places[max(len(args) - n_before, 0) :]:
        names = [place.name, *(name for name, target in others.items() if target == place.name)]
        given = [name for name in names if name in kwargs]
        if given:
            filled.append(kwargs.pop(given[0]))
        elif place.default is not place.empty:
            filled.append(place.default)
        else:
            break  # Python says that it is missing
    return tuple(filled)


def with_own_arguments(function: Any, kwargs: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Return a user's function and its keyword arguments as pandas' methods take them: those of their own names are bound before."""
    own = {name: value for name, value in kwargs.items() if name in _PANDAS_OWN}
    if not own or not callable(function):
        return function, kwargs
    bound: Callable[..., Any] = partial(function, **own)
    return bound, {name: value for name, value in kwargs.items() if name not in own}

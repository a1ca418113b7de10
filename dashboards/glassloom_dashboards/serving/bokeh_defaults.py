"""Remembers what Bokeh works out anew for each property of each model though it depends on the model's class alone.

A page has some hundred models of up to a hundred properties. To make and to write one, Bokeh validates the default of each of
them, most of which are never set: two thirds of the time that opening a page takes here. `remember_defaults` puts memories before
the functions of Bokeh that do so. Results stay the same; ``tests/dashboards/test_bokeh_defaults.py`` compares them.

These functions are Bokeh's own affair, so nothing is replaced in a version that this was not compared with: pages take longer then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import bokeh
from bokeh.core.has_props import HasProps
from bokeh.core.property.bases import ParameterizedProperty
from bokeh.core.property.descriptors import PropertyDescriptor
from bokeh.core.property.singletons import Undefined
from bokeh.core.property.wrappers import PropertyValueContainer

KNOWN_VERSIONS = ("3.9.", "3.10.")
"""What versions of Bokeh begin with whose functions are the ones that are replaced."""

_IMMUTABLE = (bool, float, int, str, type(None))

IS_KNOWN = bokeh.__version__.startswith(KNOWN_VERSIONS)

_overridden_defaults: Any = vars(HasProps)["_overridden_defaults"].__func__ if IS_KNOWN else HasProps
_remembered_overrides: Any = lru_cache(None)(_overridden_defaults)
_has_unstable_default = PropertyDescriptor.has_unstable_default
_instance_default = PropertyDescriptor.instance_default
_query = HasProps.query_properties_with_values
_themed_values = HasProps.themed_values


def remember_defaults() -> None:
    """Let Bokeh remember, in this process, from now on; do nothing if its version is not one of `KNOWN_VERSIONS`."""
    for owner, name, ours, _ in _REPLACED if IS_KNOWN else ():
        setattr(owner, name, ours)


@contextmanager
def forgotten_defaults() -> Iterator[None]:
    """Let Bokeh be as it was until the block ends."""
    before = [vars(owner)[name] for owner, name, _, _ in _REPLACED]
    try:
        for owner, name, _, theirs in _REPLACED:
            setattr(owner, name, theirs)
        yield
    finally:
        for (owner, name, _, _), was in zip(_REPLACED, before, strict=True):
            setattr(owner, name, was)


_unstable: dict[tuple[PropertyDescriptor[Any], type[HasProps]], bool] = {}
_defaults: dict[tuple[PropertyDescriptor[Any], type[HasProps]], Any] = {}


def _remembered_unstable(self: PropertyDescriptor[Any], obj: HasProps) -> bool:
    place = self, type(obj)
    found = _unstable.get(place)
    if found is None:
        found = _unstable[place] = _has_unstable_default(self, obj)
    return found


def _remembered_default(self: PropertyDescriptor[Any], obj: HasProps) -> Any:
    """Return the default of a property, which is remembered if nobody can change it."""
    if _own_themed_values(obj) is not None:
        return _instance_default(self, obj)
    place = self, type(obj)
    if place in _defaults:
        return _defaults[place]
    default = _instance_default(self, obj)
    if (default is Undefined or isinstance(default, _IMMUTABLE)) and not _remembered_unstable(self, obj):
        _defaults[place] = default
    return default


def _own_themed_values(self: HasProps) -> dict[str, Any] | None:
    """Return what Bokeh does, without its long way to an attribute that is nearly never there."""
    found: dict[str, Any] | None = vars(self).get("__themed_values__")
    return found


_required: dict[type[HasProps], frozenset[str]] = {}


def _required_names(model: HasProps) -> frozenset[str]:
    """Return the names of the properties that have no default: Bokeh refuses to write a model without them."""
    found = _required.get(type(model))
    if found is None:
        named = ((name, model.lookup(name)) for name in model.properties())
        descriptors = {name: one for name, one in named if isinstance(one, PropertyDescriptor)}  # others are aliases
        stable = {
            name: descriptor for name, descriptor in descriptors.items() if not _remembered_unstable(descriptor, model)
        }
        found = frozenset(name for name, one in stable.items() if _remembered_default(one, model) is Undefined)
        _required[type(model)] = found
    return found


def _query_set(
    self: HasProps,
    query: Callable[[PropertyDescriptor[Any]], bool],
    *,
    include_defaults: bool = True,
    include_undefined: bool = False,
) -> dict[str, Any]:
    """Return what Bokeh does; where defaults aren't wanted, without computing them."""
    if include_defaults or include_undefined or _own_themed_values(self) is not None:
        found: dict[str, Any] = _query(
            self, query, include_defaults=include_defaults, include_undefined=include_undefined
        )
        return found
    values, unstable, required = self._property_values, self._unstable_default_values, _required_names(self)
    found = {}
    for name in self.properties(_with_props=True):
        if name in values or name in unstable or name in required:
            descriptor = self.lookup(name)
            if query(descriptor):
                value = descriptor.get_value(self)  # of a required one that isn't set it raises
                if not (name in unstable and isinstance(value, PropertyValueContainer)):
                    found[name] = value
    return found


_parameterized_text = ParameterizedProperty.__str__
_TEXT = "_glassloom_text"


def _remembered_text(self: ParameterizedProperty[Any]) -> str:
    """Return what Bokeh does. It asks for each dict that it validates, for the message that it raises if that is none."""
    remembered = vars(self)
    text: str | None = remembered.get(_TEXT)
    if text is None:
        text = remembered[_TEXT] = _parameterized_text(self)
    return text


_REPLACED: tuple[tuple[type, str, Any, Any], ...] = (
    (HasProps, "_overridden_defaults", classmethod(_remembered_overrides), classmethod(_overridden_defaults)),
    (HasProps, "themed_values", _own_themed_values, _themed_values),
    (HasProps, "query_properties_with_values", _query_set, _query),
    (ParameterizedProperty, "__str__", _remembered_text, _parameterized_text),
    (PropertyDescriptor, "has_unstable_default", _remembered_unstable, _has_unstable_default),
    (PropertyDescriptor, "instance_default", _remembered_default, _instance_default),
)
"""What is replaced: class, name, ours and Bokeh's."""

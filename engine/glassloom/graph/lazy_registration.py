"""Modules that are imported when the first value of a package turns up, so that nobody pays for packages not in use."""

from __future__ import annotations

import importlib

from glassloom._text import module_name

_modules: dict[str, str] = {}


def load_later(package: str, module: str) -> None:
    """Promise to import `module` before the first value whose type comes from `package` is measured or hashed."""
    _modules[package] = module


def load_for(kind: type) -> bool:
    """Import what was promised for the package of `kind`; return whether anything was imported."""
    module = _modules.pop(module_name(kind).partition(".")[0], None) if _modules else None
    if module is None:
        return False
    importlib.import_module(module)
    return True

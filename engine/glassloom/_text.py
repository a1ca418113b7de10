"""Text of what belongs to users: exceptions, classes. Nothing here raises; what is returned can be encoded as UTF-8."""

from __future__ import annotations

import traceback
from types import TracebackType
from typing import Any

_NAME = type.__dict__["__name__"].__get__
_QUALNAME = type.__dict__["__qualname__"].__get__
_MODULE = type.__dict__["__module__"].__get__


def encodable(text: str) -> str:
    r"""Return `text` as a plain string that UTF-8 can encode: lone surrogates become ``\udc..`` in letters.

    >>> encodable("caf\xe9 \udcff")
    'caf\xe9 \\udcff'
    """
    return str.encode(text, "utf-8", "backslashreplace").decode()


def text_of(value: Any, max_chars: int | None = None) -> str:
    """Return ``str(value)``, or a text that says that there is none."""
    try:
        return encodable(str.__getitem__(str(value), slice(max_chars)))
    except Exception as error:  # the value is the user's: its __str__ may raise anything
        return f"<its text can't be made: {type_name(type(error))}>"


def type_name(kind: type) -> str:
    """Return the name of a class, whatever its metaclass says."""
    return encodable(_NAME(kind))


def full_type_name(kind: type) -> str:
    """Return the name of a class with its module."""
    module, name = module_name(kind), encodable(_QUALNAME(kind))
    return f"{module}.{name}" if module else name


def module_name(kind: type) -> str:
    """Return the name of the module that a class comes from; "" if it names none."""
    try:
        module = _MODULE(kind)
    except Exception:  # its dictionary is the user's
        return ""
    return encodable(module) if isinstance(module, str) else ""


def error_line(error: BaseException, max_chars: int | None = None) -> str:
    """Return ``"ValueError: its text"``."""
    return f"{type_name(type(error))}: {text_of(error, max_chars)}"


def traceback_text(error: BaseException, max_chars: int | None = None, *, frames: TracebackType | None = None) -> str:
    """Return the traceback as Python prints it, or the last part of it; `frames` stand in for the exception's own."""
    try:
        text = "".join(traceback.format_exception(type(error), error, frames or error.__traceback__))
    except Exception:  # the exception is the user's: its notes, causes and attributes may be anything
        text = error_line(error)
    return encodable(text if max_chars is None else text[-max_chars:])

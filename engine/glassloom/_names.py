"""Names that users give and that other processes are told: which texts can be one."""

from __future__ import annotations

from typing import Any

from glassloom.errors import OptionError


def checked_name(argument: str, name: Any) -> str:
    """Return a name as a plain string, whatever its class.

    Raises
    ------
    OptionError
        If it is no text, is empty, or can't be sent. The message begins with `argument`.
    """
    if not isinstance(name, str) or not name:
        raise OptionError(f"{argument}={name!r} should be text")
    check_encodable(argument, name, name)
    return str.__str__(name)


def check_encodable(argument: str, value: Any, text: str) -> None:
    """Refuse the value of an argument if a text in it can't be sent: one with lone surrogates, as in undecodable file names."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise OptionError(
            f"{argument}={value!r}: {text!r} has characters that UTF-8 can't encode; use another name"
        ) from error

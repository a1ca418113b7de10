"""Names that users give and that other processes are told: which texts can be one."""

from __future__ import annotations

from typing import Any

from glassloom.errors import OptionError

MAX_CLUSTER_NAME_CHARS = 200
_TURNING = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""Characters that set the direction of the text that follows them, also of what isn't the name's."""


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


def checked_cluster_name(name: Any) -> str:
    """Return what a cluster may be called, as a plain string; raises OptionError for anything else."""
    if not isinstance(name, str) or not name.strip() or len(name) > MAX_CLUSTER_NAME_CHARS or "\0" in name:
        raise OptionError(f"name={name!r} should be text of 1 to {MAX_CLUSTER_NAME_CHARS} characters")
    if not _TURNING.isdisjoint(name):
        raise OptionError(f"name={name!r} has characters that change the direction of text; leave them out")
    return checked_name("name", name)


def check_encodable(argument: str, value: Any, text: str) -> None:
    """Refuse the value of an argument if a text in it can't be sent: one with lone surrogates, as in undecodable file names."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise OptionError(
            f"{argument}={value!r}: {text!r} has characters that UTF-8 can't encode; use another name"
        ) from error

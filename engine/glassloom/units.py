"""Byte sizes and times as people write them: parsed and formatted here and nowhere else."""

from __future__ import annotations

import re
from datetime import timedelta

from glassloom.errors import OptionError

_PREFIXES = "kmgtpe"
_SECONDS = {"us": 1e-6, "ms": 1e-3, "": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_WORDS = {
    "seconds": "s",
    "second": "s",
    "sec": "s",
    "minutes": "m",
    "minute": "m",
    "min": "m",
    "hours": "h",
    "hour": "h",
}
_SIZE = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*([a-zA-Z]*)\s*")


def parse_bytes(size: int | float | str) -> int:
    """Return a number of bytes: numbers as they are, text with a unit such as ``"1GB"`` (10**9) or ``"128 MiB"``.

    Raises
    ------
    OptionError
        If it isn't a size.

    >>> parse_bytes("1GB"), parse_bytes("128 MiB"), parse_bytes("1.5kB"), parse_bytes(100)
    (1000000000, 134217728, 1500, 100)
    """
    if isinstance(size, (int, float)) and not isinstance(size, bool) and size >= 0:
        return int(size)
    match = _SIZE.fullmatch(size) if isinstance(size, str) else None
    factor = _unit_bytes(match[2].lower()) if match else None
    if match is None or factor is None:
        raise OptionError(f"{size!r} is not a size in bytes; write a number, or text such as '4GB' or '128 MiB'")
    return int(float(match[1]) * factor)


def parse_share(size: object) -> float | None:
    """Return a share of the memory, above 0 and at most 1.0; None if it is none. The number 1 and the text ``"1"`` are a byte.

    >>> parse_share(0.5), parse_share("0.5"), parse_share("1.0"), parse_share("1"), parse_share("1.5 GB")
    (0.5, 0.5, 1.0, None, None)
    """
    if isinstance(size, str) and "." in size:
        try:
            size = float(size)
        except ValueError:
            return None
    return size if isinstance(size, float) and 0 < size <= 1 else None


def _unit_bytes(unit: str) -> int | None:
    prefix, binary = unit.removesuffix("b"), False
    if prefix.endswith("i"):
        prefix, binary = prefix[:-1], True
    if prefix == "":
        return None if binary else 1
    if len(prefix) > 1 or prefix not in _PREFIXES:
        return None
    return int((1024 if binary else 1000) ** (_PREFIXES.index(prefix) + 1))


def format_seconds(time_s: float) -> str:
    """Return a time for people.

    >>> format_seconds(0.5), format_seconds(90), format_seconds(1800), format_seconds(5400)
    ('0.5 s', '90 s', '30 min', '90 min')
    """
    for unit, unit_s in (("h", 3600), ("min", 60)):
        if time_s >= unit_s and time_s % unit_s == 0:
            return f"{time_s / unit_s:g} {unit}"
    return f"{time_s:g} s"


def format_bytes(nbytes: float) -> str:
    """Return a size for people, in binary units.

    >>> format_bytes(0), format_bytes(1536), format_bytes(2 * 10**12)
    ('0 B', '1.50 KiB', '1.82 TiB')
    """
    amount = float(nbytes)
    for unit in ("B", "KiB", "MiB", "GiB", "TiB", "PiB"):
        if abs(amount) < 1024:
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.2f} {unit}"
        amount /= 1024
    return f"{amount:.2f} EiB"


def parse_seconds(name: str, time: float | str | timedelta | None) -> float | None:
    """Return a number of seconds: numbers as they are, text with a unit such as ``"500ms"`` or ``"2 min"``.

    Raises
    ------
    OptionError
        If it isn't a time, or a negative one; the message names the option.

    >>> parse_seconds("timeout", 1.5), parse_seconds("timeout", "500ms"), parse_seconds("timeout", "2 minutes")
    (1.5, 0.5, 120.0)
    """
    if time is None:
        return None
    if isinstance(time, timedelta):
        time = time.total_seconds()
    if isinstance(time, (int, float)) and not isinstance(time, bool) and time >= 0:
        return float(time)
    match = _SIZE.fullmatch(time) if isinstance(time, str) else None
    factor = _SECONDS.get(_WORDS.get(match[2].lower(), match[2].lower())) if match else None
    if match is None or factor is None:
        raise OptionError(f"{name}={time!r} is no time; write seconds, 0 or more, or text such as '500ms' or '2 min'")
    return float(match[1]) * factor

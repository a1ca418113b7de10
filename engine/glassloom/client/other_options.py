"""Options of Dask's client's methods that people type by habit: each is told what takes its place here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from glassloom.cluster.other_names import refuse_others

_NO_TEXT = "a cancelled task's error names the task; leave it out"
_INSTEAD: Mapping[str, str] = {
    "actors": "there are no actors here; keep what tasks share in a Variable or a Queue",
    "asynchronous": "make the client with Client(asynchronous=True); what doesn't wait isn't awaited there either",
    "msg": _NO_TEXT,
    "optimize_kwargs": "how plans are optimised is said with glassloom.config.set(); config.describe() lists the options",
    "reason": _NO_TEXT,
    "traverse": "use glassloom.compute(..., traverse=False); a client always looks into lists, tuples and dicts",
}
_SAME_HERE: Mapping[str, tuple[Any, ...]] = {"actors": (False,), "asynchronous": (False,), "traverse": (True,)}


def refuse_other_options(method: str, others: Mapping[str, Any], known: tuple[str, ...]) -> None:
    """Raise for options that a method doesn't have: `OptionError` with what there is instead, or `TypeError`."""
    refuse_others(f"Client.{method}", others, known, _INSTEAD, _SAME_HERE)

"""Finds out which methods of glassloom.dataframe run on partitions of a device, and writes docs/dataframe-on-device.json. Run it after adding some.

Each method is called on partitions of the library that stands in for cuDF in tests (`tests/dataframe/strict_frames.py`), whose objects only
their own methods reach, and which counts rows that move to the host, with the first arguments of a list that it takes on the host. What this
shows is where our own code computes; whether cuDF has a method is known from its documentation.

python docs/dataframe_on_device.py
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dataframe_support
import glassloom.dataframe as gd
import pandas as pd
from glassloom.backends.frames import DEVICE_BACKENDS

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "dataframe"))
import strict_frames

FOUND = Path(__file__).parent / "dataframe-on-device.json"
YES, FIRST, KEYS, NO_ROWS, HOST, FILES, UNKNOWN = (
    "yes",
    "yes; partial results move to the host",
    "yes; the host reads the keys",
    "needs no rows",
    "no: partitions move to the host",
    "no: the host writes files",
    "not tried",
)
ANSWERS = (YES, FIRST, KEYS, NO_ROWS, HOST, FILES, UNKNOWN)
"""From best to worst; others are errors."""
TO_FILES = {"to_csv", "to_json", "to_orc", "to_parquet", "to_sql"}
_ROWS = 60
_MOST_CALLS = 4

_NUMBERS = pd.DataFrame(
    {"n": [n % 7 for n in range(_ROWS)], "x": [n / 8 for n in range(_ROWS)], "y": [float(n % 5) for n in range(_ROWS)]},
)
FRAMES = {
    "numbers": _NUMBERS,
    "text": pd.DataFrame({"n": ["ab c", "d"] * (_ROWS // 2)}),
    "times": pd.DataFrame({"n": pd.date_range("2026", periods=_ROWS, freq="h")}),
    "by time": _NUMBERS.set_axis(pd.date_range("2026", periods=_ROWS, freq="h")),
    "by time in a zone": _NUMBERS.set_axis(pd.date_range("2026", periods=_ROWS, freq="h", tz="UTC")),
    "categories": _NUMBERS.astype({"n": "category"}),
    "two levels": _NUMBERS.set_axis(pd.MultiIndex.from_product([["a", "b"], range(_ROWS // 2)], names=["one", "two"])),
}
Call = Callable[[Any, Any], Any]
CALLS: list[Call] = [
    lambda f, s: f(), lambda f, s: f(1), lambda f, s: f("n"), lambda f, s: f(s), lambda f, s: f(["n"]), lambda f, s: f(0, 1), lambda f, s: f({"n": "z"}),
    lambda f, s: f(lambda part: part), lambda f, s: f("sum"), lambda f, s: f("1D"), lambda f, s: f(columns={"n": "z"}), lambda f, s: f([1, 2]), lambda f, s: f("float64"),
    lambda f, s: f("n", "x"), lambda f, s: f(s > 1), lambda f, s: f("x > 1"), lambda f, s: f(z=1), lambda f, s: f(1, "n"), lambda f, s: f(s, on="n"), lambda f, s: f(0.5),
    lambda f, s: f("09:00", "11:00"), lambda f, s: f("09:00"), lambda f, s: f("UTC"), lambda f, s: f("CET"), lambda f, s: f("D"), lambda f, s: f(s, lambda a, b: a + b),
    lambda f, s: f(lambda row: row["x"], axis=1), lambda f, s: f(lambda one: one), lambda f, s: f(0, "new", 1.0), lambda f, s: f(["a", "b", "c"], axis=1), lambda f, s: f(0, s["x"]),
    lambda f, s: f(index="n", columns="m", values="x"), lambda f, s: f(["m"]), lambda f, s: f(["two", "one"]), lambda f, s: f([1, 0]), lambda f, s: f("two"), lambda f, s: f([(s > 3, 1)]),
    lambda f, s: f(s[["x"]].rename(columns={"x": "w"}), how="left"), lambda f, s: f(values="x", index="y", columns="n"), lambda f, s: f(3), lambda f, s: f(how="end"), lambda f, s: f(["a"], errors="ignore"),
    lambda f, s: f(like="n"), lambda f, s: f("abs"), lambda f, s: f("x", "y", "n"), lambda f, s: f(s, keep_shape=True), lambda f, s: f(1, freq="1h"), lambda f, s: f(freq="D"),
    lambda f, s: f(items=["n"]), lambda f, s: f(s.astype("str")),
]  # fmt: skip
"""Ways to call a method, with a frame or series like its own as the second argument; the first that works on the host is taken."""
_USES: dict[str, Callable[[Any], Any]] = {
    "groupby": lambda g: g.sum(), "rolling": lambda g: g.sum(), "expanding": lambda g: g.sum(), "ewm": lambda g: g.mean(), "resample": lambda g: g.sum(),
    "str": lambda g: g.upper(), "dt": lambda g: g.year, "cat": lambda g: g.codes, "loc": lambda g: g[5:20], "iloc": lambda g: g[:, [0]] if hasattr(g, "columns") else g[5:20],
    "at": lambda g: g[3, "x"] if hasattr(g, "columns") else g[3], "iat": lambda g: g[0, 1],
}  # fmt: skip
"""What is done with what isn't a result by itself."""


def probe(kind: str, name: str) -> str:
    """Return what is so of a method: the best of the calls that work on the host."""
    if name in TO_FILES:
        return FILES
    answers: list[str] = []
    for data in FRAMES.values():
        for call in CALLS:
            if YES in answers or NO_ROWS in answers or len(answers) == _MOST_CALLS:
                break
            if not isinstance(_outcome(kind, name, call, _lazy(data, "pandas")), Exception):
                answers.append(_on_device(kind, name, call, _lazy(data, "strict_frames")))
        if answers:
            break
    return min(
        answers, key=lambda answer: ANSWERS.index(answer) if answer in ANSWERS else len(ANSWERS), default=UNKNOWN
    )


def _lazy(data: pd.DataFrame, backend: str) -> Any:
    return gd.from_pandas(data, npartitions=2).to_backend(backend)


def _on_device(kind: str, name: str, call: Call, frame: Any) -> str:
    strict_frames.MOVES.update({"to": 0, "from": 0, "rows": 0, "columns": set()})
    made = _outcome(kind, name, call, frame)
    if isinstance(made, Exception):
        return f"no: {type(made).__name__}"
    moved, began = strict_frames.MOVES["rows"], strict_frames.MOVES["to"]
    if not began:
        return NO_ROWS
    if moved >= _ROWS // 2:
        stays = kind == "DataFrame" and all(isinstance(one, strict_frames.Strict) for one in made)
        return KEYS if stays and len(strict_frames.MOVES["columns"]) < len(_NUMBERS.columns) else HOST
    return FIRST if moved else YES


def _outcome(kind: str, name: str, call: Call, frame: Any) -> Any:
    """Return what a call gives, computed, or its error."""
    owner = {"DataFrame": frame, "Series": frame["n"], "Index": frame.index}[kind]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = getattr(owner, name)
            if name in _USES and not callable(found):
                made = _USES[name](found)
            elif callable(found) and not hasattr(found, "expr"):
                made = call(found, owner)
                made = _USES[name](made) if name in _USES else made
            else:
                made = found
            if hasattr(made, "__next__"):
                made = list(made)
            several = made if isinstance(made, (tuple, list)) else [made]
            return [one.compute(scheduler="inline") if hasattr(one, "expr") else one for one in several]
    except Exception as error:
        return error


def found() -> dict[str, dict[str, str]]:
    """Return what is so of each method by class and name."""
    DEVICE_BACKENDS["strict_frames"] = strict_frames
    try:
        return {
            kind: {name: probe(kind, name) for name, _ in dataframe_support._there(kind)}
            for kind in dataframe_support.OURS
        }
    finally:
        del DEVICE_BACKENDS["strict_frames"]


if __name__ == "__main__":
    FOUND.write_text(json.dumps(found(), indent=1, sort_keys=True) + "\n")
    print(f"wrote {FOUND}", file=sys.stderr)

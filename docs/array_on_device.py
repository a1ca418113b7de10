"""Finds out which functions of glassloom.array work on blocks of a device, and writes docs/array-on-device.json. Run it after adding some.

Each function is called on the simulated device, whose arrays refuse to be read by the host without an explicit copy and count copies, with
the first arguments of a list that it takes on the host. What this shows is that our own code doesn't read blocks on the host; whether the device's
library has a function is known from that library's documentation (`LACKING`).

python docs/array_on_device.py
"""

from __future__ import annotations

import json
import signal
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import array_support
import glassloom.array as ga
import numpy as np
from glassloom import config
from glassloom.backends.simulated_ import SimulatedMemory, set_memory

FOUND = Path(__file__).parent / "array-on-device.json"
LACKING = {
    "numpy": {"nanquantile", "nanpercentile", "vecdot", "isnat", "spacing"},
    "numpy.strings": set(np.strings.__all__),
    "numpy.random.Generator": {"bytes", "multinomial", "multivariate_hypergeometric"},
    "numpy.random.RandomState": {"bytes", "multinomial"},
}
"""What CuPy 14.2 lacks and nothing here stands for; what else it lacks is in `glassloom.backends.cupy_gaps`, and the simulated device lacks it
too. What picks elements, and `spawn`, are ours, as are the distributions that `glassloom.backends.cupy_` adds. There is no text on a device."""
OF_FILES = {"fromfile", "genfromtxt", "load", "loadtxt", "save", "savetxt", "savez", "savez_compressed"}
"""Aren't called: a number is a file descriptor of this process to them."""
YES, FEW, COPIES, UNKNOWN = (
    "yes",
    "yes; some numbers are read on the host",
    "no: blocks are copied to the host",
    "not tried",
)
_SECONDS = 5
_MOST_CALLS = 6
_REASONS = {
    "implicit conversion": "no: it reads blocks on the host",
    "unsupported type numpy.ndarray": "no: it mixes blocks with arrays of NumPy's",
    "'Namespace' object is not callable": "not tried",  # the simulated device has no such function
}
_BLOCK_BYTES = 72
"""Of a block of 3 by 3 numbers."""

Call = Callable[[Any, dict[str, Any]], Any]
CALLS: list[Call] = [
    lambda f, v: f(v["x"]), lambda f, v: f(v["x"], 3), lambda f, v: f(v["x"], 0.5), lambda f, v: f(v["x"], [0.1, 0.5]),
    lambda f, v: f(v["cube"], 3), lambda f, v: f(v["one"], [0.1, 0.2, 0.3], [1.0, 2.0, 3.0]), lambda f, v: f([1, 2, 5], (3, 4)), lambda f, v: f(v["x"], v["x"]), lambda f, v: f(v["one"]), lambda f, v: f(v["one"], v["one"]),
    lambda f, v: f(v["whole"]), lambda f, v: f(v["whole"], v["whole"]), lambda f, v: f(v["truth"]), lambda f, v: f(v["truth"], v["truth"]),
    lambda f, v: f(v["x"], 1), lambda f, v: f(v["x"], 0.5), lambda f, v: f(v["one"], 2), lambda f, v: f([v["x"], v["x"]]),
    lambda f, v: f(v["x"], axis=0), lambda f, v: f(v["x"], 0, 1), lambda f, v: f(v["x"], (6, 6)), lambda f, v: f(v["x"], (2, 3, 6)),
    lambda f, v: f(v["square"]), lambda f, v: f(v["square"], v["square"]), lambda f, v: f(v["square"], v["one"]), lambda f, v: f(v["square"], 2),
    lambda f, v: f(v["complex"]), lambda f, v: f(v["truth"], v["x"], v["x"]), lambda f, v: f(v["x"], [0, 2], 0), lambda f, v: f(v["x"], [0, 2], v["x"][:2], 0),
    lambda f, v: f(v["one"], [0.1, 0.2]), lambda f, v: f(v["truth"], v["x"]), lambda f, v: f(v["x"], ((1, 1), (0, 0))), lambda f, v: f(v["whole"], 3, axis=0),
    lambda f, v: f((4, 4)), lambda f, v: f((4, 4), 2.0), lambda f, v: f(4), lambda f, v: f(0, 1, 5), lambda f, v: f(v["one"], v["one"], [v["one"]]),
    lambda f, v: f([v["truth"]], [v["x"]]), lambda f, v: f("ij,jk->ik", v["square"], v["square"]), lambda f, v: f(v["whole"], (v["one"],)),
    lambda f, v: f(v["x"], 0.1, 0.6), lambda f, v: f([True, False] * 3, v["x"], 0), lambda f, v: f(v["x"][:, :3], v["x"][:, 3:]), lambda f, v: f(v["cube"], (2, 0, 1)),
    lambda f, v: f(lambda i, j: i + j, (4, 4)), lambda f, v: f(1.0, 100.0, 5), lambda f, v: f(np.sum, v["x"], [0]), lambda f, v: f(v["one"], v["one"], bins=4, range=[(0, 1), (0, 1)]),
    lambda f, v: f(v["wide"].T, bins=3, range=[(0, 1)] * 3), lambda f, v: f(3, [0.2, 0.8], size=6), lambda f, v: f([0.2, 0.8], size=6), lambda f, v: f([0.0, 1.0], [[1.0, 0.0], [0.0, 1.0]], size=6), lambda f, v: f(v["x"], 0.3, 0.6, 1), lambda f, v: f(v["one"] , v["one"], 1), lambda f, v: f(lambda a: a * 2, 0, v["x"]),
    lambda f, v: f(), lambda f, v: f(1), lambda f, v: f(0, 1), lambda f, v: f("float32"), lambda f, v: f(v["complex"], v["complex"]), lambda f, v: f(v["cube"]), lambda f, v: f(v["cube"], v["cube"]),
    lambda f, v: f(v["line"]), lambda f, v: f(v["line"], v["line"]), lambda f, v: f(v["wide"]), lambda f, v: f(2.0, size=6), lambda f, v: f(2.0, 3.0, size=6), lambda f, v: f(5, 0.5, size=6), lambda f, v: f(1.0, 2.0, 3.0, size=6),
]  # fmt: skip
"""Ways to call a function or, without its first argument's part, a method; the first that works on the host is taken."""


def values(backend: str) -> dict[str, Any]:
    """Return arrays of a backend. Matrices have inverses and eigenvalues that differ, and `one` is sorted: otherwise results are open to rounding."""
    base = (np.arange(36.0).reshape(6, 6) ** 2 * 11 % 37 + 1) / 38
    host = {
        "x": base, "one": np.arange(1.0, 7) / 12, "whole": np.arange(36).reshape(6, 6) % 7, "truth": base > 0.5, "square": base @ base.T + 6 * np.eye(6),
        "complex": base + 1j * base.T, "cube": base.reshape(2, 3, 6), "line": np.arange(6) % 4, "wide": base[:3],
    }  # fmt: skip
    whole = {"square", "complex", "wide"}
    return {
        name: ga.from_array(array, chunks=-1 if name in whole else 3).to_backend(backend)
        for name, array in host.items()
    }


def probe(namespace: str, owner: Any, name: str) -> str:
    """Return what is so of a function: the best of the calls that work on the host."""
    if name in LACKING.get(namespace, ()):
        return "no: CuPy has none"
    if name in OF_FILES:
        return "no: the host reads and writes files"
    answers = []
    for call in CALLS:
        if _outcome(namespace, owner, name, call, "numpy") is None:
            answers.append(_on_device(namespace, owner, name, call))
            if answers[-1] == YES:
                break
            if len(answers) == _MOST_CALLS:
                break
    return min(
        answers, key=lambda answer: (answer not in (YES, FEW), answer != YES, answers.index(answer)), default=UNKNOWN
    )


def _on_device(namespace: str, owner: Any, name: str, call: Call) -> str:
    """Return what is so of a call: with the device as the configured backend, and where arrays alone are on it."""
    memory = SimulatedMemory(2**30)
    set_memory(memory)
    try:
        error = _outcome(namespace, owner, name, call, "simulated", values("simulated"))
        read = memory.to_host[1]
        if error is None and not namespace.startswith("numpy.random"):
            error = _outcome(namespace, owner, name, call, "numpy", values("simulated"))
    finally:
        set_memory(None)
    if error is not None:
        return next((words for text, words in _REASONS.items() if text in error), f"no: {error}")
    return YES if not read else COPIES if read >= _BLOCK_BYTES else FEW


def _outcome(namespace: str, owner: Any, name: str, call: Call, backend: str, known: Any = None) -> str | None:
    """Call a function and compute what it returns; return the error, None if there is none."""

    def late(*_: Any) -> None:
        raise TimeoutError

    signal.signal(signal.SIGALRM, late)
    signal.alarm(_SECONDS)
    try:
        with config.set({"array.backend": backend}), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            vs = values(backend) if known is None else known
            if namespace == "numpy.ndarray":

                def function(*args: Any, **kwargs: Any) -> Any:
                    bound = getattr(args[0], name)
                    return bound(*args[1:], **kwargs) if callable(bound) else bound
            elif namespace.startswith("numpy.random"):
                made = owner(7) if "RandomState" in namespace else ga.random.default_rng(7, backend=backend)
                function = getattr(made, name)
            else:
                function = getattr(owner, name)
            result = call(function, vs)
            _compute(result)
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        return f"{type(error).__name__}: {error}".splitlines()[0][:120]
    finally:
        signal.alarm(0)
    return None


def _compute(result: Any) -> None:
    for one in result if isinstance(result, (tuple, list)) else [result]:
        if isinstance(one, ga.Array):
            one.compute(scheduler="inline")


def found() -> dict[str, dict[str, str]]:
    """Return what is so of each function by namespace and name."""
    return {
        title: {name: probe(title, ours, name) for name, _ in array_support._there(theirs, ours)}
        for title, theirs, ours in array_support.NAMESPACES
        if theirs is not np.ma
    }


if __name__ == "__main__":
    FOUND.write_text(json.dumps(found(), indent=1, sort_keys=True) + "\n")
    print(f"wrote {FOUND}", file=sys.stderr)

"""The statistical profile as files that flame graph viewers open: speedscope's JSON, and collapsed stacks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import PurePath

import msgspec
from glassloom_metrics.call_tree import Frame, SampledStacks

_SCHEMA = "https://www.speedscope.app/file-format-schema.json"

Wanted = Callable[[str], bool]
"""Tells by a layer's name whether it is written."""


def _all(layer: str) -> bool:
    return True


def speedscope(profile: SampledStacks, name: str, wanted: Wanted = _all) -> bytes:
    """Return a profile for https://www.speedscope.app, the layer outermost. Its lines are those that ran."""
    frames: dict[Frame, int] = {}
    samples, weights = [], []
    for layer, stack, _, seconds in sorted(profile.rows(wanted)):
        samples.append([frames.setdefault(frame, len(frames)) for frame in ((layer, "", 0), *stack)])
        weights.append(seconds)
    described = [{"name": function} | ({"file": file, "line": line} if file else {}) for function, file, line in frames]
    return msgspec.json.encode(
        {
            "$schema": _SCHEMA,
            "name": name,
            "exporter": "glassloom",
            "shared": {"frames": described},
            "profiles": [
                {
                    "type": "sampled",
                    "name": name,
                    "unit": "seconds",
                    "startValue": 0,
                    "endValue": sum(weights),
                    "samples": samples,
                    "weights": weights,
                }
            ],
        }
    )


def collapsed(profile: SampledStacks, name: str, wanted: Wanted = _all) -> bytes:
    """Return a line for each stack, its frames from the layer on apart by semicolons, with its milliseconds: ``flamegraph.pl``."""
    lines = []
    for layer, stack, _, seconds in sorted(profile.rows(wanted)):
        names = [f"{function} ({PurePath(file).name}:{line})" if file else function for function, file, line in stack]
        text = ";".join(_one_line(name) for name in (layer, *names))
        lines.append(f"{text} {round(seconds * 1000)}\n")
    return "".join(lines).encode()


def _one_line(name: str) -> str:
    return " ".join(name.replace(";", ",").split())

"""Numbers for people: the same in Python and in the browser."""

from __future__ import annotations

import json
import math
import random
import shutil
import subprocess
from pathlib import Path

import glassloom_dashboards
import pytest
from glassloom_dashboards.parts.theme import bytes_text
from glassloom_dashboards.parts.times import duration_text

SCRIPT = Path(glassloom_dashboards.__file__).parent / "static" / "glassloom.js"
CALL = """
globalThis.window = {};
require(process.argv[1]);
const cases = JSON.parse(require('fs').readFileSync(0));
const call = (name, values) => values.map(value => window.glassloom[name](value ?? NaN));
console.log(JSON.stringify(Object.fromEntries(Object.entries(cases).map(([name, values]) => [name, call(name, values)]))));
"""

DURATIONS = {
    0.0: "0 s",
    1e-9: "<1 µs",
    1e-6: "1 µs",
    999e-6: "999 µs",
    999.6e-6: "1 ms",
    0.0042: "4.2 ms",
    0.25: "250 ms",
    0.9996: "1 s",
    1.5: "1.5 s",
    2.345: "2.35 s",
    9.996: "10 s",
    12.25: "12.3 s",
    59.94: "59.9 s",
    59.95: "1 min 00 s",
    125.0: "2 min 05 s",
    90.5: "1 min 31 s",
    3599.0: "59 min 59 s",
    3599.6: "1 h 00 min",
    7260.0: "2 h 01 min",
    86_369.0: "23 h 59 min",
    86_370.0: "1 d 00 h",
    2.5 * 86_400: "2 d 12 h",
    1_234_567 * 86_400.0: "1,234,567 d 00 h",
    -0.25: "-250 ms",
    -7260.0: "-2 h 01 min",
    math.nan: "unknown",
    math.inf: "unknown",
}
SIZES = {
    0.0: "0 B",
    1023.0: "1023 B",
    1024.0: "1.00 KiB",
    1536.0: "1.50 KiB",
    88.0 * 2**20: "88.0 MiB",
    1023.9 * 2**20: "1.00 GiB",
    2.0**60: "1048576 TiB",
    -(2.0**20): "-1.00 MiB",
    math.nan: "unknown",
}


def in_the_browsers_language(cases: dict[str, list[float]]) -> dict[str, list[str]]:
    node = shutil.which("node")
    assert node, "no node: it comes with the labextension's tools"
    sent = {name: [value if math.isfinite(value) else None for value in values] for name, values in cases.items()}
    done = subprocess.run(
        [node, "-e", CALL, str(SCRIPT)], input=json.dumps(sent), capture_output=True, text=True, timeout=300, check=True
    )
    return json.loads(done.stdout)


@pytest.mark.parametrize(("seconds", "text"), DURATIONS.items())
def test_lengths_of_time(seconds: float, text: str):
    assert duration_text(seconds) == text


@pytest.mark.parametrize(("count", "text"), SIZES.items())
def test_numbers_of_bytes(count: float, text: str):
    assert bytes_text(count) == text


def test_hover_cards_say_numbers_as_tables_do():
    chance = random.Random(7)
    seconds = [*DURATIONS, *(10 ** chance.uniform(-7, 7) for _ in range(2000))]
    seconds += [count / 8 for count in range(1000)]  # ties, which languages round in their own ways
    sizes = [*SIZES, *(10 ** chance.uniform(0, 16) for _ in range(2000))]
    said = in_the_browsers_language({"duration": seconds, "bytes": sizes})
    assert said["duration"] == [duration_text(value) for value in seconds]
    assert said["bytes"] == [bytes_text(value) for value in sizes]

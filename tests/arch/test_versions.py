"""One module knows what depends on the version of pandas."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
ASKS = re.compile(r"\b(pd|pandas)\.__version__|version\(\W?pandas\W?\)")


def test_one_module_asks_for_the_version_of_pandas() -> None:
    files = [path for folder in ("engine", "server", "dashboards", "tests") for path in (ROOT / folder).rglob("*.py")]
    asking = [str(path.relative_to(ROOT)) for path in files if ASKS.search(path.read_text(encoding="utf-8"))]
    assert asking == ["engine/glassloom/backends/pandas_version.py"]

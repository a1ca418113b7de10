"""The real dashboards process, for tests that talk to it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

SECRET = "s3cret-of-the-test"


@contextmanager
def dashboards(*arguments: str, **environment: str) -> Iterator[subprocess.Popen[str]]:
    """Run the real process until the block ends."""
    process = subprocess.Popen(
        [sys.executable, "-m", "glassloom_dashboards", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment},
    )
    try:
        yield process
    finally:
        process.terminate()
        process.communicate(timeout=60)

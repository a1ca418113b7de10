"""Where shared memory is: a file system of the system's that lives in memory."""

from __future__ import annotations

from pathlib import Path

SHARED_MEMORY_DIR = Path("/dev/shm")

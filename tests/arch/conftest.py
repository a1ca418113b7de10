"""The packages, and what their modules import: read from the source, hidden imports included."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

"""What depends on the version of pandas that is installed. Nothing else asks for it, but for pages that are made for one version."""

from __future__ import annotations

import pandas as pd

PANDAS_VERSION = tuple(map(int, pd.__version__.split(".")[:2]))
"""Major and minor version: ``(3, 1)``."""
HAS_COPY_ON_WRITE = PANDAS_VERSION >= (3, 0)
"""Whether it is pandas 3 or later: what its release notes call copy-on-write is one of many changes."""
LOOKS_UP_SAFELY = PANDAS_VERSION >= (3, 1)
"""Whether threads may look labels up at once before the table of them is made."""
COMPARES_VARIABLES = PANDAS_VERSION >= (3, 1)
"""Whether `query` reads ``x in [@a, 1]`` as ``x == @a or x == 1``: missing values are in no list then."""

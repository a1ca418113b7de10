"""Makes `frame_helpers` importable, and leaves hypothesis time on a busy machine."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from glassloom import config
from hypothesis import Phase, settings
from long_tests import examples

sys.path.insert(0, str(Path(__file__).parent))

settings.register_profile(
    "frames",
    settings.get_profile("common"),
    max_examples=examples(18),
    # Frames are drawn by seed: shrinking takes minutes, and helps little.
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
)
settings.load_profile("frames")

# Otherwise what reads a file would depend on whether an earlier test of the same process imported Polars.
os.environ.setdefault("GLASSLOOM_DATAFRAME__PARQUET_ENGINE", "pyarrow")
config.refresh()

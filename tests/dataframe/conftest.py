"""Makes `frame_helpers` importable, and leaves hypothesis time on a busy machine."""

from __future__ import annotations

import sys
from pathlib import Path

from hypothesis import HealthCheck, Phase, settings
from long_tests import examples

sys.path.insert(0, str(Path(__file__).parent))

settings.register_profile(
    "frames",
    deadline=None,
    max_examples=examples(18),
    phases=[
        Phase.explicit,
        Phase.reuse,
        Phase.generate,
    ],  # frames are drawn by seed: shrinking takes minutes, and helps little
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("frames")

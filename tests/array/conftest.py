"""Makes `array_strategies` importable; enough examples to find things, few enough to stay quick on a busy machine."""

import sys
from pathlib import Path

from hypothesis import HealthCheck, settings
from long_tests import examples

sys.path.insert(0, str(Path(__file__).parent))

settings.register_profile(
    "arrays", max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("arrays")

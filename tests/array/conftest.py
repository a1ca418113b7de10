"""Makes `array_strategies` importable; enough examples to find things, few enough to stay quick on a busy machine."""

import sys
from pathlib import Path

from hypothesis import settings

sys.path.insert(0, str(Path(__file__).parent))

settings.register_profile("arrays", settings.get_profile("common"))
settings.load_profile("arrays")

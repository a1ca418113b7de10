"""Settings of hypothesis that all tests share."""

from __future__ import annotations

from hypothesis import HealthCheck, settings
from long_tests import examples

BY_LUCK = (HealthCheck.too_slow, HealthCheck.data_too_large)
"""Checks that depend on how busy the machine is, and on what is drawn first: they tell nothing of what is tested."""


def load_common_profile() -> None:
    """Let examples take as long as they take on a busy machine. Folders' own profiles have this one as `parent`."""
    settings.register_profile("common", deadline=None, max_examples=examples(60), suppress_health_check=BY_LUCK)
    settings.load_profile("common")

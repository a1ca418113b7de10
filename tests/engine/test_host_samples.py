"""What is told of the machine; and nothing, not an error, where that can't be told."""

from __future__ import annotations

import psutil
import pytest
from glassloom.sampling.host import HostSampler


def test_a_sample_has_rates_from_the_second_on() -> None:
    sampler = HostSampler()
    first, second = sampler.sample(1.0), sampler.sample(2.0)
    assert first is not None and second is not None
    assert first.network_sent_bytes_s == "not supported"
    assert isinstance(second.network_sent_bytes_s, float) and second.network_sent_bytes_s >= 0
    assert 0 < second.memory_used_bytes <= second.memory_total_bytes


@pytest.mark.parametrize("name", ["cpu_percent", "virtual_memory", "cpu_count"])
@pytest.mark.parametrize("error", [OSError(24, "Too many open files"), RuntimeError("unusual")])
def test_what_cannot_be_measured_is_left_out(name: str, error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    sampler = HostSampler()
    monkeypatch.setattr(psutil, name, fail)
    assert sampler.sample(1.0) is None
    monkeypatch.undo()
    assert sampler.sample(2.0) is not None

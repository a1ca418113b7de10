"""What the head measures of the machine's GPUs."""

from __future__ import annotations

import asyncio

from glassloom.head.metrics_writer import MetricsWriter
from glassloom.protocol.clock import Clock
from glassloom.sampling.nvml import NvmlSampler

_SAMPLE_S = 1.0


async def sample_gpus(clock: Clock, metrics_writer: MetricsWriter) -> None:
    """Measure once a second, in another thread because drivers may take their time; return if there is no GPU."""
    try:
        sampler = NvmlSampler()
    except (ImportError, OSError):
        return
    while True:
        metrics_writer.gpus(await asyncio.to_thread(sampler.sample, clock.now_s()))
        await asyncio.sleep(_SAMPLE_S)

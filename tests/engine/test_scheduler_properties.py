"""Random graphs, clients and faults against the scheduler, the books checked after each step: see `simulator`."""

from __future__ import annotations

import pytest
from simulator import Simulation

N_SIMULATIONS = 120
STEPS_EACH = 850


@pytest.mark.parametrize("batch", range(12))
def test_no_wish_result_or_byte_is_lost_whatever_happens(batch: int) -> None:
    per_batch = N_SIMULATIONS // 12
    n_steps = 0
    for seed in range(batch * per_batch, (batch + 1) * per_batch):
        simulation = Simulation(seed)
        try:
            for _ in range(STEPS_EACH):
                simulation.step()
            simulation.settle()
            simulation.check_outcome()
            simulation.end()
        except Exception as error:
            error.add_note(f"in simulation {seed}, step {simulation.n_steps}")
            raise
        n_steps += simulation.n_steps
    assert n_steps >= 100_000 // 12

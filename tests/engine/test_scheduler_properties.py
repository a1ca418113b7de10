"""Random graphs, clients and faults against the scheduler, the invariants checked after each step: see `simulator`.

``GLASSLOOM_LONG_TESTS=1`` runs five times as many.
"""

from __future__ import annotations

import pytest
from long_tests import LONG_TESTS
from simulator import Simulation

pytestmark = pytest.mark.more

N_BATCHES = 12
SIMULATIONS_EACH = 10 if LONG_TESTS else 2
STEPS_EACH = 1000  # 24,000 in all, or 120,000, and those until all is settled


@pytest.mark.parametrize("batch", range(N_BATCHES))
def test_no_request_result_or_byte_is_lost_whatever_happens(batch: int) -> None:
    for seed in range(batch * SIMULATIONS_EACH, (batch + 1) * SIMULATIONS_EACH):
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

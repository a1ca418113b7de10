"""A bag as HTML, which notebooks show."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from glassloom.reprs import render
from glassloom.reprs.block_states import block_states, held_bytes, held_values, states_html


def bag_html(bag: Any, told: Sequence[str] = ()) -> str:
    """Return a card with the partitions, and how they stand if they are persisted; `told`: see `block_states`."""
    held = held_values(bag.expr)
    states = states_html(block_states(held, told), held_bytes(held), was_told=bool(told))
    origin = f"{bag.expr.origin or ''}"
    return render("bag.html.j2", key=bag.name, npartitions=bag.npartitions, origin=origin, states=states)

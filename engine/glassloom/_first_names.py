"""First names for synthetic data."""

from __future__ import annotations

NAMES = (
    "Amina", "Bjorn", "Chidi", "Dolores", "Emre", "Fatima", "Goran", "Hana", "Igor", "Jorge", "Kavya", "Liam", "Mei",
    "Nadia", "Olaf", "Priya", "Quentin", "Rosa", "Sven", "Tomoko", "Usha", "Viktor", "Wanda", "Ximena", "Yusuf", "Zoe",
)  # fmt: skip

"""What NumPy has in `numpy.lib` and we have too."""

from __future__ import annotations

from types import SimpleNamespace

from glassloom.array.api.overlap import sliding_window_view

stride_tricks = SimpleNamespace(sliding_window_view=sliding_window_view)
"""As `numpy.lib.stride_tricks`."""

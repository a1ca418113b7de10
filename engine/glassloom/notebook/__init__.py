"""What notebooks and terminals see of runs as they go: progress below a cell, progress bars, and a cluster's monitor. Imported when first needed.

`glassloom.graph.cell_runs` calls `cell_began_run` when code in a notebook's cell begins a run.
"""

from __future__ import annotations

from glassloom.notebook.cell_watcher import cell_began_run

__all__ = ["cell_began_run"]

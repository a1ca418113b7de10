"""Glassloom's Jupyter server extension: clusters listed, started and shut down, dashboards proxied.

It knows the registry and the metrics protocol, not the engine: kernels have environments of their own, and nothing here
imports ``glassloom``, NumPy, pandas or Bokeh.
"""

from __future__ import annotations

from typing import Any

from glassloom_server.extension import GlassloomServer


def _jupyter_labextension_paths() -> list[dict[str, str]]:
    return [{"src": "../../labextension/dist", "dest": "glassloom"}]


def _jupyter_server_extension_points() -> list[dict[str, Any]]:
    return [{"module": "glassloom_server", "app": GlassloomServer}]

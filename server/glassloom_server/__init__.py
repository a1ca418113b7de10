"""Glassloom's Jupyter server extension: where clusters are listed, started and shut down, and dashboards proxied."""

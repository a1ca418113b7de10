"""Bokeh dashboards of Glassloom clusters, in a process of their own.

It knows the metrics protocol (`glassloom_metrics`), not the engine. `python -m glassloom_dashboards --help` says how it
is started: behind Jupyter on a private UNIX socket, or alone on 127.0.0.1.
"""

"""The metrics protocol of Glassloom: what a cluster tells about itself, and where clusters are found.

This package is shared by the engine, the dashboards and the Jupyter server, so it is light: the standard library,
msgspec and psutil. It knows nothing of scheduling, NumPy, Bokeh or Jupyter.
"""

__version__ = "0.1.0"

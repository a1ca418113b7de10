"""The edge of the lazy world: what arrays are read from, and what they are written to.

`source.py` has the contract of what is read, `sink.py` that of what is written. Nothing here knows nodes or `Array`.
"""

"""Devices that hold results and run tasks' kernels, such as GPUs: what the worker asks of one, whichever it is."""

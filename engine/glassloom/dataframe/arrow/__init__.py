"""Kernels of Arrow for blocks of frames: chosen where the result is pandas', turned off by the option ``dataframe.arrow``."""

"""Synthetic data for examples and tests.

>>> import glassloom as gl
>>> gl.datasets.timeseries(end="2000-01-03", freq="1h", seed=1).npartitions
2
"""

from glassloom.bag.people import make_people
from glassloom.dataframe.datasets import timeseries

__all__ = ["make_people", "timeseries"]

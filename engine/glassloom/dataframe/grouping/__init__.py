"""`groupby`: keys, aggregations by a tree of tasks, and what needs whole groups."""

from glassloom.dataframe.grouping import keys_as_columns as _keys_as_columns  # noqa: F401 - registers its rule
from glassloom.dataframe.grouping import needed_results as _needed_results  # noqa: F401 - registers its rule

"""`groupby`: keys, aggregations by a tree of tasks, and what needs whole groups."""

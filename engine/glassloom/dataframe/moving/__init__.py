"""What moves rows between partitions: shuffles, sorts, joins, and other numbers of partitions."""

from glassloom.dataframe.moving import filters_before_joins as _filters_before_joins  # noqa: F401 - registers its pass, after those
from glassloom.dataframe.moving import narrowing as _narrowing  # noqa: F401 - registers its rules

"""What moves rows between partitions: shuffles, sorts, joins, and other numbers of partitions."""

from glassloom.dataframe.moving import narrowing as _narrowing  # noqa: F401 - registers its rules

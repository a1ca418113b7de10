"""What moves rows between partitions: shuffles, sorts, joins, and other numbers of partitions."""

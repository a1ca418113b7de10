"""Where results live: in a worker's memory, in shared memory that all of a cluster's processes map, on disk."""

"""What drives the scheduler: inline, threads, or a head with worker processes."""

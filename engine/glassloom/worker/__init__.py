"""A worker process: its threads, task queue, memory monitor and task context; and the server that forks workers."""

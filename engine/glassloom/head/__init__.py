"""The head process: server, worker pool, submission, cancellation, queries, coordination and what it records."""

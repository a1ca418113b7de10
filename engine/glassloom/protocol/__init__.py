"""What the processes of a cluster say to each other: messages, pickled calls, failures, options and names."""

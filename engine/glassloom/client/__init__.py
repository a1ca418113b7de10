"""The client of a cluster, one noun a module; `glassloom` has the public names."""

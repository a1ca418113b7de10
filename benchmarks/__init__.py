"""Speed, as ratios: Glassloom beside Dask in one interleaved run. ``python -m benchmarks --help`` says how."""

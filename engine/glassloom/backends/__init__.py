"""What a chunk may be: NumPy and CuPy arrays, pandas and cuDF frames. Each backend registers its own dispatches."""

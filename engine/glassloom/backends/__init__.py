"""What a chunk may be: NumPy and CuPy arrays, pandas and cuDF frames, sparse matrices, Arrow tables. Each backend registers its own dispatches."""

from glassloom.graph.lazy_registration import load_later
from glassloom.graph.options_in_use import load_options_later

load_later("numpy", "glassloom.backends.numpy_")
load_later("pandas", "glassloom.backends.pandas_")
load_later("pyarrow", "glassloom.backends.arrow")
load_later("scipy", "glassloom.backends.scipy_")
load_options_later("pandas", "glassloom.backends.pandas_options")

"""Where frames come from and go to: pandas, CSV, Parquet, functions and delayed calls."""

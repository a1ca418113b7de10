"""Runs fused blocks over tiles that fit the cache, or as kernels on a device. Doesn't know expressions."""

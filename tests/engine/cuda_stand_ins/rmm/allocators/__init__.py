"""Allocators of other libraries."""

"""Runtimes in the caller's own process (threads, synchronous), and which runtime is the default."""

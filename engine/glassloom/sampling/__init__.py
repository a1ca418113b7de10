"""Measures processes, hosts and devices. Decides nothing, sends nothing."""

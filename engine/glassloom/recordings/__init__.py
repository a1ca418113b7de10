"""Recordings that a person keeps: made (`cluster_recording`), shown again (`replay`), and read by other tools."""

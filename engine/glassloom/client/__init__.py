"""The client of a cluster. `client` opens, submits and gathers; each other module is a part of what a client can do."""

from glassloom.client.client import Client, default_client

__all__ = ["Client", "default_client"]

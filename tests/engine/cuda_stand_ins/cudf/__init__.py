"""Stands in for cuDF where there is no GPU: it notes which options are set."""

from cupy import CALLS


def set_option(name, value):
    CALLS.append(("set_option", name, value))


class DataFrame:
    pass


class Series:
    pass


class Index:
    pass

"""Glassloom and Dask. Nothing else in Glassloom imports Dask, and what is imported here by name doesn't either.

- Dask's collections on our engine: ``Client(dask=True)``, ``dask.config.set(scheduler=client.get)``, or, on threads,
  ``dask.config.set(scheduler=glassloom.get)``;
- joblib on our engine: `register_joblib`.

>>> import dask
>>> import glassloom
>>> with dask.config.set(scheduler=glassloom.get):
...     dask.delayed(sum)([1, 2]).compute()
3
"""

from __future__ import annotations

from glassloom.distributed.optional import load

__all__ = ["register_joblib"]


def register_joblib() -> None:
    """Make the backend ``"glassloom"`` known to joblib: ``joblib.parallel_config("glassloom")``.

    Calls then run on the newest open `Client`, or on the client that is given: ``parallel_config("glassloom", client=...)``.

    Raises
    ------
    OptionError
        If joblib isn't installed.

    Examples
    --------
    >>> import joblib
    >>> from glassloom import Client
    >>> from glassloom.distributed import register_joblib
    >>> register_joblib()
    >>> with Client(n_workers=1, threads_per_worker=2), joblib.parallel_config("glassloom"):
    ...     joblib.Parallel()(joblib.delayed(abs)(x) for x in [-1, -2])
    [1, 2]
    """
    load("joblib_backend", "register_joblib()").register()

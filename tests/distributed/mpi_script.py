"""The script of a job of MPI: W6 (c), a Monte-Carlo estimate of pi on blocks, and then an end of the kind that its argument says."""

from __future__ import annotations

import os
import signal
import sys
import time

import glassloom.array as ga
from glassloom import Client
from glassloom.distributed import initialize_mpi

initialize_mpi(nthreads=1, memory_limit="500MB")
print(f"rank of the script {os.environ['OMPI_COMM_WORLD_RANK']}", flush=True)
with Client() as client:
    n = 200_000
    xy = ga.random.default_rng(1).uniform(size=(n, 2), chunks=n // 4)
    print(f"pi {float((4 * ((xy**2).sum(axis=1) < 1).sum() / n).compute()):.1f}", flush=True)
    pids = client.run(os.getpid)
    print(f"workers {len(pids)}", flush=True)
    how = sys.argv[1]
    if how == "error":
        raise ValueError("the script's own error")
    if how == "exit":
        sys.exit(3)
    if how == "interrupt":
        os.kill(os.getpid(), signal.SIGINT)
    if how == "busy":
        tasks = client.map(time.sleep, [1000, 1001, 1002, 1003])
    if how == "killed":
        os.kill(next(iter(pids.values())), signal.SIGKILL)
        time.sleep(1000)

#!/bin/sh
# Makes sure that MPI, Slurm and an SSH server are there for the tests of clusters that they start: installs Debian's where it may, else says how.
set -eu

PATH="$PATH:/usr/sbin"
if command -v mpirun >/dev/null 2>&1 && command -v slurmctld >/dev/null 2>&1 && command -v slurmd >/dev/null 2>&1 &&
    command -v sshd >/dev/null 2>&1; then
    exit 0
fi

say_how() {
    echo "The tests of MPI, Slurm and SSH need all three, and they weren't found. Install them, for example with" >&2
    echo "    sudo apt-get install openmpi-bin libopenmpi-dev slurmctld slurmd slurm-client munge openssh-server        (Debian, Ubuntu)" >&2
    exit 1
}

command -v apt-get >/dev/null 2>&1 || say_how
if [ "$(id -u)" = 0 ]; then
    sudo=""
elif command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then
    sudo="sudo -n"
else
    say_how
fi
$sudo apt-get update -qq
$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
    openmpi-bin libopenmpi-dev slurmctld slurmd slurm-client munge openssh-server
command -v mpirun >/dev/null 2>&1 || say_how

#!/bin/sh
# Installs Debian's nginx for the tests behind a reverse proxy, where it may: these are skipped without it.
set -eu

PATH="$PATH:/usr/sbin"
if command -v nginx >/dev/null 2>&1 && command -v openssl >/dev/null 2>&1; then
    exit 0
fi
if ! command -v apt-get >/dev/null 2>&1; then
    sudo=missing
elif [ "$(id -u)" = 0 ]; then
    sudo=""
elif command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then
    sudo="sudo -n"
else
    sudo=missing
fi
if [ "$sudo" = missing ]; then
    echo "nginx and openssl aren't installed: tests/e2e/test_reverse_proxy.py will be skipped (apt-get install nginx-light openssl)" >&2
    exit 0
fi
$sudo apt-get update -qq
$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends nginx-light openssl

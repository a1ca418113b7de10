#!/bin/sh
# Makes sure that a Chromium is there for the browser tests: installs Debian's where it may, else says how.
set -eu

for name in "${GLASSLOOM_CHROMIUM:-}" chromium chromium-browser google-chrome; do
    if [ -n "$name" ] && command -v "$name" >/dev/null 2>&1; then
        exit 0
    fi
done

say_how() {
    echo "The browser tests need Chromium, and none was found. Install it, for example with" >&2
    echo "    sudo apt-get install chromium        (Debian, Ubuntu)" >&2
    echo "    .venv/bin/playwright install chromium  (elsewhere; then set GLASSLOOM_CHROMIUM to its path)" >&2
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
$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium
command -v chromium >/dev/null 2>&1 || say_how

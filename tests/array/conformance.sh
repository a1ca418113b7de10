#!/bin/sh
# Runs data-apis/array-api-tests, the conformance suite of the array API standard, on glassloom.array:
#   make conformance                         all of it, 100 examples a test
#   make conformance CONFORMANCE_ARGS="--max-examples=5 array_api_tests/test_linalg.py"
# The suite's code stays out of this repository: it is taken at a pinned commit into .tools/array-api-tests, or from the
# checkout (with its submodule) that ARRAY_API_TESTS names. What is known to fail, and why: array_api_failures.txt.
# Tests of that list that pass are shown in the end (some fail with some numbers only).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
commit=55fcc60179efa2680ddd6cd926ddf17b83530e2b

suite=${ARRAY_API_TESTS:-$root/.tools/array-api-tests}
if [ ! -e "$suite/conftest.py" ]; then
    git init --quiet "$suite"
    git -C "$suite" fetch --quiet --depth 1 https://github.com/data-apis/array-api-tests "$commit"
    git -C "$suite" checkout --quiet FETCH_HEAD
    git -C "$suite" submodule --quiet update --init --depth 1
fi
cd "$suite"
ARRAY_API_TESTS_MODULE=glassloom.array exec python -m pytest -q -p no:cacheprovider --disable-deadline \
    -rX --xfails-file="$here/array_api_failures.txt" "${@:-array_api_tests}"

# One command each:  make lab | make test | make test-gpu | make test-pandas2 | make test-pandas30 | make long | make lint | make bench | make conformance | make wheel
#
# Needs Python >= 3.11 (with venv) and make, nothing else. uv is taken from PATH or put into .tools/ from PyPI;
# Node.js comes from PyPI too. `make lab LAB_ARGS="--no-browser --port 9000"` passes arguments on to JupyterLab.

PYTHON ?= python3
CUDA_EXTRA ?= cuda12
UV := $(shell command -v uv 2>/dev/null || echo $(CURDIR)/.tools/bin/uv)
JLPM := cd labextension && $(CURDIR)/.venv/bin/jlpm
# JupyterLab refuses to run as root unless told; in a container that is who we are.
ALLOW_ROOT := $(if $(filter 0,$(shell id -u)),--allow-root)

export PATH := $(CURDIR)/.venv/bin:$(PATH)
export VIRTUAL_ENV := $(CURDIR)/.venv
export UV_PYTHON_DOWNLOADS := never
# The tests start thousands of processes of Python. Where the user's environment forbids it to write bytecode, each would compile all
# that it imports: 2.4 s of CPU instead of 0.7 s for the frames alone.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: setup lab test test-gpu test-pandas2 test-pandas30 long lint format bench conformance dask-suites pandas-suite dask-dataframe-suite wheel constraints clean
.DEFAULT_GOAL := lab

$(CURDIR)/.tools/bin/uv:
	$(PYTHON) -m venv .tools
	.tools/bin/python -m pip install --quiet --disable-pip-version-check "uv>=0.9,<1"

.venv/bin/python: | $(UV)
	$(UV) venv --python $(PYTHON) .venv

# uv resolves and builds anew whenever it is asked (10 s), so it is asked only after one of these changed.
SETUP_SOURCES := pyproject.toml constraints.txt labextension/package.json labextension/yarn.lock \
  $(shell find jupyter-config labextension/src labextension/style labextension/schema -type f)

setup: .venv/.set-up

.venv/.set-up: $(SETUP_SOURCES) | .venv/bin/python
	$(UV) pip install --quiet -c constraints.txt -e ".[test]"
	touch $@

labextension/node_modules: setup
	test -d $@ || ($(JLPM) install --immutable)

lab: setup
	jupyter lab $(ALLOW_ROOT) --ServerApp.root_dir="$(CURDIR)/notebooks" \
	  --LabApp.default_url=/lab/tree/01-first-look.ipynb $(LAB_ARGS)

# Tests wait for other processes for about 40 % of their time, so that there are two processes more than CPUs, but four at most; each imports all tests first
# (10 s of CPU, and up to 1.2 GiB in the end). Each takes the next file, in the order of tests/shared/file_order.py.
PYTEST_PROCESSES = $(shell $(PYTHON) -c "import os; print(min((os.cpu_count() or 1) + 2, 4))")

test: setup labextension/node_modules
	sh tests/e2e/install-chromium.sh
	pytest --numprocesses $(PYTEST_PROCESSES) --dist loadfile $(PYTEST_ARGS)
	$(JLPM) test

# Tests with other packages than constraints.txt has, in environments of their own.
REQUIREMENT_pandas2 := pandas>=2.3.3,<3
REQUIREMENT_pandas30 := pandas>=3.0.6,<3.1
REQUIREMENT_gpu := pandas>=3,<3.1
EXTRAS_gpu := ,$(CUDA_EXTRA)
IN_ENVIRONMENT = PATH="$(CURDIR)/.venv-$*/bin:$(PATH)" VIRTUAL_ENV="$(CURDIR)/.venv-$*"

# The tests of frames with the last pandas 2, and the last 3.0, which cuDF takes. All of them take five minutes on two CPUs. PYTEST_ARGS chooses others.
test-pandas2 test-pandas30: test-%: .venv-%/.set-up
	$(IN_ENVIRONMENT) pytest --numprocesses logical --maxprocesses 4 --dist loadfile $(if $(PYTEST_ARGS),$(PYTEST_ARGS),tests/dataframe tests/expr)

# What needs an NVIDIA GPU, with CuPy and cuDF (the extra `cuda12` or `cuda13`). Prints which devices there are; fails where there is none.
test-gpu: test-%: .venv-%/.set-up
	$(IN_ENVIRONMENT) python -c "import sys; from glassloom.cluster.cuda_devices import main; sys.exit(main())"
	$(IN_ENVIRONMENT) pytest -m gpu tests/gpu $(PYTEST_ARGS)

$(patsubst %,.venv-%/.set-up,pandas2 pandas30 gpu): .venv-%/.set-up: $(SETUP_SOURCES) .venv/.set-up
	$(UV) venv --quiet --clear --python $(PYTHON) .venv-$*
	grep -v -e '^pandas==' -e '^pandas-stubs==' constraints.txt > .venv-$*/constraints.txt
	VIRTUAL_ENV="$(CURDIR)/.venv-$*" $(UV) pip install --quiet -c .venv-$*/constraints.txt "$(REQUIREMENT_$*)" -e ".[test$(EXTRAS_$*)]"
	touch $@

# What takes minutes: what tries more than `make test` does (10^5 task completions among random faults, interrupts at a fifth of all places and
# crashes at a third, others each day, all queries of TPC-H), what `make test` leaves out (more of JupyterLab in Chromium, workers that are stuck for
# long, jobs of MPI and Slurm, all notebooks), and five times as many examples of all properties.
long: setup
	sh tests/distributed/install-batch-systems.sh
	sh tests/e2e/install-chromium.sh
	sh tests/e2e/install-nginx.sh
	GLASSLOOM_LONG_TESTS=1 pytest --numprocesses $(PYTEST_PROCESSES) --dist loadfile --durations 10 -m "more or long or hypothesis" $(PYTEST_ARGS)

lint: setup labextension/node_modules
	ruff check
	ruff format --check
	mypy
	$(JLPM) lint

format: setup labextension/node_modules
	ruff check --fix
	ruff format
	$(JLPM) lint:fix

bench: setup
	$(UV) pip install --quiet -c constraints.txt -e ".[test,bench]"
	python -m benchmarks $(BENCH_ARGS)

# The conformance suite of the array API standard, taken from GitHub (or from the checkout ARRAY_API_TESTS names).
conformance: setup
	$(UV) pip install --quiet -c constraints.txt -e ".[test,conformance]"
	sh tests/array/conformance.sh $(CONFORMANCE_ARGS)

# Dask's own tests with our schedulers in the place of Dask's: a part of them; DASK_SUITES_ARGS="--all" runs all.
dask-suites: setup
	python tests/distributed/dask_suites.py $(DASK_SUITES_ARGS)

# What pandas' own tests ask of frames, asked of ours; PANDAS_SUITE_ARGS names files below pandas/tests, and a report.
pandas-suite: setup
	python tests/dataframe/pandas_suite.py $(PANDAS_SUITE_ARGS)

# What Dask's own tests ask of its frames, asked of ours; DASK_DATAFRAME_SUITE_ARGS names files below dask/dataframe, and a report.
dask-dataframe-suite: setup
	python tests/dataframe/dask_suite.py $(DASK_DATAFRAME_SUITE_ARGS)

wheel: setup
	rm -rf dist labextension/dist
	$(UV) build --out-dir dist

# Renews the pinned versions; names and versions only, whatever the registry.
constraints: setup
	$(UV) pip compile --quiet --upgrade --universal --python-version 3.11 --no-annotate --no-header \
	  --extra test --extra bench --extra conformance pyproject.toml -o constraints.txt

clean:
	rm -rf .venv .venv-* .tools dist labextension/dist labextension/lib labextension/node_modules labextension/*.tsbuildinfo

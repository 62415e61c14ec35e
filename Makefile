# Every target sets itself up: a virtual environment in .venv, the package in it, then the work.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
DATA   ?= ../shared/data

.PHONY: demo manual lint test check benchmark ablate audit mutants noise ray ecosystem reproduce reproduce-quick results clean

$(VENV)/.base: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	touch $@

$(VENV)/.test: $(VENV)/.base
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test]'
	touch $@

$(VENV)/.reproduce: $(VENV)/.base
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[plots,silos]'
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

test: lint                     ## what is fast: run it after every change (make check before a release)
	$(BIN)/pytest -n 2 -m "not slow"

benchmark: $(VENV)/.benchmark  ## accuracy and speed tables, written to benchmarks/results
	$(BIN)/python -m benchmarks.accuracy --data $(DATA) --decompose
	$(BIN)/python benchmarks/plot.py
	$(BIN)/python -m benchmarks.list_constants --data $(DATA)
	$(BIN)/python -m benchmarks.list_speed
	$(BIN)/python -m benchmarks.speed
	$(BIN)/python -m benchmarks.new_items --data $(DATA)

ablate: $(VENV)/.test          ## what each constant and part of budgeted ALS is worth (some 20 minutes a draw)
	$(BIN)/python -m benchmarks.ablate --data $(DATA)

# Scores of games are kept in build/audit: what was interrupted goes on where it stopped.
audit: $(VENV)/.reproduce      ## try to refute every promise; writes benchmarks/results/assurance.md (some 40 minutes on 2 idle cores)
	$(BIN)/python benchmarks/audit.py

check: $(VENV)/.test           ## what is slow: draws, faults, kills, fuzzing, figures, documents' commands, the browser
	DISCREET_FULL=1 $(BIN)/pytest -n 2 --timeout 7200 -m "slow or grows"

# RESUME=1 goes on with a run that was interrupted.
mutants: $(VENV)/.test         ## some 390 privacy bugs, one at a time in a copy: who notices? (some 40 minutes)
	$(BIN)/python -m mutants $(if $(RESUME),--resume) --jobs 2 --out benchmarks/results/mutants.json

noise: $(VENV)/.test           ## 10^8 draws of every sampler, streams, attacks; writes benchmarks/results/noise.md (some 5 minutes)
	$(BIN)/python -m benchmarks.noise

FOUND := $(if $(wildcard $(DATA)),--data $(DATA))

reproduce-quick: $(VENV)/.reproduce  ## every figure and table of the papers, small: does it all run?
	$(BIN)/python -m reproduction all --quick $(FOUND) --out build/reproduce-quick

reproduce: $(VENV)/.reproduce  ## every figure and table of the papers, their records, and the results page
	$(BIN)/python -m reproduction all $(FOUND) --out reproduction/results
	$(MAKE) results

results: $(VENV)/.base         ## from the records, without running anything: docs/results.md
	$(BIN)/python -m reproduction --report reproduction/results --docs docs

manual: $(VENV)/.test          ## the manual as a site in build/manual, and the tutorial's notebooks
	NO_MKDOCS_2_WARNING=1 PYTHONPATH=. $(BIN)/python -m mkdocs build --strict --quiet
	$(BIN)/python -m manual.notebooks

.venv-ray/.ray: pyproject.toml
	$(PYTHON) -m venv .venv-ray
	.venv-ray/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[ray,silos]' pytest pytest-timeout hypothesis
	touch $@

ray: .venv-ray/.ray            ## the Ray engine: workers, nodes and drivers that are killed, in an environment of its own
	OPENBLAS_NUM_THREADS=1 .venv-ray/bin/python -m pytest tests/engines/cluster

.venv-ecosystem/.ecosystem: pyproject.toml
	$(PYTHON) -m venv .venv-ecosystem
	.venv-ecosystem/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[sql,frames,sklearn,lenskit]' pytest pytest-timeout
	.venv-ecosystem/bin/python -m pip install --quiet --disable-pip-version-check --no-deps 'rectools>=0.12,<1' pm-implicit tqdm fastrlock typeguard 'attrs<24'
	touch $@

# LensKit needs PyTorch, and RecTools older pandas: both in an environment of their own.
ecosystem: .venv-ecosystem/.ecosystem  ## LensKit's and RecTools' own evaluation on a model of ours (downloads PyTorch)
	OPENBLAS_NUM_THREADS=1 .venv-ecosystem/bin/python -m pytest tests/ecosystem

clean:
	rm -rf $(VENV) .venv-ray .venv-ecosystem build dist

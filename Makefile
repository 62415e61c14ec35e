# Every target sets itself up: a virtual environment in .venv, the package in it, then the work.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
DATA   ?= ../shared/data

.PHONY: demo manual test lint benchmark audit hard fuzz mutants noise ray ecosystem reproduce reproduce-quick results clean

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

test: lint                     ## everything that must hold
	$(BIN)/pytest -n 2

benchmark: $(VENV)/.benchmark  ## accuracy and speed tables, written to benchmarks/results
	$(BIN)/python benchmarks/accuracy.py --data $(DATA) --decompose
	$(BIN)/python benchmarks/plot.py
	$(BIN)/python -m benchmarks.speed
	$(BIN)/python benchmarks/local.py
	$(BIN)/python benchmarks/device_lists.py --data $(DATA)
	$(BIN)/python benchmarks/yardsticks.py --data $(DATA)
	$(BIN)/python benchmarks/budgets.py --data $(DATA)
	$(BIN)/python benchmarks/new_items.py --data $(DATA)
	$(BIN)/python benchmarks/warm.py --data $(DATA)

# Scores of games are kept in build/audit: what was interrupted goes on where it stopped.
audit: $(VENV)/.reproduce      ## try to refute every promise; writes docs/assurance.md (some 40 minutes on 2 idle cores)
	$(BIN)/python benchmarks/audit.py

# Sizes that the tests of silos and devices are run at before a release; make test runs the same tests smaller, and
# kills at the same moments every time.
hard: export DISCREET_FRESH = 1
hard: $(VENV)/.test            ## kills, fuzzing and speed of silos, devices and ledger at full size (about an hour)
	DISCREET_SPEED=5000 DISCREET_LONGEST_WAIT=0.5 $(BIN)/pytest -s -q tests/devices/collector/test_speed.py
	DISCREET_KILLS=1000 $(BIN)/pytest -q --timeout 7200 tests/devices/collector/test_kills.py
	DISCREET_DEVICE_KILLS=400 $(BIN)/pytest -q --timeout 1800 tests/devices/device/test_client.py -k killed
	DISCREET_JAVASCRIPT=2000 $(BIN)/pytest -q --timeout 1800 tests/devices/javascript/test_agreement.py
	DISCREET_LEDGER_KILLS=200 $(BIN)/pytest -s -q --timeout 4000 tests/privacy/account/test_kills.py
	DISCREET_RUN_KILLS=100 $(BIN)/pytest -q --timeout 4000 tests/engines/test_kills.py
	DISCREET_KILLS=200 $(BIN)/pytest -q --timeout 3600 tests/silos/transport -k "kill"
	DISCREET_EXCHANGES=100 $(BIN)/pytest -q --timeout 1800 tests/web/test_exchange.py
	DISCREET_FUZZ=100000 $(BIN)/pytest -q --timeout 3600 tests/web/test_fuzz.py
	DISCREET_CLEAN=1 $(BIN)/pytest -q tests/packaging
	DISCREET_FUZZ=100000 $(BIN)/pytest -q --timeout 1800 tests/devices/collector/test_fuzz.py tests/silos/test_messages_fuzz.py \
		tests/methods/prototypes/test_messages_fuzz.py

# A failure prints the seed, the kind and the number that repeat it.
fuzz: $(VENV)/.test            ## a million spoilt models, statements, tables, configurations, agreements and histories (half an hour)
	DISCREET_FUZZ=1 $(BIN)/pytest -q --timeout 1800 tests/hostile
	$(BIN)/python -m tests.hostile --total 1000000 --jobs 2 --out benchmarks/results/fuzz.json

# RESUME=1 goes on with a run that was interrupted.
mutants: $(VENV)/.test         ## some 390 privacy bugs, one at a time in a copy: who notices? (some 40 minutes)
	$(BIN)/python -m mutants $(if $(RESUME),--resume) --jobs 2 --out benchmarks/results/mutants.json

noise: $(VENV)/.test           ## 10^8 draws of every sampler, streams, attacks; writes docs/assurance/noise.md (some 5 minutes)
	$(BIN)/python -m benchmarks.noise

FOUND := $(if $(wildcard $(DATA)),--data $(DATA))

reproduce-quick: $(VENV)/.reproduce  ## every figure and table of the papers, small: does it all run?
	$(BIN)/python -m reproduction all --quick $(FOUND) --out build/reproduce-quick

reproduce: $(VENV)/.reproduce  ## every figure and table of the papers, their records, and the results page
	$(BIN)/python -m reproduction all $(FOUND) --out reproduction/results
	$(MAKE) results

results: $(VENV)/.base         ## from the records, without running anything: docs/results.md, and tables in build/tables
	$(BIN)/python -m reproduction --report reproduction/results --docs docs --tables build/tables

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

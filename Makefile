# Every target sets itself up: a virtual environment in .venv, the package in it, then the work.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
DATA   ?= ../shared/data

.PHONY: demo manual lint test check benchmark audit mutants noise ray ecosystem reproduce reproduce-quick results clean

$(VENV)/.base: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	touch $@

$(VENV)/.test: $(VENV)/.base
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test]'
	touch $@

$(VENV)/.reproduce-quick: $(VENV)/.reproduce  ## every figure and table of the papers, small: does it all run?
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

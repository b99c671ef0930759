# Every target sets up what it needs in .venv; nothing has to be installed before but Python 3.11 or newer and make.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: eval test check lint types layers clean

# The core suite against the simulated reference model: the whole path from case file to table, without a key.
eval: $(STAMP)
	$(BIN)/pytest cases/core --model sim:reference

test: $(STAMP)
	$(BIN)/pytest -n 2 tests

check: lint types layers test

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP)
	$(BIN)/mypy

layers: $(STAMP)
	$(BIN)/lint-imports

$(STAMP): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	touch $@

clean:
	rm -rf $(VENV)

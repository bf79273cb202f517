# Every target sets up what it needs: a virtual environment, the package, its development tools.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# Tests that run at a time.
JOBS ?= 2

.PHONY: demo test test-quick check lint types format bench clean

demo: $(READY)
	$(BIN)/python -m palmette.demo

test: $(READY)
	$(BIN)/python -m pytest -n $(JOBS) --dist loadfile

test-quick: $(READY)
	$(BIN)/python -m pytest -n $(JOBS) --dist loadfile -m "not slow"

check: lint types test

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY)
	$(BIN)/mypy

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(READY)
	$(BIN)/python benchmarks/full_trellis.py
	$(BIN)/python benchmarks/partition_trellis.py
	$(BIN)/python benchmarks/small_problems.py
	$(BIN)/python benchmarks/refine.py
	$(BIN)/python benchmarks/jets.py
	$(BIN)/python benchmarks/coalescent.py
	$(BIN)/python benchmarks/particles.py

$(READY): pyproject.toml
	@$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11))" 2>/dev/null || { echo "palmette needs Python 3.11 or newer; '$(PYTHON)' is not. Try: make PYTHON=/path/to/python3.11"; exit 1; }
	@$(PYTHON) -c "import venv, ensurepip" 2>/dev/null || { echo "Python's venv module is missing; install it (Debian and Ubuntu: apt-get install python3-venv) and try again."; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable . --group dev
	@touch $(READY)

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Every target sets up what it needs: a virtual environment, the package, its development tools.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
TORCH ?= .torch
TRIAL ?= .trial
# Tests that run at a time.
JOBS ?= 2
# Bytecode is made of what is imported, when it is, and kept, whatever the environment says: tests start many processes, and of all
# that is installed it would take longer than everything else.
export PYTHONDONTWRITEBYTECODE :=
PIP := pip install --quiet --disable-pip-version-check --no-compile

.PHONY: demo test test-quick test-all test-torch test-browser check lint types format bench docs package clean experiments

demo: $(READY)
	$(BIN)/python -m palmette.cli.tour

# Workers share the cores: threads of linear algebra that wait for work would take them from each other.
test test-quick test-all: export OPENBLAS_NUM_THREADS := 1

test: $(READY)
	$(BIN)/python -m pytest -n $(JOBS) --dist loadfile

test-quick: $(READY)
	$(BIN)/python -m pytest -n $(JOBS) --dist loadfile --slow none

test-all: $(READY)
	$(BIN)/python -m pytest -n $(JOBS) --dist loadfile --slow all

# PyTorch is large, and lies in a folder of its own, where nothing else sees it.
test-torch: $(TORCH)/.ready
	PYTHONPATH=$(abspath $(TORCH)) $(BIN)/python -m pytest tests/interop/test_torch*.py

# Needs Chromium and its driver (Debian and Ubuntu: apt-get install chromium chromium-driver).
test-browser: $(VENV)/.tools
	@command -v chromium >/dev/null && command -v chromedriver >/dev/null || { echo "chromium or chromedriver is missing; install both (Debian and Ubuntu: apt-get install chromium chromium-driver) and try again."; exit 1; }
	PALMETTE_BROWSER=1 $(BIN)/python -m pytest -m browser tests/report/test_browser.py

check: lint types test

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY)
	$(BIN)/mypy

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# The pages of docs/ and the reference as a site: docs/_build/html/index.html.
docs: $(VENV)/.tools
	$(BIN)/python -m sphinx -W --keep-going --quiet docs docs/_build/html

# The wheel and the source distribution, checked, and the wheel tried where there is nothing else.
package: $(READY)
	$(BIN)/python -m $(PIP) --group package
	rm -rf dist
	$(BIN)/python -m build --outdir dist
	$(BIN)/python -m twine check --strict dist/*
	rm -rf $(TRIAL)
	$(PYTHON) -m venv $(TRIAL)
	$(TRIAL)/bin/python -m $(PIP) dist/*.whl
	cd $(TRIAL) && bin/palmette --version && bin/palmette demo

bench: $(VENV)/.bench
	$(BIN)/python benchmarks/full_trellis.py
	$(BIN)/python benchmarks/temperatures.py
	$(BIN)/python benchmarks/functions.py
	$(BIN)/python benchmarks/partition_trellis.py
	$(BIN)/python benchmarks/small_problems.py
	$(BIN)/python benchmarks/refine.py
	$(BIN)/python benchmarks/jets.py
	$(BIN)/python benchmarks/coalescent.py
	$(BIN)/python benchmarks/particles.py
	$(BIN)/python benchmarks/ultrametric.py
	$(BIN)/python benchmarks/tree_files.py
	$(BIN)/python benchmarks/sampling.py
	$(BIN)/python benchmarks/mixing.py
	$(BIN)/python benchmarks/partition_sampling.py
	$(BIN)/python benchmarks/clusterers.py
	$(BIN)/python benchmarks/misspecified.py
	$(BIN)/python benchmarks/classes.py

# What the papers show, all of it or paper by paper (experiments/README.md): what needs no outside data, and with DATA=DIR the rest.
EXPERIMENTS := cluster-trellis cluster-trellis-2020 compact-uncertainty coalescent ultrametric
OUT ?= experiments/out
RUN = $(BIN)/python experiments/$(1) --out $(OUT)/$(firstword $(subst /, ,$(1)))

.PHONY: $(EXPERIMENTS:%=experiments-%)
experiments: $(EXPERIMENTS:%=experiments-%)

experiments-cluster-trellis: $(READY)
	$(call RUN,cluster_trellis/figure4.py)
	$(call RUN,cluster_trellis/table1.py)
	$(call RUN,cluster_trellis/figure6.py)
	$(call RUN,cluster_trellis/sparse_jets.py)
	$(call RUN,cluster_trellis/large_jets.py)
	$(call RUN,cluster_trellis/histories.py)
	$(call RUN,cluster_trellis/figure8.py) $(if $(DATA),--data $(DATA)/pam50.csv)
	$(BIN)/python experiments/cluster_trellis/statements.py

experiments-cluster-trellis-2020: $(READY)
	$(call RUN,cluster_trellis/plane_table1.py)
	$(call RUN,cluster_trellis/plane_figure4.py)

experiments-compact-uncertainty: $(READY)
	$(call RUN,compact_uncertainty/run.py) $(if $(DATA),--data $(DATA)/pam50.csv)

experiments-coalescent: $(READY)
	$(call RUN,coalescent/figure1.py)
	$(call RUN,coalescent/figure2.py)
	$(if $(DATA),$(call RUN,coalescent/table1.py) --data $(DATA))
	$(if $(DATA),$(call RUN,coalescent/wals.py) --data $(DATA))
	$(if $(DATA),$(call RUN,coalescent/restoration.py) --data $(DATA))
	$(if $(DATA),$(call RUN,coalescent/words.py) --data $(DATA))
	$(if $(DATA),$(call RUN,coalescent/ainu.py) --data $(DATA))

experiments-ultrametric: $(READY)
	$(call RUN,ultrametric/descents.py) $(if $(DATA),--data $(DATA))
	$(call RUN,ultrametric/figure2.py)
	$(call RUN,ultrametric/figure4.py)
	$(call RUN,ultrametric/figure5.py)
	$(if $(DATA),$(call RUN,ultrametric/figure6.py) --data $(DATA))

$(READY): pyproject.toml
	@$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11))" 2>/dev/null || { echo "palmette needs Python 3.11 or newer; '$(PYTHON)' is not. Try: make PYTHON=/path/to/python3.11"; exit 1; }
	@$(PYTHON) -c "import venv, ensurepip" 2>/dev/null || { echo "Python's venv module is missing; install it (Debian and Ubuntu: apt-get install python3-venv) and try again."; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m $(PIP) --upgrade "pip>=25.1"
	$(BIN)/python -m $(PIP) --editable . --group dev
	@touch $(READY)

$(TORCH)/.ready: $(READY)
	$(BIN)/python -m $(PIP) --upgrade --target $(TORCH) torch==2.13.0
	@touch $(TORCH)/.ready

$(VENV)/.bench: $(READY)
	$(BIN)/python -m $(PIP) --group bench
	@touch $(VENV)/.bench

$(VENV)/.tools: $(READY)
	$(BIN)/python -m $(PIP) --group docs --group browser
	@touch $(VENV)/.tools

clean:
	rm -rf $(VENV) $(TORCH) $(TRIAL) dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

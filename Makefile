# Every target sets up what it needs in .venv; only Python 3.11+, make and a C compiler are assumed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUNS := $(VENV)/.runs
READY := $(VENV)/.ready
DOCS_READY := $(VENV)/.docs-ready
PEERS := $(VENV)/.peers
DEMO ?= demo-run
PAPER ?= configs/paper-port/ja-en-thot.toml
SECONDS ?= 600
SEED ?= 1
NUMBER ?= 400
EXTRAS := spacy stanza bllip comet
CORE := base components decoders nbest runs search texts weights
APT := chromium chromium-driver libxmlrpc-c++8v5

.DEFAULT_GOAL := help
# Hundreds of processes of the tests would each compile the source anew.
unexport PYTHONDONTWRITEBYTECODE
.PHONY: help install demo paper test test-core test-kernels test-slow test-all programs format lint type type-mypy type-pyright check docs figures bench fuzz crash mutants clean

help:  ## Show this list.
	@awk -F ':.*## *' '/^[a-z-]+:.*##/ {printf "  make %-14s%s\n", $$1, $$2}' $(MAKEFILE_LIST)

install: $(READY)  ## Set up .venv with portmert and all it needs.

$(RUNS): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "$(PYTHON) is older than Python 3.11; name a newer one: make PYTHON=python3.12 ..."; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(READY): $(RUNS)
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[dev]'
	$(BIN)/portmert compile
	@touch $@

demo: $(RUNS)  ## Train, tune on BLEU and on PORT, and compare (three to six minutes, with the set-up).
	$(BIN)/portmert demo --out $(DEMO)

paper: $(READY)  ## Tune on BLEU and on kinds of PORT and fill the PORT paper's tables (hours).
	$(BIN)/portmert reproduce $(PAPER)

test: $(READY)  ## Run all tests but the slow ones.
	$(BIN)/python -m pytest -q -n auto --dist worksteal -m "not slow"

test-core: $(READY)  ## Run the tests of what all else uses: metrics, lists, search, runs (a minute).
	$(BIN)/python -m pytest -q -n auto --dist worksteal -m "not slow" tests/test_layers.py tests/metrics \
		$(CORE:%=tests/tuner/%) --ignore-glob='*features_of_references*'

test-kernels: $(READY)  ## Run the tests of compiled code with bounds checked, then uncompiled.
	NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=$(VENV)/numba-checked $(BIN)/python -m pytest -q -n auto --dist worksteal \
		tests/metrics tests/tuner tests/contracts -m "not slow"
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest -q -n auto --dist worksteal \
		tests/metrics tests/tuner/search/test_kernels.py tests/tuner/search/test_line_search.py

test-slow: $(READY)  ## Run the slow tests, and those of hypothesis with more examples.
	$(BIN)/python -m pytest -q -m "slow or hypothesis" --hypothesis-profile thorough

test-all: $(READY) programs  ## Run all tests, with every extra and program that can be installed.
	@for package in $(EXTRAS:%='--editable=.[%]'); do \
		$(BIN)/pip install --quiet --disable-pip-version-check "$$package" || \
			echo "$$package cannot be installed: tests that need it are skipped"; \
	done
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m pytest -q -n auto --dist worksteal -m "slow or not slow"

programs:  ## Install a browser and a library of Moses for tests, where apt is at hand (root only).
	@if [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null; then \
		timeout 120 apt-get update > /dev/null 2>&1; \
		for package in $(APT); do \
			DEBIAN_FRONTEND=noninteractive timeout 300 apt-get install --yes \
				--no-install-recommends $$package > /dev/null 2>&1 || \
				echo "$$package cannot be installed: tests that need it are skipped"; \
		done; \
	fi

format: $(READY)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

lint: $(READY)  ## Check style.
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

type: type-mypy type-pyright  ## Check types; with -j2 both programs at once.

type-mypy: $(READY)
	$(BIN)/mypy

type-pyright: $(READY)
	$(BIN)/basedpyright --level error

check: lint type test  ## All that must pass before a change is proposed; how large the house is.
	@$(BIN)/python -m tests.support.measures sums

docs: $(DOCS_READY)  ## Build the documentation in site/.
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet
	@echo "site/index.html; to search in it: $(BIN)/python -m http.server --directory site"

$(DOCS_READY): $(RUNS)
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[docs]'
	@touch $@

figures: $(READY)  ## Draw the figures of README and guide from tables and results.
	$(BIN)/python -m docs._site.figures
	$(BIN)/python -m research.graphs page
	$(BIN)/python -m research.growth draw

$(PEERS): $(READY)
	$(PYTHON) -m venv $(VENV)/peers
	$(VENV)/peers/bin/pip install --quiet --disable-pip-version-check -r tests/bench/peers.txt
	@touch $@

bench: $(PEERS)  ## Measure speed and memory against fixed units, and beside other programs (half an hour).
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m tests.bench

fuzz: $(READY)  ## Throw damaged input at the commands (SECONDS=600 SEED=1; CASE=n: one again; ONLY=name).
	$(BIN)/python -m tests.fuzz --seconds $(SECONDS) --seed $(SEED) $(if $(CASE),--case $(CASE)) \
		$(if $(ONLY),--only "$(ONLY)")

crash: $(READY)  ## Kill commands, and take away what they need (SECONDS=600 SEED=1; CASE=n; ONLY=name).
	$(BIN)/python -m tests.crash --seconds $(SECONDS) --seed $(SEED) $(if $(CASE),--case $(CASE)) \
		$(if $(ONLY),--only "$(ONLY)")

mutants: $(READY)  ## Change the program in small ways; count what the tests notice (NUMBER=400 SEED=1).
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[mutants]'
	$(BIN)/python -m tests.mutants --number $(NUMBER) --seed $(SEED)

clean:  ## Remove caches and what the demo made; .venv stays.
	rm -rf $(DEMO) build dist site fuzz-findings crash-findings mutants .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -not -path './$(VENV)/*' -prune -exec rm -rf {} +

# Every target makes its own virtual environment on first use; the stamps in it
# depend on pyproject.toml and constraints.txt, so a second run does no pip work.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet

# The matrices are a few hundred wide: BLAS threads cost more than they bring, and
# would fight with pytest's worker processes. Override on the command line.
export OPENBLAS_NUM_THREADS ?= 1
export OMP_NUM_THREADS ?= 1

# Worker processes of the test run, as many as there are cores. A file of tests with
# nodes stays in one process, since its tests share their nodes.
CORES := $(shell getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
WORKERS ?= $(CORES)
NODE_WORKERS ?= $(CORES)

.DEFAULT_GOAL := help
.PHONY: help demo test test-fast test-slow test-random test-fuzz test-mutants test-chaos test-e2e check \
	bench bench-peers bench-protocols bench-secure-sum bench-summaries bench-federation bench-warm bench-scale \
	bench-columns bench-wide-federation bench-fits bench-growth bench-prediction \
	bench-privacy designs alarms calibration intervals cells dist docs walk reproduce clean

help: ## show this list
	@grep -E '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 18

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.federation: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) --constraint constraints.txt --editable '.[federation]'
	@touch $@

$(VENV)/.dev: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) --constraint constraints.txt --editable '.[federation,reproduction,test,dev]'
	@touch $(VENV)/.federation $@

$(VENV)/.docs: $(VENV)/.dev
	$(PIP) --constraint constraints.txt --editable '.[docs]'
	@touch $@

demo: $(VENV)/.federation ## run a study over four real sites on this machine
	$(BIN)/fedsdr demo

test: test-fast test-e2e ## run every test but the slow ones

test-fast: $(VENV)/.dev ## run the tests that need no nodes
	$(BIN)/python -m pytest -n $(WORKERS) -m 'not e2e and not slow' $(ARGS)

test-slow: $(VENV)/.dev ## certify the most expensive problems
	$(BIN)/python -m pytest -n $(WORKERS) -m slow $(ARGS)

test-random: $(VENV)/.dev ## try the properties on examples that nobody has tried
	FEDSDR_RANDOM_TESTS=1 $(BIN)/python -m pytest -n $(WORKERS) \
		-m 'not e2e and not slow and hypothesis' $(ARGS)

test-fuzz: $(VENV)/.dev ## send 80,000 mutated messages to sites
	FEDSDR_FUZZ=3000 $(BIN)/python -m pytest -q -n 0 tests/attacks/test_fuzz.py \
		tests/attacks/test_question_fuzz.py $(ARGS)

test-mutants: $(VENV)/.dev ## switch defences off one by one: tests must notice
	$(BIN)/python -m tools.mutants $(ARGS)

test-chaos: $(VENV)/.dev ## let studies fail at random, in one process and over nodes
	$(BIN)/python -m tools.chaos $(ARGS)

test-e2e: $(VENV)/.dev ## run studies over real nodes, and kill them
	$(BIN)/python -m pytest -n $(NODE_WORKERS) --dist loadfile --no-loadscope-reorder \
		-m e2e $(ARGS)

check: $(VENV)/.dev ## run every linter
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	$(BIN)/codespell
	$(BIN)/python .ci/validate_docstrings.py

bench: $(VENV)/.dev ## all benchmarks of speed in one report, ARGS="--parts growth,peers"
	$(BIN)/python -m benchmarks.bench $(ARGS)

bench-peers: $(VENV)/.dev ## fit every system on the same data
	$(BIN)/python -m benchmarks.peers $(ARGS)

bench-protocols: $(VENV)/.dev ## rounds and bytes of the protocols
	$(BIN)/python -m benchmarks.protocols $(ARGS)

bench-secure-sum: $(VENV)/.dev ## what masking costs
	$(BIN)/python -m benchmarks.secure_sum $(ARGS)

bench-summaries: $(VENV)/.dev ## sums of a site against BLAS and a plain read
	$(BIN)/python -m benchmarks.summaries $(ARGS)

bench-federation: $(VENV)/.dev ## a study over real nodes beside one process
	$(BIN)/python -m benchmarks.federation $(ARGS)

bench-warm: $(VENV)/.dev ## studies one after another, with cold and with warm jobs
	$(BIN)/python -m benchmarks.studies_in_a_row $(ARGS)

bench-wide-federation: $(VENV)/.dev ## bytes of studies of many columns over nodes
	$(BIN)/python -m benchmarks.wide_federation $(ARGS)

bench-scale: $(VENV)/.dev ## studies of many sites
	$(BIN)/python -m benchmarks.scale $(ARGS)

bench-columns: $(VENV)/.dev ## solve and certify from columns, up to 100,000 variables
	$(BIN)/python -m benchmarks.columns $(ARGS)

bench-privacy: $(VENV)/.dev ## fits with differential privacy, their noise, and attacks
	$(BIN)/python -m benchmarks.privacy $(ARGS)

bench-fits: $(VENV)/.dev ## default fits of many columns, genes, and a lasso beside them
	$(BIN)/python -m benchmarks.fits $(ARGS)

bench-prediction: $(VENV)/.dev ## predict held-out rows of public data sets
	$(BIN)/python -m benchmarks.prediction $(ARGS)

bench-growth: $(VENV)/.dev ## times against rivals as data grow, with exponents
	$(BIN)/python -m benchmarks.growth $(ARGS)

designs: $(VENV)/.dev ## fit every method to hard designs, ARGS="--runs 5 --jobs 2"
	$(BIN)/python -m benchmarks.designs $(ARGS)

calibration: $(VENV)/.dev ## tests, false discoveries and power
	$(BIN)/python -m benchmarks.calibration $(ARGS)

intervals: $(VENV)/.dev ## coverage of intervals in the paper's settings, and the cost of tests
	$(BIN)/python -m benchmarks.intervals $(ARGS)

alarms: $(VENV)/.dev ## how often each warning is raised, rightly and falsely
	$(BIN)/python -m benchmarks.alarms $(ARGS)
	$(BIN)/python -m benchmarks.one_span

dist: $(VENV)/.dev ## build wheel and sdist, and try each in an empty environment
	rm -rf dist
	$(BIN)/python -m build --quiet
	$(BIN)/python -m tools.check_dist

docs: $(VENV)/.docs ## build the documentation site, docs/_build/html; ARGS="-D plot_gallery=0"
	$(BIN)/sphinx-build -b html -c docs -d docs/_build/doctrees -W --keep-going -q \
		$(ARGS) . docs/_build/html
	@echo "Wrote docs/_build/html/index.html"

walk: $(VENV)/.dev ## print the way from a fit to the arithmetic
	$(BIN)/python -m tools.walk $(ARGS)

reproduce: $(VENV)/.dev ## the paper's tables and figures, ARGS="table1 --runs 20"
	$(BIN)/fedsdr reproduce $(or $(ARGS),all)

cells: $(VENV)/.dev ## the paper's tables beside those of version 0.1
	$(BIN)/python -m tools.earlier_cells --out benchmarks/results/earlier_cells.md $(ARGS)

clean: ## remove the environment and every cache
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	rm -rf build dist .coverage htmlcov docs/_build docs/gallery docs/reference
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# What a user or contributor runs, in an environment of its own, $(VENV).
# PYTHON=python3.13 chooses another Python, ARGS="..." passes options on to the command.

PYTHON ?= python3
VENV ?= .venv
ARGS ?=

BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
SCHEMA := $(BIN)/check-jsonschema --quiet --builtin-schema vendor

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo figures quick test thorough coverage certify lint types format doc site benchmark models fuzz long clean

help: ## list these commands
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "make %-10s %s\n", $$1, $$2}' Makefile

demo: $(VENV)/demo.stamp ## the untuned learners beside tuned SGD on real data, in a minute
	@$(BIN)/python examples/benchmarks/no_tuning.py --quick $(ARGS)

figures: $(VENV)/demo.stamp ## numbers and figures of the pages, of scripts under ten minutes
	@$(BIN)/python examples/benchmarks/measure.py $(ARGS)
	@$(BIN)/python doc/tables.py

quick: $(VENV)/dev.stamp ## two cases of each test, but for slow ones: in a minute and a half
	@$(BIN)/python -m pytest -n auto --dist worksteal -m "not slow" --each 2 $(ARGS)

test: $(VENV)/dev.stamp ## tests on both engines, the doctests and README's lines
	@$(BIN)/python -m pytest -n auto --dist worksteal $(ARGS)

thorough: $(VENV)/dev.stamp ## all tests with all cases, of which `make test` has a selection
	@THOROUGH=1 $(BIN)/python -m pytest -n auto --dist worksteal $(ARGS)

coverage: $(VENV)/dev.stamp ## lines and branches of the package that `make test` runs
	@$(BIN)/coverage erase
	@$(BIN)/coverage run -m pytest -n auto --dist worksteal $(ARGS)
	@$(BIN)/coverage combine --quiet
	@$(BIN)/coverage report

certify: $(VENV)/dev.stamp ## attack the regret bounds with 500 hostile streams per learner
	@THOROUGH=1 HOSTILE_STREAMS=500 $(BIN)/python -m pytest -n auto --dist worksteal \
	    tests/learners/test_regret_bounds.py -k hostile $(ARGS)

fuzz: $(VENV)/dev.stamp ## attack with hostile streams, files, states, threads, Ctrl-C
	@THOROUGH=1 FUZZ_CASES=10000 TAMPERED_STATES=10000 MUTILATED_FILES=10000 \
	    INTERRUPTIONS=60 THREADED_ROWS=20000 CHUNKED_STREAMS=200 \
	    $(BIN)/python -m pytest -n auto --dist worksteal tests/cli tests/mixtures \
	    tests/streams tests/persistence/test_tampering.py \
	    tests/estimators/test_interruptions.py tests/estimators/test_threads.py \
	    tests/estimators/test_fuzz.py -k "seeded or mutilated or damaged or random \
	    or interrupt or change_nothing or chunks_of_sparse"

long: $(VENV)/dev.stamp ## let all learners learn a million rows of each of four streams
	@LONG_RUNS=1000000 $(BIN)/python -m pytest tests/learners/test_long_runs.py \
	    tests/learners/test_online_newton.py $(ARGS)

lint: $(VENV)/dev.stamp ## check style and formatting, workflows and forms
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/zizmor --offline --no-progress --quiet .github
	@$(SCHEMA).github-workflows .github/workflows/*.yml
	@$(SCHEMA).dependabot .github/dependabot.yml
	@$(SCHEMA).github-issue-forms .github/ISSUE_TEMPLATE/*_*.yml
	@$(SCHEMA).github-issue-config .github/ISSUE_TEMPLATE/config.yml
	@$(SCHEMA).github-discussion .github/DISCUSSION_TEMPLATE/*.yml
	@$(SCHEMA).citation-file-format CITATION.cff

types: $(VENV)/dev.stamp ## check types of what users call
	@$(BIN)/mypy $(ARGS)

format: $(VENV)/dev.stamp ## put style and formatting right
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

doc: $(VENV)/doc.stamp ## build the documentation into doc/_build, warnings being errors
	@rm -rf doc/generated doc/auto_examples doc/_build
	@$(BIN)/sphinx-build -W --keep-going -q $(ARGS) doc doc/_build
	@echo "Open doc/_build/index.html"

site: $(VENV)/site.stamp ## test the built pages in the system's Chromium
	@SITE=doc/_build $(BIN)/python -m pytest tests/site $(ARGS)

benchmark: $(VENV)/demo.stamp ## rows per second beside SGDClassifier
	@$(BIN)/python examples/benchmarks/throughput.py $(ARGS)

clean: ## remove the environment and all that tests and builds leave behind
	rm -rf $(VENV) build dist doc/generated doc/auto_examples doc/_build
	rm -rf .coverage .coverage.* .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find sklearn_scinol tests examples -name __pycache__ -prune -exec rm -rf {} +

# The package is installed as a link to this folder, so only a change of its metadata
# makes it necessary to install it again.
$(VENV)/demo.stamp: EXTRAS := plot,progress,stream
$(VENV)/dev.stamp: EXTRAS := dev
$(VENV)/doc.stamp: EXTRAS := doc
$(VENV)/site.stamp: EXTRAS := site
$(VENV)/%.stamp: pyproject.toml | $(VENV)/venv.stamp
	@echo "Installing sklearn-scinol[fast,$(EXTRAS)] into $(VENV) ..."
	@$(PIP) install --only-binary numba,llvmlite -e ".[fast,$(EXTRAS)]" \
	    2> $(VENV)/pip.log || { \
	  echo "Numba could not be installed ($(VENV)/pip.log says why):" \
	    "going on without it, on the slower NumPy engine."; \
	  $(PIP) install -e ".[$(EXTRAS)]"; }
	@touch $@

$(VENV)/venv.stamp:
	@$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11))" 2> /dev/null || { \
	  echo "'$(PYTHON)' is not Python 3.11 or newer: choose one with" \
	    "'make PYTHON=python3.13 ...'." >&2; exit 2; }
	@$(PYTHON) -c "import ensurepip, venv" 2> /dev/null || { \
	  echo "'$(PYTHON)' lacks the modules venv and ensurepip: install them" \
	    "(on Debian and Ubuntu: apt install python3-venv)." >&2; exit 2; }
	@$(PYTHON) -m venv $(VENV)
	@touch $@

# Two commands matter: `make demo` and `make test`. `make help` lists the rest.
# The environment is .venv, made from the lock; uv makes it where it is installed, else venv and pip.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
UV := $(shell command -v uv 2>/dev/null)

.DEFAULT_GOAL := help
.PHONY: help demo setup setup-dev test test-all check check-native format bench bench-pipeline docs lock wheel clean

help: ## list the targets
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: setup ## real Kafka and real NATS under load, every message accounted for, a report at the end
	@$(BIN)/brokerlab demo || { code=$$?; [ $$code = 5 ] && echo "the demo worked; its verdict says why these numbers are not to be believed here"; }

setup: $(VENV)/.made ## the environment only; then .venv/bin/brokerlab works

setup-dev: $(VENV)/.made-dev ## the environment with what tests and checks need

test: setup-dev ## all tests, real brokers included (about half an hour on two processors; the first time 5 minutes more to install)
	@tools/chromium-for-tests
	@$(BIN)/brokerlab install all --quiet || echo "tests of what is not installed will fail, or be skipped with the reason"
	JAVA_HOME=$$(tools/java-for-tests) $(BIN)/python -m pytest -m "not slow and not alone" -n logical
	JAVA_HOME=$$(tools/java-for-tests) $(BIN)/python -m pytest -m "not slow and alone" tests/e2e

test-all: setup-dev ## the long tests too
	@tools/chromium-for-tests
	@$(BIN)/brokerlab install all --quiet || echo "tests of what is not installed will fail, or be skipped with the reason"
	JAVA_HOME=$$(tools/java-for-tests) $(BIN)/python -m pytest -m "not alone" -n logical
	JAVA_HOME=$$(tools/java-for-tests) $(BIN)/python -m pytest -m alone tests/e2e

check: setup-dev ## what pre-commit runs: ruff, mypy --strict, the C compiler's warnings
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python tools/check_native.py warnings

check-native: setup-dev ## the C code under sanitizers: its tests, and a million damaged inputs for every parser (minutes)
	$(BIN)/python tools/check_native.py all

format: setup-dev ## format the code
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: setup-dev ## our speed beside the vendors' tools, alternately in one go (docs/performance.md)
	$(BIN)/python -m benchmarks

bench-pipeline: setup-dev ## how long an analysis takes, from small runs to a hundred million messages (docs/performance.md)
	$(BIN)/python -m benchmarks pipeline

docs: setup-dev ## the generated pages of docs/ and the table in README.md
	$(BIN)/python tools/measurements_page.py > docs/measurements.md
	$(BIN)/python tools/lake_tables.py docs/lake.md
	$(BIN)/python -m brokerlab.brokers.catalogue docs README.md
	$(BIN)/python -m brokerlab.monitor.metrics_page docs/metrics.md

lock: setup-dev ## make requirements*.lock again from pyproject.toml (needs uv)
	uv pip compile -q pyproject.toml --generate-hashes --no-header --no-annotate --no-emit-index-url --python-version 3.11 -o requirements.lock
	uv pip compile -q pyproject.toml --group dev --generate-hashes --no-header --no-annotate --no-emit-index-url --python-version 3.11 -o requirements-dev.lock

wheel: setup-dev ## dist/brokerlab-*.whl
	$(BIN)/python -m pip wheel -q --no-deps -w dist .

clean: ## delete what was made here; the cache and the runs stay
	rm -rf $(VENV) dist build .mypy_cache .pytest_cache .ruff_cache

# A half-made environment would be taken for a whole one the next time.
$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; v = sys.version_info; v < (3, 11) and sys.exit("brokerlab needs Python 3.11 or later, and $(PYTHON) is %d.%d: name another one, as in PYTHON=python3.13" % v[:2])'
	@$(if $(UV),uv venv -q --python $(PYTHON) $(VENV),$(PYTHON) -m venv $(VENV)) || { rm -rf $(VENV); exit 1; }

define install
@echo "making the environment from $(1)" >&2
@$(if $(UV),VIRTUAL_ENV=$(VENV) uv pip install -q --require-hashes -r $(1),$(BIN)/python -m pip install -qq --disable-pip-version-check --require-hashes -r $(1))
@$(if $(UV),VIRTUAL_ENV=$(VENV) uv pip install -q --no-deps -e .,$(BIN)/python -m pip install -qq --disable-pip-version-check --no-deps -e .)
@$(BIN)/python -m brokerlab.native
endef

$(VENV)/.made: requirements.lock pyproject.toml $(wildcard native/*) | $(VENV)/bin/python
	$(call install,requirements.lock)
	@touch $@

$(VENV)/.made-dev: requirements-dev.lock pyproject.toml $(wildcard native/*) | $(VENV)/bin/python
	$(call install,requirements-dev.lock)
	@touch $@ $(VENV)/.made

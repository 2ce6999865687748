# Every target first makes `.venv` where it is missing or older than what it is made from.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# One more than there are cores: tests of Spark and of commands wait as often as they compute.
PYTEST_WORKERS ?= $(shell echo $$(($$(getconf _NPROCESSORS_ONLN) + 1)))

.PHONY: demo test test-spark lint bench results docs format clean java servers lock audit

$(READY): pyproject.toml requirements.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "penstock needs Python 3.11 or newer; '$(PYTHON)' is $$($(PYTHON) --version 2>&1)." \
	  "Install one and run: make PYTHON=python3.11 $(MAKECMDGOALS)" >&2; exit 1; }
	$(PYTHON) -m venv --clear $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes \
	  --requirement requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

demo: $(READY)
	$(BIN)/penstock demo

test: java lint servers
	$(BIN)/python -m pytest -n $(PYTEST_WORKERS) --dist loadgroup

# What the tests of Kafka need, fetched once. SERVERS=--required fails where it cannot be fetched; else they are skipped.
servers: $(READY)
	$(BIN)/python tests/servers/jars.py $(SERVERS)

# The smoke suite on another version of Spark, in an environment of its own: make test-spark VERSION=4.1
VERSION ?= 4.3
test-spark: $(READY) java
	$(BIN)/python tests/servers/spark_versions.py $(VERSION)

java:
	@java -version >/dev/null 2>&1 \
	  && test "$$(java -version 2>&1 | sed -n 's/.*version "\([0-9]*\).*/\1/p')" -ge 17 \
	  || { echo "Spark needs Java 17 or newer. Install it, for example with" \
	  "'apt-get install openjdk-17-jre-headless' or 'brew install openjdk@17'." >&2; exit 1; }

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(READY)
	$(BIN)/penstock bench all

# What docs/results says, measured anew; takes the better part of an hour on an idle machine.
results: $(READY)
	$(BIN)/penstock bench all -o docs/results
	$(BIN)/python -m penstock.bench.pages.results docs/results README.md docs/guides/pyspark.md

docs: $(READY)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo "open site/index.html"

# The hashes of the lock, and what Penstock is made of, written anew after a change of a version.
lock: $(READY)
	$(BIN)/python packaging/lock.py
	$(BIN)/python packaging/sbom.py

# Known vulnerabilities of what the lock names. pip-audit gets a folder of its own, and asks the index: where that knows
# nothing of a package, this fails, too.
audit: $(READY)
	$(PYTHON) -m venv $(VENV)/audit
	$(VENV)/audit/bin/python -m pip install --quiet --disable-pip-version-check pip-audit
	$(VENV)/audit/bin/pip-audit --requirement requirements.lock --require-hashes --disable-pip --strict

clean:
	rm -rf $(VENV) site .mypy_cache .ruff_cache .pytest_cache .hypothesis

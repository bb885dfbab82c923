# Every task does its own set-up. `make help` lists them.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

PYTHON ?= python3.11
VENV := .venv
PY := $(VENV)/bin/python
READY := $(VENV)/.ready
AIRFLOW_VENV := .venv-airflow
AIRFLOW_PY := $(AIRFLOW_VENV)/bin/python
AIRFLOW_READY := $(AIRFLOW_VENV)/.ready
JAR := sink_extensions/java/target/.built
JAR_SETS := flink hadoop spark kafka
JAR_STAMPS := $(JAR_SETS:%=build/jars/%/.fetched)
JAVA_SOURCES := $(shell find sink_extensions/java -name target -prune -o -type f -print)

# Without extensions the sink is the standard one, the same object; these show that, and the rest would only take time.
UPSTREAM_OFF := TestIcebergSink,TestIcebergSinkBranch,TestIcebergSinkTableMaintenance,TestFlinkIcebergSinkV2DistributionMode,TestFlinkTableSinkExtended,TestFlinkTableSinkCompaction,TestFlinkVariantType

DAYS ?= 2
SPEED ?= 1800
KEEP ?= 0

.PHONY: help
help: ## list the tasks
	@awk -F':.*## ' '/^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: demo
demo: setup jar jars ## a real database's changes become finalized hours that a waiting consumer is released by
	$(PY) -m demo --days $(DAYS) --speed $(SPEED) $(if $(filter 1,$(KEEP)),--keep)

.PHONY: demo-airflow
demo-airflow: setup airflow-env jar jars ## the same with a real Airflow, whose DAG is released by the base table's watermark
	$(PY) -m demo.airflow_demo --days $(DAYS) --speed $(SPEED) $(if $(filter 1,$(KEEP)),--keep)

.PHONY: test
test: setup airflow-env test-java jars test-upstream ## every test: Java, Iceberg's own, unit, integration on the real parts, a real Airflow
	$(PY) -m pytest
	$(AIRFLOW_PY) -m pytest --confcutdir=tests/sensors tests/sensors

.PHONY: lint
lint: setup ## formatting, lint rules, types
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/ruff check .
	$(VENV)/bin/mypy

.PHONY: format
format: setup ## apply formatting and the fixes lint knows
	$(VENV)/bin/ruff format .
	$(VENV)/bin/ruff check --fix .

.PHONY: bench
bench: setup jar jars ## measure the sink, its facts, its commits and the upsert (writes docs/benchmarks.md)
	$(PY) -m tests.benchmarks

.PHONY: jar
jar: check-java $(JAR) ## build the sink's jar

$(JAR): $(JAVA_SOURCES)
	@echo "Building the sink's jar (a few minutes the first time)"
	mvn -B -q -f sink_extensions/java/pom.xml package -DskipTests
	@touch $@

.PHONY: test-java
test-java: check-java setup ## build the sink's jar and run its Java tests
	mvn -B -ntp -f sink_extensions/java/pom.xml verify
	@touch $(JAR)

.PHONY: test-upstream
test-upstream: check-java ## Iceberg's own tests of its sink, on ours, with extensions and without (part of make test)
	mvn -B -ntp -f tests/upstream/pom.xml test -DforkCount=2 -Dextensions=on
	mvn -B -ntp -f tests/upstream/pom.xml test -DforkCount=2 -Dextensions=off -Dtest='$(UPSTREAM_OFF)'

.PHONY: jars
jars: check-java $(JAR_STAMPS) ## fetch the jars of Flink's connectors, Spark, Kafka and Debezium

build/jars/%/.fetched: local_stack/jars/%.pom.xml
	@echo "Fetching the jars for $*"
	@rm -rf build/jars/$* && mkdir -p build/jars/$*
	mvn -B -q -f $< dependency:copy-dependencies -DoutputDirectory=$(CURDIR)/build/jars/$* -DincludeScope=runtime
	@touch $@

.PHONY: setup
setup: check-python $(READY) ## make the Python environment in .venv

$(READY): requirements/bootstrap.txt requirements/dev.txt pyproject.toml
	@echo "Making the Python environment in $(VENV) (about 1.5 GB, a few minutes the first time)"
	test -x $(PY) || $(PYTHON) -m venv $(VENV)
	$(VENV)/bin/pip install -q -r requirements/bootstrap.txt
	$(VENV)/bin/uv pip sync -q --python $(PY) requirements/dev.txt
	$(VENV)/bin/uv pip install -q --python $(PY) --no-deps -r requirements/bootstrap.txt -e .
	@touch $@

.PHONY: airflow-env
airflow-env: setup $(AIRFLOW_READY) ## make Airflow's own Python environment in .venv-airflow

$(AIRFLOW_READY): requirements/airflow.txt sensors/pyproject.toml pyproject.toml
	@echo "Making Airflow's environment in $(AIRFLOW_VENV) (about 0.5 GB, a minute or two the first time)"
	test -x $(AIRFLOW_PY) || $(PYTHON) -m venv $(AIRFLOW_VENV)
	$(VENV)/bin/uv pip sync -q --python $(AIRFLOW_PY) requirements/airflow.txt
	$(VENV)/bin/uv pip install -q --python $(AIRFLOW_PY) --no-deps -e . -e ./sensors
	@touch $@

.PHONY: test-airflow
test-airflow: airflow-env ## the sensors' tests in a real Airflow (part of make test)
	$(AIRFLOW_PY) -m pytest --confcutdir=tests/sensors tests/sensors

.PHONY: requirements
requirements: check-python ## pin the dependencies of pyproject.toml anew (no index addresses are written)
	test -x $(PY) || $(PYTHON) -m venv $(VENV)
	$(VENV)/bin/pip install -q -r requirements/bootstrap.txt
	$(VENV)/bin/uv pip compile -q --all-extras --python-version 3.11 --no-annotate --no-header \
		pyproject.toml -o requirements/dev.txt
	$(VENV)/bin/uv pip compile -q --python-version 3.11 --no-annotate --no-header \
		--no-emit-package iceberg-finalization \
		--no-emit-package airflow-provider-iceberg-finalization requirements/airflow.in -o requirements/airflow.txt

.PHONY: check-python
check-python:
	@command -v $(PYTHON) >/dev/null || { echo "Python 3.11 is needed and $(PYTHON) was not found. Install it (Debian/Ubuntu: apt-get install python3.11 python3.11-venv; macOS: brew install python@3.11) or name it: make PYTHON=/path/to/python3.11"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' || { echo "Python 3.11 is needed; $(PYTHON) is $$($(PYTHON) -V). Name the right one: make PYTHON=/path/to/python3.11"; exit 1; }

.PHONY: check-java
check-java:
	@command -v javac >/dev/null || { echo "A JDK 17 is needed and javac was not found. Install it (Debian/Ubuntu: apt-get install openjdk-17-jdk; macOS: brew install openjdk@17)"; exit 1; }
	@javac -version 2>&1 | grep -qE ' 17(\.|$$)' || { echo "A JDK 17 is needed; javac is '$$(javac -version 2>&1)'. Put a JDK 17 first on PATH"; exit 1; }
	@command -v mvn >/dev/null || { echo "Maven is needed and mvn was not found. Install it (Debian/Ubuntu: apt-get install maven; macOS: brew install maven)"; exit 1; }

.PHONY: clean
clean: ## remove everything that was built or fetched
	rm -rf $(VENV) .venv-* build dist sink_extensions/java/target tests/upstream/target .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Every target sets up what it needs by itself, in .venv, and is quick the second time.
# PYTHON=python3.12 chooses the interpreter (3.10-3.14).

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
BIN := .venv/bin
export PYTHON

# The graph of imports sees no YAML and no entry points: tests of what is started by name are always among the long ones.
ALWAYS := $(addprefix test/,nodes launch ros bridge commands/test_replay commands/test_run sim/capture/test_replay sim/engines sim/testing questions/engines)

.PHONY: help setup setup-train setup-ros setup-watch setup-sim setup-docs setup-test demo dist krc test test-all test-long test-changed test-quick fuzz lint generated docs bench samples

help: ## what there is
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST) | expand -t 20

setup: ## .venv with what simjudge needs; leaves .venv/bin/simjudge
	@scripts/setup.sh core

setup-train: ## the same and torch with ultralytics, for training detectors and running .pt files
	@scripts/setup.sh core train

setup-ros: ## the same and ROS 2 from wheels, for the nodes where there is no ROS 2 installation
	@scripts/setup.sh core ros

setup-watch: ## the same and rerun, the screen of simjudge ros watch
	@scripts/setup.sh core ros watch

setup-sim: ## the same and MuJoCo and Mitsuba, the simulator's default engine
	@scripts/setup.sh core sim

setup-docs:
	@scripts/setup.sh core ros docs

setup-test:
	@scripts/setup.sh core train test ros watch sim lidar study gym fit docs

demo: setup-sim ## two simulations judged against a stand-in for reality: rendered, detected, compared, reported; then live, on a ROS 2 graph
	@scripts/demo.sh

dist: setup ## wheel and sdist in dist/: simjudge with its configs, scenes, models, message types, samples and the demo's pictures
	@rm -rf dist
	$(BIN)/python -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir dist .
	@$(BIN)/python -c "from setuptools import build_meta; build_meta.build_sdist('dist')" > dist/sdist.log 2>&1 || { cat dist/sdist.log; exit 1; }
	@rm dist/sdist.log; ls -sh dist

krc: setup-sim ## the KRC experiment: a straight drive, replayed through virtual sensors and compared; about 10 minutes
	$(BIN)/simjudge study run krc --size $(or $(SIZE),small) --out krc_out

test: setup-test ## lint, types, all tests but those that take longest; what fails is run once more, alone, and is "flaky" where it passes then
	@scripts/browser.sh
	$(MAKE) --no-print-directory lint
	@scripts/test_again.sh $(BIN)/python -m "not long"

test-long: setup-test ## of the tests that take longest, those of nodes, graphs, replay and engines, and of what changed since the last tag (or .ci/base)
	@tests=$$($(BIN)/python scripts/changed_tests.py --always $(ALWAYS) || echo test); scripts/test_again.sh $(BIN)/python -m long $$tests

test-changed: setup-test ## lint, types, the tests that import what differs from COMMIT (main), but for the longest
	$(MAKE) --no-print-directory lint
	@tests=$$($(BIN)/python scripts/changed_tests.py $(or $(COMMIT),main)); scripts/test_again.sh $(BIN)/python -m "not long" $$tests

test-all: setup-test ## lint, types, all tests, for a night; writes .ci/base, the commit where all passed
	@scripts/browser.sh
	$(MAKE) --no-print-directory lint
	@scripts/test_again.sh $(BIN)/python
	@if [ -z "$$(git status --porcelain 2>/dev/null || echo none)" ]; then git rev-parse HEAD > .ci/base; fi

test-quick: setup-test ## lint, types, the tests that take seconds
	$(MAKE) --no-print-directory lint
	$(BIN)/python -m pytest -m "not slow and not long"

fuzz: setup-test ## attack every reader with bad input: TARGET=coco HOURS=1; coverage-guided where atheris is installed
	$(BIN)/python test/fuzz/run.py $(TARGET) --hours $(or $(HOURS),1)

lint: setup-test ## ruff, generated files, mypy, and which room may import which
	$(BIN)/ruff check
	$(BIN)/ruff format --check --quiet
	$(BIN)/python scripts/generated.py --check
	$(BIN)/mypy
	$(BIN)/lint-imports --config pyproject.toml

generated: setup-test ## write anew what programs make: schemas, docs/reference/ros.md, config/params, the drawing of the rooms, CHANGELOG.rst, versions
	$(BIN)/python scripts/generated.py

docs: setup-docs ## the documentation as a site: site/index.html
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

bench: setup-sim ## the benchmark table
	$(BIN)/python bench/run.py

samples: setup ## paint the sample recordings in bags/ anew
	$(BIN)/python bags/make_samples.py

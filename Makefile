# Every target installs what it needs; `make` without a target lists them.

SHELL := /bin/sh
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

VENV := .venv
BIN := $(VENV)/bin
NEW_ENOUGH := import sys; sys.exit(sys.version_info < (3, 11))
# the first Python that is new enough; PYTHON=/path/to/python chooses another
PYTHON ?= $(firstword $(foreach name,python3 python3.14 python3.13 python3.12 python3.11 python, \
	$(shell command -v $(name) >/dev/null 2>&1 && $(name) -c '$(NEW_ENOUGH)' >/dev/null 2>&1 && echo $(name))) python3)
PIP_INSTALL := $(BIN)/python -m pip install -qq --disable-pip-version-check --require-hashes
PIP_COMPILE := CUSTOM_COMPILE_COMMAND="make lock" $(BIN)/pip-compile --quiet --generate-hashes --strip-extras \
	--allow-unsafe --no-emit-index-url --no-emit-find-links --no-emit-trusted-host --no-emit-options

# storage queues are tested with a program for node; without node these tests are skipped with a message
PEERS := tests/peers
AZURITE := $(if $(and $(shell command -v node 2>/dev/null),$(shell command -v npm 2>/dev/null)),$(PEERS)/node_modules/.installed)
WITHOUT_ADDRESSES := const fs = require("fs"), lock = JSON.parse(fs.readFileSync("package-lock.json")); \
	Object.values(lock.packages).forEach(entry => { delete entry.funding; delete entry.license }); \
	fs.writeFileSync("package-lock.json", JSON.stringify(lock, null, 2) + "\n")

.PHONY: help run test test-all chaos coverage clocks lint format texts bench lock browser

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-8s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

run: $(VENV)/.run ## Install what is missing and start Quando here; Ctrl-C stops it
	@exec $(BIN)/python -m scheduler_site.launcher

# compiled modules are stored between runs, outside of the source tree, whatever the environment says: otherwise each of
# the many processes that the tests start would compile all modules again
test test-all coverage clocks: export PYTHONDONTWRITEBYTECODE =
test test-all coverage clocks: export PYTHONPYCACHEPREFIX = $(CURDIR)/$(VENV)/pycache

# the tests of live installations depend on the time, so no other tests run at the same time; the two workers share no
# installation
ALONE := $(BIN)/pytest -q -n 2 --dist loadfile tests/live
# each worker receives the tests in the order of the collection: browser tests last, see tests/conftest.py.  A file may
# be divided, so that no worker waits for the end of a long file
TOGETHER := $(BIN)/pytest -q -n 2 --dist load --ignore tests/live
# --reuse-db: no database is dropped at the end, because the whole server is deleted
ON_POSTGRESQL := $(BIN)/python -m tests.postgres sh -c

test: $(VENV)/.dev $(AZURITE) browser ## Run every test on SQLite, and those that touch the database on PostgreSQL
	@echo "On SQLite:"
	@$(TOGETHER) && $(ALONE)
	@echo "On PostgreSQL (what touches the behaviour of the database, see tests/database.py):"
	@$(ON_POSTGRESQL) '$(TOGETHER) --reuse-db --ignore tests/recurrence --ignore tests/browser -m database'

test-all: $(VENV)/.dev $(AZURITE) browser ## Run every test, on SQLite and on PostgreSQL
	@echo "On SQLite:"
	@$(TOGETHER) && $(ALONE)
	@echo "On PostgreSQL (but for the engine, which knows no database):"
	@$(ON_POSTGRESQL) '$(TOGETHER) --reuse-db --ignore tests/recurrence && $(ALONE)'
	$(BIN)/python -m tests.chaos --short
	$(BIN)/python -m tests.chaos --short --sqlite

chaos: $(VENV)/.dev ## Cause faults in a real installation and check every run, also with deliberately broken variants
	$(BIN)/python -m tests.chaos
	$(BIN)/python -m tests.chaos --sqlite
	$(BIN)/python -m tests.chaos --variants

coverage: $(VENV)/.dev $(AZURITE) browser ## Run the tests (but the live ones) on SQLite and list the lines they leave out
	@$(TOGETHER) --cov --cov-report=term

CLOCKS ?= \
	2026-11-22T09:19Z 2026-11-22T23:58Z 2026-11-23T00:01Z \
	2026-12-31T22:57Z 2026-12-31T23:57Z 2027-01-01T04:57Z \
	2027-01-31T12:00Z 2027-02-01T00:30Z \
	2027-03-14T06:57Z 2027-03-28T00:57Z \
	2027-10-31T00:30Z 2027-10-31T01:15Z 2027-11-07T05:45Z \
	2028-02-28T23:58Z 2028-02-29T18:25Z 2028-02-29T23:58Z

# a Sunday and its midnight; New Year in Berlin, UTC and New York; the last and the first day of a month; the clock
# changes in New York and Berlin, in spring and in autumn; the leap day
clocks: $(VENV)/.dev $(AZURITE) browser ## Run the tests (but the live ones) once at each of CLOCKS, on SQLite
	@for clock in $(CLOCKS); do echo "At $$clock:"; $(BIN)/python -m tests.clock $$clock $(TOGETHER) || exit 1; done

AS_DEPLOYED := DATA_DIR=$(VENV)/data PUBLIC_URL=https://quando.example.org

lint: $(VENV)/.dev ## Check style, templates, spelling, types, imports, settings and migrations
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/djlint --lint --quiet templates
	$(BIN)/typos
	$(AS_DEPLOYED) $(BIN)/mypy .
	$(BIN)/lint-imports
	$(AS_DEPLOYED) $(BIN)/python manage.py check --deploy --fail-level WARNING
	$(AS_DEPLOYED) $(BIN)/python manage.py makemigrations --check --dry-run

format: $(VENV)/.dev ## Bring the code into the agreed form
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

texts: $(VENV)/.dev ## Bring the catalogues of translations up to date with the texts of pages
	$(BIN)/python -m scheduler_site.catalogues

bench: $(VENV)/.dev ## Measure the engine, the calendar page, the dispatch and the calls; takes minutes
	$(BIN)/python -m bench.next_fire
	$(BIN)/python -m bench.cron
	$(BIN)/python -m bench.formats
	$(BIN)/python -m bench.series
	$(BIN)/python -m bench.calendar_page
	$(BIN)/python -m bench.dispatch
	$(BIN)/python -m bench.dispatch --gates
	$(BIN)/python -m bench.calls

lock: $(VENV)/.dev ## Pin the newest versions that requirements/*.in allow; UPGRADE= keeps the present ones
	$(PIP_COMPILE) $(UPGRADE) --output-file=requirements/base.lock requirements/base.in
	$(PIP_COMPILE) $(UPGRADE) --output-file=requirements/dev.lock requirements/dev.in
	@$(if $(AZURITE),cd $(PEERS) && npm $(if $(UPGRADE),update,install) --package-lock-only --ignore-scripts \
		--omit-lockfile-registry-resolved --loglevel=error >/dev/null && node -e '$(WITHOUT_ADDRESSES)')

UPGRADE ?= --upgrade

# the headless shell is the same browser without its window, and quicker; the tests also run with chromium
browser: ## Install what the browser tests and the README's example need, if it is missing
	@missing=; for name in chromium-headless-shell curl; do command -v $$name >/dev/null 2>&1 || missing="$$missing $$name"; done; \
	if [ -z "$$missing" ]; then exit 0; fi; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then \
		echo "Installing$$missing"; \
		apt-get update -qq >/dev/null; \
		for name in $$missing; do $(APT_INSTALL) $$name >/dev/null && continue; \
			[ $$name = curl ] || command -v chromium >/dev/null 2>&1 || $(APT_INSTALL) chromium >/dev/null; done; \
	fi; \
	found=; for name in chromium-headless-shell chromium; do command -v $$name >/dev/null 2>&1 && found=$$name; done; \
	if [ -z "$$found" ] || ! command -v curl >/dev/null 2>&1; then \
		echo "The tests need curl and chromium-headless-shell (or chromium), please install them" >&2; exit 1; \
	fi

APT_INSTALL := DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends

$(VENV)/bin/python:
	@$(PYTHON) -c '$(NEW_ENOUGH)' || { \
	echo "Quando needs Python 3.11 or newer, and $(PYTHON) is $$($(PYTHON) --version 2>&1); choose another with PYTHON=..." >&2; exit 1; }
	@echo "Making the virtual environment $(VENV) with $$($(PYTHON) --version)"
	@$(PYTHON) -m venv $(VENV)

$(VENV)/.run: requirements/base.lock | $(VENV)/bin/python
	@echo "Installing the pinned requirements"
	@$(PIP_INSTALL) -r $<
	@touch $@

$(VENV)/.dev: requirements/dev.lock requirements/base.lock | $(VENV)/bin/python
	@echo "Installing the pinned requirements of tests and checks"
	@$(PIP_INSTALL) -r $<
	@touch $@ $(VENV)/.run  # the requirements of `make run` are among them

$(PEERS)/node_modules/.installed: $(PEERS)/package-lock.json
	@echo "Installing the pinned peers of the tests"
	@cd $(PEERS) && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error >/dev/null
	@touch $@

# The two commands that set everything up: `make report` and `make test`. `make help` lists all.
# Every path here is relative, for the folder's own path may hold spaces.

# The Python that makes the environment, 3.11 or newer.
PYTHON = python3
# Cores of a run.
CORES = 4
# More options for pip, such as an index to look for torch's small build in.
PIP_ARGS =
# The extra with the independent libraries; `make report PEERS=` leaves them out.
PEERS = peers

SHELL = /bin/bash
.SHELLFLAGS = -c
.DEFAULT_GOAL = help
# One step after the other, but for those of `make test` that know nothing of each other.
ifndef SIDE_BY_SIDE
.NOTPARALLEL:
endif
.DELETE_ON_ERROR:
.SUFFIXES:

VENV = .venv
IN_VENV = PATH="$$PWD/$(VENV)/bin:$$PATH"
PIP = $(VENV)/bin/python -m pip install -qq --disable-pip-version-check -c constraints.txt $(PIP_ARGS)
# Where `make test` runs the pipeline from nothing, away from your own results.
PIPELINE = .pipeline
# Announces a step, and says how long it took once it is done.
step = @echo "== $(1)"; TIMEFORMAT="== $(1): %0lR"; time

# Scripts of an environment hold its path: one that was moved or copied here is made anew, and so is
# one with another choice of extras.
MOVED := $(shell test "$$(cat $(VENV)/place 2>/dev/null)" = "$$PWD $(PEERS)" || echo FORCE)


.PHONY: help report test lint test-unit test-workflow test-pretrained test-page test-pipeline test-lesson \
	test-report trained-models rehearse lock clean distclean FORCE

help: ## This list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-14s %s\n", $$1, $$2}' Makefile

report: $(VENV)/run.stamp ## Set up, measure, decide, and write report/index.html
	@$(IN_VENV) snakemake --cores $(CORES)

trained-models: $(VENV)/dev.stamp ## Read real trained weights (about two hours); goes on where it was stopped
	@$(IN_VENV) snakemake --cores $(CORES) trained_models

rehearse: $(VENV)/run.stamp ## Measure as on other processors (about two hours); goes on where it was stopped
	@tools/system-tools --emulator
	@$(IN_VENV) posinfo rehearse

# Two steps at a time: a browser, a pipeline that waits for its longest suite, and the models leave
# much of a second core to the tests. The trained weights, which both need, are made before.
test: lint tests/report/node_modules/.stamp ## Set up and run everything that CI runs
	$(call step,trained decoders) $(IN_VENV) snakemake --quiet --cores $(CORES) results/suites/trained.csv
	@$(MAKE) --no-print-directory --jobs 2 --output-sync=target SIDE_BY_SIDE=yes \
		test-page test-unit test-workflow test-pretrained
	@echo "every check passed"

# In this order, for the later ones read what the first has made.
test-page:
	@$(MAKE) --no-print-directory test-pipeline
	@$(MAKE) --no-print-directory test-lesson
	@$(MAKE) --no-print-directory test-report

lint: $(VENV)/dev.stamp ## Style and form of code, Snakefiles and workflow
	$(call step,ruff check) $(IN_VENV) ruff check .
	$(call step,ruff format) $(IN_VENV) ruff format --check .
	$(call step,snakefmt) $(IN_VENV) snakefmt --check Snakefile workflow/rules
	$(call step,snakemake --lint) $(IN_VENV) snakemake --lint

test-unit: $(VENV)/dev.stamp ## Tests of the library
	$(call step,unit tests) $(IN_VENV) pytest -q -n 2 tests/unit tests/check

test-workflow: $(VENV)/dev.stamp ## Tests of whole runs, in folders of their own
	$(call step,workflow tests) $(IN_VENV) pytest -q -n 2 tests/workflow

test-pretrained: $(VENV)/dev.stamp ## A cheap part of the readings of real weights, measured again
	$(call step,real weights) $(IN_VENV) pytest -q tests/pretrained

test-pipeline: $(VENV)/dev.stamp ## The full pipeline in a folder of its own, from nothing but trained weights
	@rm -rf $(PIPELINE)
	@$(IN_VENV) tools/lend-weights $(PIPELINE)
	$(call step,full pipeline) $(IN_VENV) snakemake --cores $(CORES) --directory $(PIPELINE)
	@test -s $(PIPELINE)/report/index.html || { echo "make: the pipeline left no page"; exit 1; }
	@$(IN_VENV) tools/same-results $(PIPELINE)

# The results of `make test-pipeline`, which are made if they are not there: from their folder, and
# from the page alone, as a lesson in another repository has them.
test-lesson: $(VENV)/dev.stamp ## The lesson says what the results say
	@test -s $(PIPELINE)/report/index.html || $(MAKE) --no-print-directory test-pipeline
	$(call step,lesson) $(IN_VENV) posinfo cite --check --strict --from $(PIPELINE)/results lessons/*.md
	$(call step,lesson from the page) $(IN_VENV) posinfo cite --check --strict \
		--from $(PIPELINE)/report/index.html lessons/*.md

# Tests the page of `make test-pipeline`, which is made if it is not there.
test-report: tests/report/node_modules/.stamp $(VENV)/dev.stamp ## Tests of the page in a real browser
	@test -s $(PIPELINE)/report/index.html || $(MAKE) --no-print-directory test-pipeline
	$(call step,report tests) ( cd tests/report \
		&& CHROMIUM="$$(../../tools/system-tools --chromium)" PYTHON="$$PWD/../../$(VENV)/bin/python" \
		REPORT="$$PWD/../../$(PIPELINE)/report/index.html" npm test --silent )

lock: ## Make constraints.txt and environment.yml from the pins in pyproject.toml
	@$(PYTHON) tools/lock.py

clean: ## Delete what runs and tests generate; environments stay
	@rm -rf results/trained results/suites results/environments results/controls results/tables results/figures results/missing results/digests
	@rm -f results/ledger.csv results/comparison.csv results/basis.json results/datapackage.json results/provenance.json
	@rm -rf report/index.html logs .snakemake $(PIPELINE)
	@rm -rf .pytest_cache .ruff_cache .hypothesis build src/posinfo.egg-info
	@find src scripts tests tools benchmarks -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null; true

distclean: clean ## Delete the environments, real weights, their readings and rehearsals too
	@rm -rf $(VENV) tests/report/node_modules weights results/pretrained results/rehearsal

FORCE:

# A stamp is written last, so that an installation which was broken off is begun anew.
$(VENV)/run.stamp: constraints.txt pyproject.toml $(MOVED)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
		|| { echo "make: needs Python 3.11 or newer: make $(firstword $(MAKECMDGOALS)) PYTHON=python3.11"; exit 1; }
	@echo "Setting up $(VENV) from constraints.txt, once"
	@$(PYTHON) -m venv --clear $(VENV)
	@echo "  1 of 2: torch, the largest part"
	@$(PIP) torch
	@echo "  2 of 2: Snakemake, pandas, matplotlib and the other packages"
	@$(PIP) --editable ".$(if $(PEERS),[$(PEERS)])"
	@echo "$$PWD $(PEERS)" > $(VENV)/place
	@touch $@

$(VENV)/dev.stamp: $(VENV)/run.stamp
	@echo "Adding to $(VENV) what the tests need"
	@$(PIP) --editable ".[dev,peers,pretrained]"
	@touch $@

tests/report/node_modules/.stamp: tests/report/package.json tests/report/package-lock.json
	@tools/system-tools
	@echo "Setting up tests/report/node_modules from its lock, once"
	@cd tests/report && PUPPETEER_SKIP_DOWNLOAD=1 PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD=1 \
		npm ci --silent --no-audit --no-fund && mkdir -p node_modules
	@touch $@

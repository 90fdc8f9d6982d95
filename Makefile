# Each target does all the set-up it needs: a fresh machine needs Python >= 3.11 and make, nothing else.
PYTHON ?= python3
BIN    := .venv/bin
READY  := .venv/.ready
PAGE   := src/eitlens/web/page
DENO   := DENO_DIR=.venv/deno DENO_NO_UPDATE_CHECK=1 $(BIN)/deno

.PHONY: demo test lint page types layers unit coverage site validate bench-physics docs format clean

demo: $(READY)            ## a random phantom seen from its boundary, as one picture
	$(BIN)/eitlens demo

test: $(READY)            ## everything CI runs: lint, page, types, layers, tests, the site, side by side
	$(MAKE) --no-print-directory -j4 --output-sync=target lint page types layers unit site

lint: $(READY)
	$(BIN)/ruff check . && $(BIN)/ruff format --check .

page: $(READY)            ## the JavaScript of the page: format, lint, names and types (deno.json)
	$(DENO) fmt --quiet --check && $(DENO) lint --quiet && $(DENO) check --quiet $(PAGE)

types: $(READY)
	$(BIN)/mypy

layers: $(READY)
	$(BIN)/lint-imports

# Two workers of one thread each: with more threads than cores the small solves fight each other.
unit: $(READY)
	OMP_NUM_THREADS=1 $(BIN)/pytest -n 2 --dist worksteal

coverage: $(READY)        ## the tests, and which lines and branches of the package they ran
	OMP_NUM_THREADS=1 $(BIN)/pytest -n 2 --dist worksteal --cov --cov-report=term

validate: $(READY)        ## the slow studies: plots and asserted numbers in validation/out
	failed=; for study in $(filter-out validation/study.py validation/servers.py,$(wildcard validation/*.py)); do echo "== $$study"; \
	$(BIN)/python $$study || failed="$$failed $$study"; done; test -z "$$failed" || { echo "failed:$$failed"; exit 1; }

bench-physics: $(READY)   ## both solvers against scipy's sparse LU, in one run
	$(BIN)/python benchmarks/physics.py

docs: $(READY)            ## the API reference and the tables, from docstrings and result files, then the site
	$(BIN)/python docs/make_api.py && $(BIN)/eitlens benchmark table1
	$(MAKE) --no-print-directory site

# Strictly: a link that leads nowhere, or a page that is not in the navigation, is an error.
site: $(READY)            ## the documentation as a site with search, in out/site; runs the notebooks
	NO_MKDOCS_2_WARNING=1 OMP_NUM_THREADS=1 $(BIN)/mkdocs build --strict

format: $(READY)
	$(BIN)/ruff check --fix . ; $(BIN)/ruff format . ; $(DENO) lint --quiet --fix ; $(DENO) fmt --quiet

clean:
	rm -rf .venv

# torch goes first and alone, so that no other package can pull in another build of it.
$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: PYTHON=python3.12 make demo")'
	@echo "setting up .venv: torch is large, this takes minutes"
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt torch
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	touch $(READY)

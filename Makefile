# Setup needs python3 (>= 3.11) with venv, and make. Everything else is installed below this folder.

UV := .cache/uv/bin/uv
PY := .venv/bin/python
STAMP := .venv/.synced

.PHONY: help run test check bench clean
.DEFAULT_GOAL := help

help: ## what can be made
	@grep -E '^[a-z]+:.*##' Makefile | sed -E 's/^([a-z]+):.*## /  make \1\t/' | expand -t 16

run: $(STAMP) ## set up, show that kg works, start it on the default storage
	@$(PY) scripts/demo.py

test: $(STAMP) ## set up and run all tests
	@$(PY) -m pytest --cov --cov-report=term:skip-covered

check: $(STAMP) ## lint, format, types, floors
	@.venv/bin/ruff check .
	@.venv/bin/ruff format --check .
	@.venv/bin/mypy
	@.venv/bin/lint-imports

bench: $(STAMP) ## print the benchmarks' tables
	@$(PY) benchmarks/service.py

clean: ## remove what was set up here; the memory stays
	rm -rf .venv .cache .coverage .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis

$(STAMP): pyproject.toml uv.lock hooks/kg-hook $(UV)
	@$(UV) sync --frozen --quiet
	@touch $(STAMP)

$(UV):
	@command -v python3 >/dev/null || { echo "kg needs python3 (3.11 or newer): it is not on PATH." >&2; exit 1; }
	@python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "kg needs Python 3.11 or newer; python3 is $$(python3 -V 2>&1)." >&2; exit 1; }
	@python3 -c 'import venv, ensurepip' 2>/dev/null || \
	  { echo "kg needs Python's venv module with ensurepip; on Debian: apt-get install python3-venv" >&2; exit 1; }
	@python3 -m venv .cache/uv && .cache/uv/bin/python -m pip install --quiet --disable-pip-version-check 'uv>=0.9,<1'

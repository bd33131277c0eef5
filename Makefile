# Setup needs python3 (3.11 to 3.14, with venv) and make. Everything else is installed below this folder.

UV := .cache/uv/bin/uv
PY := .venv/bin/python
STAMP := .venv/.synced

# An activated environment, or a setting meant for other projects, must not turn setup elsewhere.
unexport VIRTUAL_ENV UV_SYSTEM_PYTHON UV_PYTHON PYTHONHOME PYTHONPATH
export UV_PROJECT_ENVIRONMENT := .venv
export UV_PYTHON_DOWNLOADS := never
# uv and pip keep their downloads below HOME; where that cannot be written, here or not at all.
ifeq ($(shell test -w "$$HOME" && echo writable),)
export UV_CACHE_DIR ?= .cache/downloads
export PIP_NO_CACHE_DIR ?= 1
endif
# uv trusts certificates of its own. Where the system has some, they count: a company may have added one for its proxy.
CERTIFICATES := /etc/ssl/certs/ca-certificates.crt /etc/pki/tls/certs/ca-bundle.crt
ifneq ($(strip $(wildcard $(CERTIFICATES))),)
export UV_SYSTEM_CERTS ?= true
endif

.PHONY: help run test check bench clean
.DEFAULT_GOAL := help

help: ## what can be made
	@grep -E '^[a-z]+:.*##' Makefile | sed -E 's/^([a-z]+):.*## /  make \1\t/' | expand -t 16

run: $(STAMP) ## set up, show that kg works, start it on the default storage
	@$(PY) scripts/demo.py

test: $(STAMP) ## set up and run all tests
	@$(PY) -m pytest --cov --cov-report=term:skip-covered

check: $(STAMP) ## lint, format, types, floors, what the wheel holds
	@.venv/bin/ruff check .
	@.venv/bin/ruff format --check .
	@.venv/bin/mypy
	@.venv/bin/lint-imports
	@$(PY) scripts/check_wheel.py $(UV)

bench: $(STAMP) ## print the benchmarks' tables
	@set -e; for name in compaction reading planning service; do echo "== $$name"; $(PY) -m benchmarks.$$name; done

clean: ## remove what was set up here; the memory stays
	rm -rf .venv .cache .coverage .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis

$(STAMP): pyproject.toml uv.lock hooks/kg-hook $(UV) $(PY)
	@echo "kg: installing what uv.lock names into .venv"
	@$(UV) sync --frozen --quiet
	@touch $(STAMP)

# A missing or broken environment is made anew; --clear, because a link to a Python that is gone would be in the way.
$(PY):
	@$(PYTHON_IS_FIT)
	@python3 -m venv --clear --without-pip .venv

$(UV):
	@$(PYTHON_IS_FIT)
	@echo "kg: installing uv into .cache/uv"
	@python3 -m venv --clear .cache/uv
	@.cache/uv/bin/python -m pip install --quiet --disable-pip-version-check 'uv>=0.9,<1'

define PYTHON_IS_FIT
command -v python3 >/dev/null || \
  { echo "kg needs python3 (3.11 to 3.14), and there is none on PATH; on Debian: apt-get install python3 python3-venv" >&2; exit 1; }; \
python3 -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 15))' || \
  { echo "kg needs Python 3.11 to 3.14, and python3 is $$(python3 -V 2>&1): put a fitting python3 first on PATH." >&2; exit 1; }; \
python3 -c 'import venv, ensurepip' 2>/dev/null || \
  { echo "kg needs Python's venv module with ensurepip; on Debian: apt-get install python3-venv" >&2; exit 1; }
endef

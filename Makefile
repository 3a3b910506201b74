# `make demo` and `make test` set up everything they need in .venv; `make check` is the fast inner loop.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test lint check format environments benchmark clean
.DELETE_ON_ERROR:

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit("zl-bench needs Python 3.11 or later; say make PYTHON=/path/to/python3.11" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[offline,dev]'
	@# Its kernels are tested with; it pins an old numpy and another torch, so it comes without what it asks for.
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps flag-gems==5.0.2
	@touch $@

# One operator is asked for with a dtype that it does not have, to show what that looks like.
demo: $(READY)
	$(BIN)/zl-bench screen --switch pass:pipeline --target cuda:90 $$($(BIN)/zl-bench ops --names) vector_add:complex64

# In two halves at once, since neither keeps two cores busy; the log of the shorter one comes last.
test: $(READY)
	@$(BIN)/python -m pytest -m 'not integration and not matrix' >$(VENV)/unit.log 2>&1 & unit=$$!; \
	trap 'kill $$unit' INT TERM; \
	$(BIN)/python -m pytest -m 'integration or matrix'; status=$$?; \
	wait $$unit || status=1; cat $(VENV)/unit.log; exit $$status

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

check: lint
	$(BIN)/python -m pytest -m 'not integration and not matrix'

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# The other Pythons and Tritons that the probe is tested with; what this machine lacks is skipped by name.
environments: $(READY)
	$(BIN)/python tools/environments.py $(ENVIRONMENTS)

benchmark: $(READY)
	$(BIN)/python benchmarks/screen_offline.py

clean:
	rm -rf $(VENV) .envs .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

# On a machine with Python >= 3.11 and a C++ compiler, every target below sets up what it needs, in .venv.
# `make demo` and `make test` are where to start; PYTHON=python3.13 chooses another interpreter.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --quiet

.PHONY: demo test lint format bench clean

demo: $(VENV)/installed
	$(BIN)/python examples/lotka_volterra.py

test: $(VENV)/with-test
	$(BIN)/pytest -n auto

lint: $(VENV)/with-test $(VENV)/with-lint
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/pyright
	$(BIN)/lint-imports

format: $(VENV)/with-lint
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

bench: $(VENV)/with-bench
	$(BIN)/python benchmarks/run.py

clean:
	rm -rf $(VENV) build dist .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find src tests examples -name __pycache__ -type d -prune -exec rm -rf {} +

# The empty files below remember what has been installed; a change of pyproject.toml makes them stale.

$(VENV)/installed: pyproject.toml CMakeLists.txt $(wildcard src/wengert/runtime/*.cpp src/wengert/runtime/*.h)
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --upgrade "pip>=25.1"
	$(PIP) install --editable ".[demo]"
	$(BIN)/python -m compileall -q src/wengert
	touch $@

$(VENV)/with-%: $(VENV)/installed
	$(PIP) install --group $*
	touch $@

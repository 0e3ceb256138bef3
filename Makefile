# On a machine with Python >= 3.11 and a C++ compiler, every target below sets up what it needs, in .venv.
# `make demo` and `make test` are where to start; PYTHON=python3.13 chooses another interpreter.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --quiet

.PHONY: demo test test-deep test-hosts test-packages test-mutants test-verify test-all test-narrow test-pure test-interpreted test-wheel portable portable-here wheels sanitize lint docs format bench bench-npbench clean

demo: $(VENV)/installed
	$(BIN)/python examples/lotka_volterra.py

# What is marked as deep takes three times as long as all the rest, and is left out; and of random programs there are few.
test: $(VENV)/with-test
	HYPOTHESIS_PROFILE=few $(BIN)/pytest -n auto --dist worksteal -m "not deep"

# What `make test` leaves out.
test-deep: $(VENV)/with-test
	$(BIN)/pytest -n auto --dist worksteal -m "deep or hypothesis" $(TESTS)

# Whether the tests notice small mistakes in rules, derivatives, passes, machine code and watching: tools/mutants.py.
# A sample, of which one that survives is more than two in a hundred. Of 500, 0.98 are to be caught, the tool's default.
test-mutants: $(VENV)/with-test
	$(BIN)/python -m tools.mutants --count 30 --score 0.9

# Functions of forty public packages, called as they are, and changes of what these hold: tests/packages. They have an
# environment of their own; what was found of each stands in .venv-packages/found, and is not looked for again.
PACKAGES := .venv-packages

test-packages: $(PACKAGES)/installed
	$(PACKAGES)/bin/python -m tests.packages --users --out $(PACKAGES)/found

$(PACKAGES)/installed: pyproject.toml CMakeLists.txt
	$(PYTHON) -m venv $(PACKAGES)
	$(PACKAGES)/bin/python -m pip --quiet install --upgrade "pip>=25.1"
	$(PACKAGES)/bin/python -m pip --quiet install --editable ".[native]" --group packages
	touch $@

# The pages of docs/hosts, the doctests of wengert.hosts and the tests in tests/hosts, with the real libraries: they are
# heavy, and have an environment of their own.
HOSTS := .venv-hosts

test-hosts: $(HOSTS)/installed
	mkdir -p build/openmdao
	OPENMDAO_WORKDIR=$(CURDIR)/build/openmdao OPENMDAO_REPORTS=0 HYPOTHESIS_PROFILE=few $(HOSTS)/bin/pytest -n auto --dist worksteal $(or $(TESTS),src/wengert/hosts src/wengert/labelled tests/hosts docs/hosts)

$(HOSTS)/installed: pyproject.toml CMakeLists.txt $(wildcard src/wengert/*/native/*)
	$(PYTHON) -m venv $(HOSTS)
	$(HOSTS)/bin/python -m pip --quiet install --upgrade "pip>=25.1"
	$(HOSTS)/bin/python -m pip --quiet install --editable ".[native]" --group hosts
	touch $@

# Every kernel that these tests make, on operands that are hard to get right: codegen/verify.py.
test-verify: $(VENV)/with-test
	WENGERT_VERIFY=1 HYPOTHESIS_PROFILE=few $(BIN)/pytest -n auto -m "not deep" tests/codegen tests/acceptance tests/passes tests/nn tests/ops

test-all: test test-deep test-hosts test-verify test-mutants test-pure test-interpreted

# The tests of machine code as on a machine with AVX2 alone.
test-narrow: $(VENV)/with-test
	WENGERT_TARGET=x86-64-v3 $(BIN)/pytest -n auto -m "not deep" tests/codegen tests/acceptance/test_native*.py

# The two settings without machine code, where the NumPy references answer. Tests of machine code are left out, and
# llvmlite cannot be imported: tests/without stands before it. Pure: without the extension too, as in the pure wheel.
WITHOUT  = PYTHONPATH=$(CURDIR)/tests/without HYPOTHESIS_PROFILE=few

test-pure: $(VENV)/with-test
	$(WITHOUT) WENGERT_PURE=1 $(BIN)/pytest -n auto --dist worksteal -m "not deep" $(or $(TESTS),tests)

test-interpreted: $(VENV)/with-test
	$(WITHOUT) WENGERT_NATIVE=0 $(BIN)/pytest -n auto --dist worksteal -m "not deep" $(or $(TESTS),tests)

# The core tests of the installed wheel, under PYTHON; OLDEST=1: with the lowest versions that pyproject.toml allows.
# KIND=pure: of the wheel without an extension; KIND=aarch64: of that of 64-bit ARM, and its machine code, emulated.
test-wheel:
	$(PYTHON) -m tools.wheel $(if $(OLDEST),--oldest) $(if $(KIND),--$(KIND)) $(TESTS)

# Each kind of wheel that this machine can build, for PYTHON, and the sdist: in dist/.
wheels:
	$(PYTHON) -m tools.wheels $(KIND)

# The C++, compiled as other compilers and other systems would; by those of this machine alone.
portable: $(VENV)/with-portable
	$(BIN)/python -m tools.portable $(SYSTEMS)

portable-here: $(VENV)/with-compiling
	$(BIN)/python -m tools.portable $(or $(SYSTEMS),gcc clang)

# The tests with the extension built under the sanitizers, in an environment of its own, .venv-sanitize.
# PYTHONMALLOC: each of Python's objects is an allocation of its own too, so that a use after its end is seen.
# Left out are the tests that count what is allocated: memory that was freed stays aside, in the sanitizer's quarantine.
SANITIZED  = -C cmake.define.WENGERT_SANITIZE=ON -C cmake.build-type=RelWithDebInfo -C install.strip=false
SANITIZERS = LD_PRELOAD="$$($(CXX) -print-file-name=libasan.so) $$($(CXX) -print-file-name=libstdc++.so)" \
           ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1 PYTHONMALLOC=malloc
COUNTING   = no_path_leaks or leak_nothing or bound_call_allocates or call_allocates_its or counter_counts
# And one of a thread that Python 3.11 ends as the process does: unwinding its stack, the sanitizer errs about its own.
UNWINDING  = ends_while_a_thread
TESTS     ?=

sanitize:
	$(MAKE) VENV=.venv-sanitize INSTALL_FLAGS="$(SANITIZED)" .venv-sanitize/with-test
	$(SANITIZERS) .venv-sanitize/bin/pytest -n auto --timeout 3000 -k "not ($(COUNTING) or $(UNWINDING))" $(TESTS)

lint: $(VENV)/with-test $(VENV)/with-lint
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/pyright --threads 2
	$(BIN)/lint-imports
	$(BIN)/python -m tools.circles
	$(BIN)/python -m tools.counts

# The manual, as a site in docs/_build/html. Its examples are run by `make test`.
docs: $(VENV)/with-docs
	$(BIN)/python -m sphinx -W --keep-going -n -q -j auto -b html docs docs/_build/html

format: $(VENV)/with-lint
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

bench: $(VENV)/with-bench
	$(BIN)/python benchmarks/run.py

# The public NumPy programs of https://github.com/spcl/npbench, of which NPBENCH is a clone, beside its ports to JAX.
NPBENCH ?=
bench-npbench: $(VENV)/with-bench
	$(BIN)/python -m benchmarks.bench_npbench $(or $(NPBENCH),$(error NPBENCH=folder says where a clone of NPBench is))

clean:
	rm -rf $(VENV) .venv-sanitize .venv-wheels $(HOSTS) $(PACKAGES) build dist docs/_build docs/reference/generated .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find src tests tools examples benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

# The empty files below remember what has been installed; a change of pyproject.toml makes them stale.
# Bytecode is compiled at once: where PYTHONDONTWRITEBYTECODE is set, every import would compile it again.

$(VENV)/installed: pyproject.toml CMakeLists.txt $(wildcard src/wengert/*/native/*)
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --upgrade "pip>=25.1"
	$(PIP) install $(INSTALL_FLAGS) --editable ".[native,demo]"
	$(BIN)/python -m compileall -q src/wengert
	touch $@

$(VENV)/with-%: $(VENV)/installed
	$(PIP) install --group $*
	touch $@

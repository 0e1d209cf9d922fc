# Needs nothing but Python (3.11 or newer) with venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# What is imported is compiled once, when it is first imported; not everything at the start, and not each time.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: solve test test-all fuzz lint clean
.DEFAULT_GOAL := solve

$(VENV)/.ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $@

solve: $(VENV)/.ready  ## solve the wave equation: progress, error, picture
	$(BIN)/safenet solve wave --out runs/wave --force
	$(BIN)/safenet plot runs/wave -o runs/wave.png

lint: $(VENV)/.ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Two processes of one thread each. Most of a test is compiling, which takes a third of the time without optimising.
XLA := --xla_backend_optimization_level=0 --xla_cpu_use_fusion_emitters=false \
	--xla_cpu_parallel_codegen_split_count=1 --xla_llvm_disable_expensive_passes=true
PYTEST := OPENBLAS_NUM_THREADS=1 JAX_NUM_CPU_DEVICES=1 XLA_FLAGS="$(XLA)" $(BIN)/python -m pytest -n 2 --dist loadfile

test: lint  ## lint, type-check and the fast tests
	$(PYTEST) -m 'not slow'

test-all: lint  ## everything, the long runs included
	$(PYTEST)

fuzz: $(VENV)/.ready  ## 100,000 hostile and near-valid inputs for the parser
	SAFENET_FUZZ=100000 $(BIN)/python -m pytest tests/problem/test_fuzz.py

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache build

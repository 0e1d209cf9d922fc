# Needs nothing but Python (3.11 or newer) with venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# What is imported is compiled once, when it is first imported; not everything at the start, and not each time.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: solve test test-all fast all style types fuzz mutations lint docs paper gallery dist clean
.DEFAULT_GOAL := solve
INSTALL := $(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check -c constraints.txt

$(VENV)/.solve: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(INSTALL) -e .
	touch $@

$(VENV)/.ready: $(VENV)/.solve
	$(INSTALL) -e '.[dev]'
	touch $@

solve: $(VENV)/.solve  ## solve the wave equation: progress, error, picture
	$(BIN)/safenet solve wave --out runs/wave --force
	$(BIN)/safenet plot runs/wave -o runs/wave.png

lint: style types

style: $(VENV)/.ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.ready
	$(BIN)/mypy

# Two processes of one thread each. Most of a test is compiling, which takes a third of the time without optimising.
XLA := --xla_backend_optimization_level=0 --xla_cpu_use_fusion_emitters=false \
	--xla_cpu_parallel_codegen_split_count=1 --xla_llvm_disable_expensive_passes=true
PYTEST := OPENBLAS_NUM_THREADS=1 JAX_NUM_CPU_DEVICES=1 XLA_FLAGS="$(XLA)" $(BIN)/python -m pytest -n 2 --dist loadfile

# Types are checked beside the tests; what either finds is an error of the whole.
test: style  ## lint, type-check and the fast tests
	@$(MAKE) --no-print-directory -j2 types fast

test-all: style  ## everything, the long runs included
	@$(MAKE) --no-print-directory -j2 types all

fast: $(VENV)/.ready
	$(PYTEST) -m 'not slow'

all: $(VENV)/.ready
	$(PYTEST)

fuzz: $(VENV)/.ready  ## 100,000 hostile and near-valid inputs for the parser
	SAFENET_FUZZ=100000 $(BIN)/python -m pytest tests/problem/test_fuzz.py

mutations: $(VENV)/.ready  ## 2,100 mutated run folders, rows of stores and suites
	SAFENET_MUTATIONS=700 $(BIN)/python -m pytest tests/trust/test_mutations.py

docs: $(VENV)/.ready  ## the documentation as a site in build/site; a warning is an error
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo open build/site/index.html

paper: $(VENV)/.ready  ## the paper's claims and tables, in docs/ and README, from results/*.jsonl
	$(BIN)/python -m benchmarks.paper_page

gallery: $(VENV)/.ready  ## draw the pictures of docs/gallery.md that are missing: minutes
	$(BIN)/python docs/gallery/make.py

# A package index shows the README alone: its links become absolute. make dist REPOSITORY=https://HOST/OWNER/NAME
dist: $(VENV)/.ready  ## sdist and wheel of the last commit, in dist/
	@test -n "$(REPOSITORY)" || { echo "give the address: make dist REPOSITORY=https://..."; exit 2; }
	rm -rf build/release && mkdir -p build/release
	git archive HEAD | tar x -C build/release
	$(BIN)/python build/release/.ci/absolute_links.py build/release $(REPOSITORY)
	$(BIN)/python -m build --outdir dist build/release

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache build

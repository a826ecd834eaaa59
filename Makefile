# make demo    install into .venv and see references being resolved
# make test    install into .venv and run the tests
# make check   ruff, mypy, and RESULTS.md against results/
# make slow    the tests that train models
PYTHON ?= python3
BIN := .venv/bin
# Small models on few cores: threads would only fight.
export OMP_NUM_THREADS ?= 1

.PHONY: demo test check format slow gpu-test clean

demo: .venv/installed
	$(BIN)/permnet models
	$(BIN)/python examples/demo.py

test: .venv/installed
	$(BIN)/python -m pytest -n 2 -m "not slow and not gpu"

slow: .venv/installed
	$(BIN)/python -m pytest -m "slow and not gpu"

# Runs wherever the python at hand sees a CUDA device and has pytest; leaves results/gpu-test.json.
gpu-test:
	$(PYTHON) -m tests.gpu

check: .venv/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/permnet report --check

format: .venv/installed
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

.venv/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet -c constraints.txt -e ".[dev]"
	touch $@

clean:
	rm -rf .venv dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis

# make demo    install into .venv and see references being resolved
# make test    install into .venv and run the tests
# make check   ruff, mypy, and RESULTS.md against results/
# make slow    the tests that train models
# make browser-test  the tests that drive the explorer's page in Chromium
# make screenshot    the README's picture of it, taken by one of them
PYTHON ?= python3
BIN := .venv/bin
# Small models on few cores: threads would only fight.
export OMP_NUM_THREADS ?= 1

.PHONY: demo test check format slow gpu-test browser-test screenshot chromium clean

demo: .venv/installed
	$(BIN)/permnet models
	$(BIN)/python examples/demo.py

test: .venv/installed
	$(BIN)/python -m pytest -n 2 -m "not slow and not gpu"

slow: .venv/installed
	$(BIN)/python -m pytest -m "slow and not gpu"

browser-test: .venv/browser chromium
	$(BIN)/python -m pytest tests/browser

screenshot: .venv/browser chromium
	PERMNET_SCREENSHOT=docs/images/explore.png $(BIN)/python -m pytest tests/browser -k screenshot

# Installed where that is allowed; elsewhere the message says what is missing.
chromium:
	@test -x /usr/bin/chromium || { test "$$(id -u)" = 0 && command -v apt-get >/dev/null \
	  && apt-get update -qq && apt-get install -y -qq chromium; } \
	  || { echo "the browser tests need /usr/bin/chromium: apt-get install chromium" >&2; exit 1; }

.venv/browser: .venv/installed
	$(BIN)/python -m pip install --quiet -c constraints.txt -e ".[browser]"
	touch $@

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

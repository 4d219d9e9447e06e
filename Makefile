# Everything needed is installed by these targets; a second call is quick.
PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
STAMP := $(VENV)/.installed
PEERS := $(VENV)/.installed-peers

.PHONY: demo test lint bench peers scaling clean

demo: $(STAMP)
	$(PY) examples/demo.py

# one BLAS thread for each worker: two workers with two threads each slow one another down
test: $(STAMP)
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(PY) -m pytest -n auto --dist loadfile

lint: $(STAMP)
	$(VENV)/bin/ruff format --check src tests benchmarks examples
	$(VENV)/bin/ruff check src tests benchmarks examples
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports

bench: $(STAMP)
	$(PY) benchmarks/overhead.py

peers: $(PEERS)
	$(PY) -m benchmarks.peers --write

scaling: $(STAMP)
	$(PY) -m benchmarks.scaling --write

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Equipoise needs Python 3.11 or newer (set PYTHON=...)")'
	test -x $(PY) || $(PYTHON) -m venv $(VENV)
	$(PY) -m pip install --quiet --upgrade pip
	$(PY) -m pip install --quiet -c constraints.txt -e '.[test,plot]'
	touch $(STAMP)

$(PEERS): $(STAMP)
	$(PY) -m pip install --quiet -c constraints.txt -e '.[bench]'
	touch $(PEERS)

clean:
	rm -rf $(VENV) demo-output .pytest_cache .mypy_cache .ruff_cache .import_linter_cache

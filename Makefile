# Everything needed is installed by these targets; a second call is quick.
# CONSTRAINTS fixes the versions; empty, it takes the newest ones.
PYTHON ?= python3
VENV ?= .venv
CONSTRAINTS ?= constraints.txt
PY := $(VENV)/bin/python
DEMO := $(VENV)/.installed-demo
STAMP := $(VENV)/.installed
PEERS := $(VENV)/.installed-peers
INSTALL := $(PY) -m pip install --quiet $(if $(CONSTRAINTS),-c $(CONSTRAINTS))
CHECKED := src tests tools benchmarks examples

.PHONY: demo test test-oldest test-newest lint hooks pages bench auc devices hs large peers pareto scaling coverage streams many-groups ranking networks hunt mutants clean

demo: $(DEMO)
	$(PY) examples/demo.py

# one BLAS thread for each worker: two workers with two threads each slow one another down
test: $(STAMP)
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(PY) -m pytest -n auto --dist loadfile

# scikit-learn 1.6 asks for the variable before it lets its estimator checks be imported
test-oldest:
	SCIPY_ARRAY_API=1 $(MAKE) test VENV=.venv-oldest CONSTRAINTS=constraints-oldest.txt

test-newest:
	$(MAKE) test VENV=.venv-newest CONSTRAINTS=

lint: $(STAMP)
	$(VENV)/bin/ruff format --check $(CHECKED)
	$(VENV)/bin/ruff check $(CHECKED)
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports

hooks: $(STAMP)
	$(INSTALL) -e '.[dev]'
	$(VENV)/bin/pre-commit install

pages: $(STAMP)
	$(PY) tools/api_reference.py
	$(PY) -m equipoise.solvers docs/guarantees.md

bench: $(STAMP)
	$(PY) benchmarks/overhead.py

auc: $(STAMP)
	$(PY) -m benchmarks.auc --write

# on a machine that has an accelerator, with PyTorch for it
devices:
	$(PYTHON) -m benchmarks.devices --write

hs: $(PEERS)
	$(PY) -m benchmarks.hock_schittkowski --write

large: $(PEERS)
	$(PY) -m benchmarks.large_plain --write

peers: $(PEERS)
	$(PY) -m benchmarks.peers --write

# without LibAUC, whose losses need no more than this, the page says that it is left out
pareto: $(PEERS)
	-$(INSTALL) --no-deps libauc tqdm
	$(PY) -m benchmarks.pareto --write

scaling: $(STAMP)
	$(PY) -m benchmarks.scaling --write

coverage: $(STAMP)
	$(PY) -m benchmarks.coverage --write

streams: $(STAMP)
	$(PY) -m benchmarks.streams --write

many-groups: $(PEERS)
	$(PY) -m benchmarks.many_groups --write

ranking: $(STAMP)
	$(PY) -m benchmarks.ranking --write

networks: $(PEERS)
	$(PY) -m benchmarks.networks --write

hunt: $(STAMP)
	$(PY) -m benchmarks.hunt --write

mutants: $(STAMP)
	$(PY) -m tools.mutate

# the library and what draws; the tests need much more, PyTorch and JAX among it
$(DEMO): pyproject.toml $(CONSTRAINTS)
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Equipoise needs Python 3.11 or newer (set PYTHON=...)")'
	test -x $(PY) || $(PYTHON) -m venv $(VENV)
	$(PY) -m pip install --quiet --upgrade pip
	$(INSTALL) -e '.[plot]'
	touch $(DEMO)

$(STAMP): $(DEMO)
	$(INSTALL) -e '.[test,plot]'
	touch $(STAMP)

$(PEERS): $(STAMP)
	$(INSTALL) -e '.[bench]'
	touch $(PEERS)

clean:
	rm -rf .venv .venv-oldest .venv-newest demo-output .pytest_cache .mypy_cache .ruff_cache .import_linter_cache

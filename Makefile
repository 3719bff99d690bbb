# The one entry to everything. `make` alone explains the targets; `.ci/run` calls the same ones.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help
MAKEFLAGS += --no-builtin-rules

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Where runs are written, the study that `make study` runs, and the files of benches/scenarios/ that
# `make bench` times.
RUNS ?= runs
NAME ?= application-limited-streams
SCENARIOS ?= A B C D
# How often each target of fuzz/ is tried, and which.
EXECUTIONS ?= 1000000
TARGETS ?= headers options endpoint conversation script capture frame filter analysis

INSTALLED := $(VENV)/.installed
BUILT := $(VENV)/.built
# The features of the last build; changed only when they are others, so that installing clang builds the eBPF part.
FEATURES := $(VENV)/.features
STUDIES_INSTALLED := $(VENV)/.studies
# The first process of kernels in virtual time; it loads no eBPF programs.
WORKER := python/fairwind/kernels/worker/fairwind-worker
# What editors and type checkers read of the scenario's schema.
TYPES := python/fairwind/scenario/typed.pyi
RUST_SOURCES := Cargo.toml Cargo.lock $(shell find crates -name Cargo.toml -o -name build.rs -o -path '*/bpf/*' -o -path '*/src/*' -name '*.rs')
# eBPF programs are compiled where there is what that needs; found out when a recipe runs.
EBPF = $(shell tools/prerequisites.sh ebpf && echo ebpf)
TESTBED_FEATURES = $(addprefix --features fairwind-testbed/,$(EBPF))
PYTHON_SOURCES := python studies tests tools

.PHONY: FORCE help setup build compile compile-tests wheel check-other-systems tuned demo study pictures study-pages validity conformance test test-rust test-python test-python-alone test-kernels lint lint-rust lint-python lint-layers fmt \
	fuzz bench bench-disciplines bench-controls bench-sharing bench-analyse bench-peers bench-large bench-testbed bench-virtual bench-windows bench-workers bench-tune docs docs-check docs-rust deny clean

help: ## explain the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-17s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(INSTALLED) ## look for compilers, make .venv, install the locked Python packages into it
	@tools/prerequisites.sh tests

$(INSTALLED): requirements.lock tools/prerequisites.sh
	PYTHON="$(PYTHON)" tools/prerequisites.sh build
	"$(PYTHON)" -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.lock
	touch $@

build: $(BUILT) $(TYPES) $(WORKER) $(STUDIES_INSTALLED) ## compile the core, install the command `fairwind` and the studies into .venv

# The Python sources are used where they stand, so only Rust and the package's own description are built.
$(BUILT): $(INSTALLED) $(FEATURES) pyproject.toml $(RUST_SOURCES)
	VIRTUAL_ENV="$(CURDIR)/$(VENV)" PIP_QUIET=1 $(BIN)/maturin develop --release --locked $(addprefix --features ,$(EBPF))
	touch $@

$(TYPES): $(BUILT) tools/typed_settings.py python/fairwind/scenario/schema_types.py
	$(BIN)/python tools/typed_settings.py

# With the core's package named, both use the same features of other crates, which are compiled once.
$(WORKER): $(RUST_SOURCES)
	cargo build --release --locked -p fairwind-virtual-kernel -p fairwind-python $(addprefix --features fairwind-python/,$(EBPF)) \
		--bin fairwind-worker
	install -D "$${CARGO_TARGET_DIR:-target}/release/fairwind-worker" $@

$(FEATURES): FORCE | $(INSTALLED)
	@echo "$(EBPF)" | cmp --silent - $@ || echo "$(EBPF)" > $@

$(STUDIES_INSTALLED): $(INSTALLED) studies/pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-index --no-deps --no-build-isolation --editable studies
	touch $@

# Compiling the core ends with minutes in which one processor does all.
compile: build compile-tests ## compile everything that tests need; faster with --jobs=2

compile-tests:
	cargo test --workspace --locked --no-run $(TESTBED_FEATURES)

wheel: $(INSTALLED) $(WORKER) $(TYPES) ## build wheel and source distribution into dist/, and try both in empty places
	rm -rf dist
	@# The wheel has files that are built here, so it is not made of the source distribution.
	$(BIN)/maturin sdist --out dist
	$(BIN)/maturin build --release --locked --out dist
	$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-index --no-deps --no-build-isolation --wheel-dir dist ./studies
	rm -rf studies/build
	PYTHON="$(PYTHON)" tools/try_wheel.sh dist
	tools/try_sources.sh dist

# What does not need Linux: the simulator and the analyser, with all that they use.
OTHER_SYSTEMS := x86_64-pc-windows-gnu aarch64-apple-darwin
NO_COMPILER := $(CURDIR)/tools/no_compiler.sh
check-other-systems: ## check that simulator and analyser compile for Windows and macOS
	@rustup target add $(OTHER_SYSTEMS) || { echo "not checked: the targets cannot be installed"; exit 0; }; \
	for target in $(OTHER_SYSTEMS); do \
		name=$${target//-/_}; \
		env CC_$$name=$(NO_COMPILER) AR_$$name=$(NO_COMPILER) CARGO_TARGET_DIR="$${CARGO_TARGET_DIR:-target}/other-systems" \
			cargo check --quiet --locked -p fairwind-simulation -p fairwind-analyse --target $$target || exit 1; \
		echo "$$target: compiles"; \
	done

tuned: $(INSTALLED) ## compile the core with profile-guided optimization: runs take a sixth less time, for long studies (a quarter of an hour)
	@# Where this does not come to its end, `make build` is to compile the core anew.
	rm -f $(BUILT)
	tools/tuned.sh $(addprefix --features ,$(EBPF))
	touch $(BUILT)

demo: build ## run the reduced study: table, page and pictures
	rm -rf $(RUNS)/demo
	$(BIN)/fairwind study application-limited-streams --reduced --figures --out $(RUNS)/demo

study: build ## run one full study: make study NAME=application-limited-streams
	$(BIN)/fairwind study $(NAME) --out $(RUNS)/$(NAME)

# All studies if none is named; what is finished in $(RUNS) is drawn as it is.
pictures: STUDIES ?=
pictures: build ## redraw the pictures of the documents from the full studies (ten minutes; congestion-control-evaluation over an hour)
	$(BIN)/python tools/pictures.py $(STUDIES) --runs $(RUNS)

study-pages: build ## run all reduced studies and look at their pages in Chromium (half an hour)
	$(BIN)/python tools/study_pages.py $(STUDIES) --runs $(RUNS)

# Scenarios of studies/validity to be looked at, all if none is named; ENGINES=linux-7.3,linux-6.12 needs neither root nor
# a quiet machine; AGAIN=1 measures them anew, PAGE=1 only writes the page.
validity: SCENARIOS :=
validity: build ## measure the agreement of simulator and kernels (root for the running kernel; hours the first time)
	$(BIN)/python -m fairwind_studies.validity $(SCENARIOS) $(if $(ENGINES),--engines $(ENGINES)) $(if $(MOST),--most $(MOST)) \
	    $(if $(AGAIN),--again) $(if $(PAGE),--page-only) --runs $(RUNS)/validity

# A folder with the scripts, or the version of Debian's package linux-source that they are taken from.
# ORIGINAL=packetdrill also runs the tool that the language comes from.
conformance: VERSION ?= 7.3
conformance: build ## run the kernel's own packetdrill scripts on every engine: make conformance SCRIPTS=DIR
	$(BIN)/python tools/script_conformance.py $(if $(SCRIPTS),--scripts "$(SCRIPTS)",--version $(VERSION)) \
		$(if $(ORIGINAL),--original $(ORIGINAL)) $(if $(ENGINES),--engines $(ENGINES))

test: ## run all tests, also after a failure, and count skipped ones
	@MAKE="$(MAKE)" tools/test.sh test-rust test-python test-python-alone

test-rust: ## run the tests of the crates
	cargo test --workspace --locked --no-fail-fast $(TESTBED_FEATURES)

test-python: build ## run the tests of the Python package and of the architecture, several at once
	$(BIN)/pytest -ra -m "not alone" --numprocesses auto --dist loadfile tests studies

test-python-alone: build ## run the tests that need an idle machine: real time, or the kernel
	$(BIN)/pytest -ra -m alone tests studies

test-kernels: KERNELS :=
test-kernels: build ## run the testbed's tests on built kernels, in virtual time: make test-kernels KERNELS="linux-5.10 linux-7.3"
	$(BIN)/python tools/kernel_tests.py --features "$(addprefix fairwind-testbed/,$(EBPF))" $(KERNELS)

lint: lint-rust lint-python lint-layers ## check format, lints, types, layers and sizes

lint-rust:
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked --keep-going $(TESTBED_FEATURES) -- -D warnings

lint-python: $(TYPES)
	$(BIN)/ruff check $(PYTHON_SOURCES)
	$(BIN)/ruff format --check $(PYTHON_SOURCES)
	$(BIN)/mypy --strict python studies tools

lint-layers: $(INSTALLED)
	$(BIN)/python tools/layers.py
	$(BIN)/python tools/sizes.py
	$(BIN)/python tools/circles.py --most 0
	$(BIN)/python tools/conformance.py

fuzz: ## fuzz all parsers: make fuzz EXECUTIONS=1000000 TARGETS="headers script"
	EXECUTIONS="$(EXECUTIONS)" TARGETS="$(TARGETS)" tools/fuzz.sh

deny: ## check licences and sources of the crates (needs cargo-deny)
	cargo deny --all-features check bans licenses sources

fmt: $(INSTALLED) ## format all sources
	cargo fmt --all
	$(BIN)/ruff check --fix-only --quiet $(PYTHON_SOURCES)
	$(BIN)/ruff format $(PYTHON_SOURCES)

bench: ## time the simulator and count the cost of disciplines: make bench SCENARIOS="A B"
	cargo build --release --locked -p fairwind-simulation --example benchmark
	@# One process for each, since a process can tell only its own greatest use of memory.
	@for name in $(SCENARIOS); do \
		cargo run --quiet --release --locked -p fairwind-simulation --example benchmark -- \
			benches/scenarios/$$name.toml; \
	done
	@$(MAKE) --no-print-directory bench-disciplines bench-controls

bench-disciplines: ## count instructions per packet for every queue discipline
	cargo build --release --locked -p fairwind-network --example discipline_cost
	$${CARGO_TARGET_DIR:-target}/release/examples/discipline_cost

bench-controls: ## count instructions per acknowledgment for every congestion control
	cargo build --release --locked -p fairwind-congestion --example control_cost
	$${CARGO_TARGET_DIR:-target}/release/examples/control_cost

bench-sharing: ## count instructions and bytes of a host's memory of 100 000 peers
	cargo build --release --locked -p fairwind-tcp --example sharing_cost
	$${CARGO_TARGET_DIR:-target}/release/examples/sharing_cost

bench-analyse: build ## time the analyser beside tcptrace, on a simulated capture of two million packets
	cargo build --release --locked -p fairwind-analyse --example analyse_speed
	$(BIN)/python tools/bench_analyse.py $(BIN)/fairwind

bench-peers: build ## time simulator and analyser beside ns-2 and tcptrace, and write docs/performance.md (root installs them)
	cargo build --release --locked -p fairwind-simulation -p fairwind-analyse --example benchmark --example analyse_speed
	$(BIN)/python tools/bench_peers.py

bench-large: ## measure the cost of many flows, short flows, many links and an hour (five minutes)
	cargo build --release --locked -p fairwind-simulation --example benchmark
	$(BIN)/python tools/bench_large.py $${CARGO_TARGET_DIR:-target}/release/examples/benchmark

bench-testbed: ## measure delays, rates and the highest packet rate of the real-time router (root, minutes)
	cargo build --release --locked -p fairwind-testbed --bins --example accuracy --example highest_rate
	$${CARGO_TARGET_DIR:-target}/release/examples/accuracy
	$${CARGO_TARGET_DIR:-target}/release/examples/highest_rate

# Of a kernel that `fairwind kernel build` has made.
bench-virtual: KERNEL ?= linux-6.12
bench-virtual: build ## time a kernel in virtual time against real time: make bench-virtual KERNEL=linux-6.12
	$(BIN)/python tools/bench_virtual.py $(KERNEL)

# MANY=100000 also runs and merges so many, and prints the client's memory (half an hour).
bench-workers: MANY := 0
bench-workers: build ## measure overhead and throughput of a Dask cluster on this machine
	$(BIN)/python tools/bench_workers.py --many $(MANY)

bench-tune: build ## compare a search for settings with an exhaustive grid of 58 000 simulations (minutes on two processors)
	$(BIN)/python tools/bench_tune.py --runs $(RUNS)/bench-tune

bench-windows: ## measure the kernel's cost of remembered windows, per call (root, eBPF)
	@# What is measured is the kernel's; how this is compiled does not matter.
	cargo build --locked -p fairwind-testbed --features ebpf --example window_cost
	$${CARGO_TARGET_DIR:-target}/debug/examples/window_cost

docs: docs-rust build ## write the crates' pages and docs/reference/
	$(BIN)/python tools/reference.py

docs-check: docs-rust build ## fail if a page of docs/reference/ is out of date
	$(BIN)/python tools/reference.py --check

docs-rust:
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --exclude fairwind-python --no-deps --locked

clean: ## remove all build products, but no runs except the demo's
	rm -rf $(VENV) $(dir $(WORKER)) $(TYPES) $(RUNS)/demo .pytest_cache .mypy_cache .ruff_cache .hypothesis
	cargo clean

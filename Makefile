# `make demo` and `make test` are all a newcomer needs; `make help` lists the rest.
CARGO ?= cargo
PREFIX ?= /usr/local
DESTDIR ?=

.DEFAULT_GOAL := help
.PHONY: help build deb demo test check bench soak fuzz papers labels deps install uninstall

help: ## this list
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1|\2/p' $(MAKEFILE_LIST) | column -t -s '|' 2>/dev/null \
		|| grep -h '^[a-z]*:.*##' $(MAKEFILE_LIST)

build: ## tresse, tressed and the library for MPI programs, optimised, in target/release
	$(CARGO) build --release --locked --package tresse --package tressed --package tresse-mpi

deb: build ## the Debian package, in target/debian
	systemd/deb.sh

demo: ## a 4x4 torus on this machine, measured beside its bounds
	@tests/deps.sh demo
	@$(call script,tests/demo.sh)

test: ## every test, here and in the virtual machine beside it, with the seconds of each stage
	@tests/deps.sh test
	@$(call script,tests/test.sh)

check: ## format, structure, lints, docs, unused dependencies, licences; advisories if reachable
	@tests/deps.sh check
	$(CARGO) fmt --all --check
	$(CARGO) test --package tresse-structure --locked
	$(CARGO) machete
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings
	$(CARGO) test --quiet --locked --package tresse-documents # citations and links
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --locked
	@$(call script,tests/deny.sh)

bench: ## the benchmarks of docs/benchmarks.md, each beside its peer
	@tests/deps.sh bench
	@$(call script,tests/bench.sh)

soak: ## the long forms of the tests, an hour a run: failures under load, many nodes, more faults; SOAK_KIND=KIND: one kind of fabric
	@tests/deps.sh test
	@$(call script,tests/long.sh)

fuzz: ## all that outsiders can send, mutated: FUZZ_SECONDS a target, by default an hour in all
	@tests/deps.sh fuzz
	@$(call script,tests/fuzz.sh)

papers: ## the published results that Tresse stands on, computed again
	@$(call script,tests/papers.sh)

labels: ## the labels of a flat neighbourhood, in a browser and on paper: needs chromium
	@tests/deps.sh labels
	@$(call script,tests/labels.sh)

deps: ## the programs that building and testing need, by apt
	@tests/deps.sh test

install: ## binaries, units, drop-ins, configuration, man pages (DESTDIR=, PREFIX=)
	@DESTDIR='$(DESTDIR)' PREFIX='$(PREFIX)' systemd/install.sh install

uninstall: ## remove exactly what install put there, and directories that it made and are empty
	@DESTDIR='$(DESTDIR)' PREFIX='$(PREFIX)' systemd/install.sh uninstall

# Runs a script of tests/, and says so where a checkout has none of that name.
define script
if [ -x $(1) ]; then $(1); else echo "$(1) is not part of this version" >&2; exit 1; fi
endef

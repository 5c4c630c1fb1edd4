# `make demo` and `make test` are all a newcomer needs; the rest is listed in README.md.
.PHONY: build test check

build:
	cargo build --release

test:
	cargo test --workspace

check:
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps

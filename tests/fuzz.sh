#!/bin/sh
# Every fuzz target for FUZZ_SECONDS (default an hour), from the example files and what earlier runs
# found (fuzz/corpus: a run goes on where the last one stopped). libFuzzer prints its seed; FUZZ_SEED
# repeats a run. Needs cargo-fuzz: cargo install cargo-fuzz --locked
set -eu
cd "$(dirname "$0")/.."
if ! cargo fuzz --version >/dev/null 2>&1; then
    echo "cargo-fuzz is missing: cargo install cargo-fuzz --locked" >&2
    exit 1
fi
mkdir -p fuzz/corpus/cluster fuzz/corpus/lock fuzz/corpus/announcement
cp configs/*.toml tests/broken/*.toml fuzz/corpus/cluster/
# The sanitizer needs unstable compiler flags.
export RUSTC_BOOTSTRAP=1
for target in cluster lock announcement; do
    echo "== fuzz $target for ${FUZZ_SECONDS:-3600} s"
    cargo fuzz run "$target" -- -max_total_time="${FUZZ_SECONDS:-3600}" \
        ${FUZZ_SEED:+-seed="$FUZZ_SEED"} -print_final_stats=1
done

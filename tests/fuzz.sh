#!/bin/sh
# Every fuzz target for FUZZ_SECONDS (default 360, an hour in all), two at a time, from the seeds, the example
# files, what was once found and what earlier runs found (fuzz/corpus: a run goes on where the last
# one stopped). FUZZ_SEED repeats a run; names as arguments choose targets. Needs Rust and a C++
# compiler, for libFuzzer: cargo-fuzz would only set the flags that are set here. Everything fuzzed is
# safe Rust (but for the areas of `mpi`, which check their bounds), so coverage is instrumented and
# addresses are not. `make test` replays the kept inputs without any of this: they are unit tests of the
# crate `fuzz`.
set -eu
cd "$(dirname "$0")/.."
# Cluster files have the examples for seeds.
# shellcheck disable=SC2046
[ $# -gt 0 ] || set -- cluster $(ls fuzz/seeds)

host=$(rustc -vV | sed -n 's/^host: //p')
# `--target` keeps the flags away from build scripts and macros, a directory of its own from the rest.
RUSTFLAGS="--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
-Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
-Cllvm-args=-sanitizer-coverage-trace-compares" \
    cargo build --profile fuzz --locked --package tresse-fuzz --features libfuzzer --bin fuzz \
    --target "$host" --target-dir fuzz/target
FUZZ_PROGRAM=fuzz/target/$host/fuzz/fuzz
export FUZZ_PROGRAM

# One target; a failure shows all that was said, and names the input.
# shellcheck disable=SC2016
one='
target=$0
mkdir -p "fuzz/corpus/$target" "fuzz/artifacts/$target"
inputs=fuzz/corpus/$target
for more in "fuzz/seeds/$target" "fuzz/regressions/$target"; do
    [ -d "$more" ] && inputs="$inputs $more"
done
[ "$target" = cluster ] && inputs="$inputs configs tests/broken"
log=fuzz/artifacts/$target.log
if FUZZ_TARGET=$target "$FUZZ_PROGRAM" $inputs -artifact_prefix="fuzz/artifacts/$target/" -timeout=25 \
    -rss_limit_mb=2048 -max_total_time="${FUZZ_SECONDS:-360}" ${FUZZ_SEED:+-seed="$FUZZ_SEED"} \
    -print_final_stats=1 >"$log" 2>&1; then
    echo "fuzz $target: $(grep "^Done" "$log")," \
        "$(sed -n "s/.*cov: \([0-9]*\).*/\1/p" "$log" | tail -n 1) edges covered"
else
    tail -n 40 "$log"
    echo "fuzz $target: FAILED, see $log; the input is in fuzz/artifacts/$target" >&2
    exit 1
fi'
printf '%s\n' "$@" | xargs -P 2 -I {} sh -c "$one" {}

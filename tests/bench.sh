#!/bin/sh
# The benchmarks of docs/benchmarks.md. Prints what was measured and on what; judges nothing.
set -eu
cd "$(dirname "$0")/.."
echo "machine: $(nproc) CPUs, $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), kernel $(uname -r)"
echo "source:  $(git rev-parse --short HEAD 2>/dev/null || echo unknown)"
cargo build --release --locked --package tresse-fabric --example large
cargo build --release --locked --package tressed --example install

for dims in "8 8 8" "16 16 16"; do
    echo "== plan and verify a torus of $dims, dimension-order routing"
    # shellcheck disable=SC2086
    command time -f '%U s user, %S s system, %e s wall, %M KiB at most' \
        target/release/examples/large $dims
done

echo "== install 100,000 routes and 10,000 neighbours, beside ip -batch"
if [ "$(id -u)" = 0 ]; then
    target/release/examples/install 100000 10000
else
    echo "not measured: needs root (a network namespace of its own)"
fi

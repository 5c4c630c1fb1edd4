#!/bin/sh
# The simulator beside BookSim2 on the same fabrics, frames and loads, one core each: switches that flits
# cross in a second of CPU time. PEER_BOOKSIM names a directory in which BookSim2 was built
# (github.com/booksim/booksim2, `make -C src`; needs flex and bison); without it ours is measured alone.
# BookSim's routers take a cycle less than ours for everything, which favours it.
set -eu
cd "$(dirname "$0")/.."
built=${CARGO_TARGET_DIR:-$PWD/target}/release
cargo build --release --locked --package tresse-sim --example speed --package tresse --bin tresse
"$built/examples/speed" "${CYCLES:-100000}"

peer=${PEER_BOOKSIM:-}
if [ -z "$peer" ]; then
    echo "BookSim2: not run (PEER_BOOKSIM names no directory)"
else
    config=$(mktemp)
    trap 'rm -f "$config" "$config.out" "$config.time"' EXIT
    # topology k n nodes virtual-channels load cycles
    while read -r topology k n nodes channels load cycles; do
        cat >"$config" <<CONFIG
topology = $topology;
k = $k;
n = $n;
routing_function = $([ "$topology" = mesh ] && echo dor || echo dim_order);
num_vcs = $channels;
vc_buf_size = 160;
packet_size = 134;
use_read_write = 0;
injection_rate_uses_flits = 1;
traffic = uniform;
injection_rate = $load;
sim_type = throughput;
sample_period = $((cycles / 4));
warmup_periods = 1;
max_samples = 4;
latency_thres = 1000000000.0;
routing_delay = 0;
seed = 1;
CONFIG
        # It ends with 255 whatever it found.
        command time -o "$config.time" -f %U "$peer/src/booksim" "$config" >"$config.out" || true
        seconds=$(tail -n 1 "$config.time")
        awk -v "name=$topology $k^$n, $channels x 160" -v "load=$load" -v "nodes=$nodes" -v "seconds=$seconds" '
            /^Time taken is/ { cycles = $4 }
            /^Accepted flit rate average =/ { accepted = $6 }
            /^Hops average =/ { hops = $4 }
            END {
                all = accepted * nodes * cycles * hops
                printf "| BookSim2: %s | lossless | %s | %.3f | %.0f | %.2f | %.2f M |\n",
                    name, load, accepted, all, seconds, all / seconds / 1e6
            }' "$config.out"
    done <<'RUNS'
mesh 8 2 64 1 0.3 40000
mesh 8 2 64 1 0.95 20000
torus 8 3 512 2 0.3 8000
torus 8 3 512 2 0.95 4000
RUNS
fi

echo "a sweep on one core and on two, seconds:"
for threads in 1 2; do
    RAYON_NUM_THREADS=$threads command time -f "$threads: %e" \
        "$built/tresse" simulate configs/torus3d.toml --seeds 4 >/dev/null
done

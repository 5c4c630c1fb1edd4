#!/bin/sh
# Plans of well-known families of switch fabrics, judged by tests/judge.py: load beside the optimum of a linear program
# that HiGHS solves, VLANs beside iterated first fit on the same routes, pairs without a second path, and time; and the
# root of choice beside the best of all roots on random fabrics. PEER_ZOO
# names a JSON file of further fabrics, {name: {"switches": N, "cables": [[a, b], ...]}}, such as the Internet Topology
# Zoo; of graphs of more than 64 switches only `minimal` is judged, beside an equal split. Fails where a plan is wrong or lies above the
# limits of the judge.
set -eu
cd "$(dirname "$0")/.."
built=${CARGO_TARGET_DIR:-$PWD/target}/release
if ! /usr/bin/python3 -c 'import scipy' 2>/dev/null; then
    echo "not run: needs python3-scipy"
    exit 0
fi
[ -x "$built/tresse" ] || cargo build --release --locked --package tresse
/usr/bin/python3 tests/judge.py --tresse "$built/tresse"
/usr/bin/python3 tests/judge.py --tresse "$built/tresse" --roots
if [ -n "${PEER_ZOO:-}" ]; then
    /usr/bin/python3 tests/judge.py --tresse "$built/tresse" --zoo "$PEER_ZOO" --paths 1
else
    echo "zoo: not run (PEER_ZOO names no file)"
fi

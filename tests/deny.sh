#!/bin/sh
# Licences, sources and banned crates of everything that is linked, then known vulnerabilities
# (RustSec). Without a network the latter cannot be judged, which is said and is no failure.
set -eu
cd "$(dirname "$0")/.."
cargo deny --locked check --hide-inclusion-graph licenses bans sources
if cargo deny --locked fetch db 2>/dev/null; then
    cargo deny --locked check --disable-fetch --hide-inclusion-graph advisories
else
    echo "advisories NOT checked: the RustSec database could not be fetched" >&2
fi

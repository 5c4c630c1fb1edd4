#!/bin/sh
# Builds two versions of the Debian package and has dpkg install, upgrade, remove and purge them under a systemd
# of their own (boot.sh).
#
#   systemd/package.sh [--cargo-deb] [TARGET]    TARGET: where tresse and tressed are, default target/debug
#
# With --cargo-deb the package is the one that `make deb` makes; without, `dpkg-deb` packs the same tree with
# the same scripts, which needs nothing that a Debian lacks.
#
# Exit 0 all right; 1 something is wrong; 77 no container can be booted here.
set -eu
cd "$(dirname "$0")/.."
tool=dpkg-deb
if [ "${1:-}" = --cargo-deb ]; then
    tool=cargo-deb
    shift
fi
target=${1:-target/debug}
old=$(TOOL=$tool TARGET=$target systemd/deb.sh 0.0.9-1)
new=$(TOOL=$tool TARGET=$target systemd/deb.sh 0.1.0-1)
exec systemd/boot.sh --package "$old" "$new"

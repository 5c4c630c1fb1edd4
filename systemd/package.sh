#!/bin/sh
# Builds two versions of the Debian package and has dpkg install, upgrade, remove and purge them under a systemd
# of their own (boot.sh).
#
#   systemd/package.sh [TARGET]    TARGET: where tresse and tressed are, default target/debug
#
# Exit 0 all right; 1 something is wrong; 77 no container can be booted here.
set -eu
cd "$(dirname "$0")/.."
target=${1:-target/debug}
old=$(TARGET=$target systemd/deb.sh 0.0.9-1)
new=$(TARGET=$target systemd/deb.sh 0.1.0-1)
exec systemd/boot.sh --package "$old" "$new"

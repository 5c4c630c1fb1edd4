#!/bin/sh
# Builds the Debian package of what `install.sh` installs, by cargo-deb; prints its path.
#
#   TARGET=target/release systemd/deb.sh [VERSION]     VERSION: Debian's, default the crates'
set -eu
cd "$(dirname "$0")/.."
: "${TARGET:=target/release}"
tools=$(pwd)/target/tools
PATH=$tools/bin:$PATH
command -v cargo-deb >/dev/null ||
    cargo install cargo-deb --version '^3' --locked --quiet --root "$tools" >&2
root=target/debian/root
rm -rf "$root"
mkdir -p "$root"
TARGET=$TARGET DESTDIR=$(realpath "$root") PREFIX=/usr systemd/install.sh install >/dev/null
# dpkg has a list of its own.
rm "$root/usr/share/doc/tresse/installed"
cargo deb --package tressed --no-build --quiet \
    ${1:+--deb-version "$1"} --output "target/debian/tresse_${1:-current}.deb" >/dev/null
echo "target/debian/tresse_${1:-current}.deb"

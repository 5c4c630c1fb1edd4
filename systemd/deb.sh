#!/bin/sh
# Builds the Debian package of what `install.sh` installs; prints its path.
#
#   TARGET=target/release systemd/deb.sh [VERSION]     VERSION: Debian's, default the crates'
#
# By cargo-deb, which finds out on which libraries the programs depend; with TOOL=dpkg-deb from the same
# tree, scripts and fields (daemon/Cargo.toml) without it, for trials on this machine.
set -eu
cd "$(dirname "$0")/.."
: "${TARGET:=target/release}" "${TOOL:=cargo-deb}"
root=target/debian/root
rm -rf "$root"
mkdir -p "$root"
TARGET=$TARGET DESTDIR=$(realpath "$root") PREFIX=/usr systemd/install.sh install >/dev/null
# dpkg has a list of its own.
rm "$root/usr/share/doc/tresse/installed"
package=target/debian/tresse_${1:-current}.deb

# A field of [package.metadata.deb].
field() {
    sed -n "/^\[package.metadata.deb\]/,\$s/^$1 = \"\(.*\)\"$/\1/p" daemon/Cargo.toml
}

if [ "$TOOL" = dpkg-deb ]; then
    mkdir "$root/DEBIAN"
    for script in postinst postrm prerm; do
        grep -v '^#DEBHELPER#' "systemd/debian/$script" >"$root/DEBIAN/$script"
        chmod 755 "$root/DEBIAN/$script"
    done
    sed -n '/^conf-files = \[/,/^\]/s/^ *"\(.*\)",$/\1/p' daemon/Cargo.toml >"$root/DEBIAN/conffiles"
    cat >"$root/DEBIAN/control" <<CONTROL
Package: $(field name)
Version: ${1:-0}
Architecture: $(dpkg --print-architecture)
Maintainer: $(field maintainer)
Section: $(field section)
Priority: $(field priority)
Depends: $(field depends | sed 's/\$auto/libc6/')
Description: The per-node daemon and its command
CONTROL
    dpkg-deb --root-owner-group -Znone --build "$root" "$package" >/dev/null
else
    tools=$(pwd)/target/tools
    PATH=$tools/bin:$PATH
    command -v cargo-deb >/dev/null ||
        cargo install cargo-deb --version '^3' --locked --quiet --root "$tools" >&2
    cargo deb --package tressed --no-build --quiet \
        ${1:+--deb-version "$1"} --output "$package" >/dev/null
fi
echo "$package"

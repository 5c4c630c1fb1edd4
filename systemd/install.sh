#!/bin/sh
# Puts binaries, units, drop-ins, configuration and documents in place, or removes exactly these.
# Starts nothing, enables nothing, touches no interface.
#
#   DESTDIR= PREFIX=/usr/local systemd/install.sh install|uninstall
set -eu
cd "$(dirname "$0")/.."
: "${DESTDIR:=}" "${PREFIX:=/usr/local}" "${TARGET:=target/release}"

# `cargo test` leaves it in deps.
library=$TARGET/libtresse_mpi.so
[ -e "$library" ] || library=$TARGET/deps/libtresse_mpi.so

# mode  source  destination. NetworkManager and iproute2 look below /etc and /usr only, so theirs
# are in /etc whatever the prefix.
manifest() {
    cat <<LIST
0755 $TARGET/tresse $PREFIX/bin/tresse
0755 $TARGET/tressed $PREFIX/bin/tressed
0644 $library $PREFIX/lib/libtresse_mpi.so
0644 systemd/tressed.service $PREFIX/lib/systemd/system/tressed.service
0644 systemd/tresse-wait-online.service $PREFIX/lib/systemd/system/tresse-wait-online.service
0644 systemd/tressed.catalog $PREFIX/lib/systemd/catalog/tressed.catalog
0644 systemd/sysusers.conf $PREFIX/lib/sysusers.d/tresse.conf
0644 systemd/tmpfiles.conf $PREFIX/lib/tmpfiles.d/tresse.conf
0644 systemd/modules-load.conf $PREFIX/lib/modules-load.d/tresse.conf
0644 systemd/udev.rules $PREFIX/lib/udev/rules.d/75-tresse.rules
0644 systemd/tresse.network $PREFIX/lib/systemd/network/05-tresse.network
0644 systemd/tresse0.network $PREFIX/lib/systemd/network/05-tresse0.network
0644 systemd/networkd.conf $PREFIX/lib/systemd/networkd.conf.d/50-tresse.conf
0644 systemd/networkmanager.conf /etc/NetworkManager/conf.d/50-tresse.conf
0644 configs/rt_protos.d/tresse.conf /etc/iproute2/rt_protos.d/tresse.conf
0644 tests/mpi/collectives.c $PREFIX/share/doc/tresse/collectives.c
0644 docs/man/tressed.8 $PREFIX/share/man/man8/tressed.8
LIST
    # Documents and examples keep their places, so that the links between them lead somewhere.
    find README.md CHANGELOG.md CONTRIBUTING.md LICENSE-MIT LICENSE-APACHE docs configs -type f \( \
        -name 'LICENSE-*' -o -name '*.md' -o -name '*.svg' -o -name '*.8' -o \
        -name '*.toml' -o -name '*.fnn' -o -name '*.json' -o -name '*.yml' \) |
        LC_ALL=C sort | while read -r file; do
        echo "0644 $file $PREFIX/share/doc/tresse/$file"
    done
}

# Belongs to the operator once it is there.
config=/etc/tresse/tressed.toml
# Every path that install wrote, one per line, this list first, and every directory that it made, with
# a slash behind it: what uninstall removes, directories where they are empty by then.
list=$PREFIX/share/doc/tresse/installed

# The directories above a path that are not there yet, with DESTDIR itself, the deepest first.
missing() {
    above=$1
    while [ -n "$above" ]; do
        above=${above%/*}
        [ -d "$DESTDIR$above/" ] || echo "$above/"
    done
}

put() {
    made=$(missing "$3")
    install -D -m "$1" "$2" "$DESTDIR$3"
    printf '%s\n' "$3" ${made:+"$made"} >>"$DESTDIR$list"
}

do_install() {
    for built in "$TARGET/tresse" "$TARGET/tressed" "$library"; do
        [ -x "$built" ] || {
            echo "$built is missing: run 'make build' first" >&2
            exit 1
        }
    done
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT INT TERM
    # What an earlier install wrote and this one does not is removed at the end.
    earlier=$work/earlier
    cat "$DESTDIR$list" >"$earlier" 2>/dev/null || true
    made=$(
        missing "$list"
        # What an earlier install made is still ours.
        [ ! -f "$DESTDIR$list" ] || grep '/$' "$DESTDIR$list" || true
    )
    mkdir -p "$DESTDIR${list%/*}"
    printf '%s\n' "$list" ${made:+"$made"} >"$DESTDIR$list"
    manifest | while read -r mode source destination; do
        case $source in
        *.service)
            sed "s,/usr/bin/tress,$PREFIX/bin/tress," "$source" >"$work/unit"
            put "$mode" "$work/unit" "$destination"
            ;;
        *) put "$mode" "$source" "$destination" ;;
        esac
    done
    for completion in bash:bash-completion/completions/tresse zsh:zsh/site-functions/_tresse \
        fish:fish/vendor_completions.d/tresse.fish; do
        "$TARGET/tresse" completion "${completion%%:*}" >"$work/completion"
        put 0644 "$work/completion" "$PREFIX/share/${completion#*:}"
    done
    mkdir "$work/man"
    "$TARGET/tresse" man "$work/man" >/dev/null
    for page in "$work"/man/*.1; do
        [ -e "$page" ] || continue
        put 0644 "$page" "$PREFIX/share/man/man1/${page##*/}"
    done
    if [ -e "$DESTDIR$config" ]; then
        echo "$config is kept as it is; configs/tressed.toml has every key"
    else
        made=$(missing "$config")
        install -D -m 0644 configs/tressed.toml "$DESTDIR$config"
        [ -z "$made" ] || echo "$made" >>"$DESTDIR$list"
    fi
    grep -vxF -f "$DESTDIR$list" "$earlier" | while read -r path; do
        case $path in
        */) ;;
        *) rm -f "$DESTDIR$path" ;;
        esac
    done
    grep '/$' "$DESTDIR$list" | LC_ALL=C sort -ru | while read -r directory; do
        rmdir "$DESTDIR$directory" 2>/dev/null || true
    done
    [ -n "$DESTDIR" ] || cat <<'NEXT'
Installed; nothing was started. Once, as root:
  systemd-sysusers && systemd-tmpfiles --create && systemctl daemon-reload
  systemctl restart systemd-modules-load && udevadm control --reload
  networkctl reload    # or: nmcli general reload; whichever manages this host
Then: systemctl enable --now tressed, which changes no network before `tresse up`, `tresse rollout` or a
cluster file in /etc/tresse/cluster.toml brings a plan
NEXT
}

do_uninstall() {
    if [ -z "$DESTDIR" ] && ip -o link 2>/dev/null | grep -q 'alias tresse:'; then
        echo "tressed's objects are still in the kernel: run 'tresse withdraw' first" >&2
        exit 1
    fi
    [ -f "$DESTDIR$list" ] || {
        echo "$DESTDIR$list is missing: nothing was installed with this PREFIX and DESTDIR" >&2
        exit 1
    }
    installed=$(cat "$DESTDIR$list")
    while read -r path; do
        case $path in
        */) ;;
        *) rm -f "$DESTDIR$path" ;;
        esac
    done <<EOT
$installed
EOT
    if cmp -s configs/tressed.toml "$DESTDIR$config"; then
        rm -f "$DESTDIR$config"
    elif [ -e "$DESTDIR$config" ]; then
        echo "$config was changed and is kept"
    fi
    # What is below sorts behind: from the end, so that a directory is empty when its turn comes.
    while read -r directory; do
        [ -z "$directory" ] || rmdir "$DESTDIR$directory" 2>/dev/null || true
    done <<EOT
$(printf '%s\n' "$installed" "$PREFIX/share/doc/tresse/" /etc/tresse/ |
    grep '/$' | LC_ALL=C sort -ru)
EOT
    [ -n "$DESTDIR" ] || cat <<'NEXT'
Removed. Kept, as they hold what is yours: /etc/tresse, /var/lib/tresse, the user and group tresse.
  rm -r /etc/tresse /var/lib/tresse; userdel tresse; systemctl daemon-reload
NEXT
}

case ${1:-} in
install) do_install ;;
uninstall) do_uninstall ;;
*)
    echo "usage: [DESTDIR=] [PREFIX=/usr/local] $0 install|uninstall" >&2
    exit 2
    ;;
esac

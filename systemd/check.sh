#!/bin/sh
# Judges what this directory holds by systemd's own programs, and install.sh by what it leaves behind.
# Changes nothing on the host.
#
#   systemd/check.sh [TRESSED]     TRESSED: the binary the unit is verified with, else a stand-in
#
# Exit 0 all right; 1 something is wrong; 77 systemd's programs are missing (tests: ignored, with
# this reason; CI: a failure).
set -eu
cd "$(dirname "$0")"

# Ten times the exposure that `systemd-analyze security` may report for tressed.service.
LIMIT=20
failed=0

for program in systemd-analyze systemd-sysusers systemd-tmpfiles journalctl; do
    command -v "$program" >/dev/null || {
        echo "$program is missing: apt-get install systemd" >&2
        exit 77
    }
done

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM

bad() {
    echo "FAILED $*" >&2
    failed=1
}

# verify wants the program of ExecStart to exist; the rest of the unit is as shipped.
program=${1:-$(command -v true)}
for unit in tressed.service tresse-wait-online.service; do
    sed "s,^ExecStart=[^ ]*,ExecStart=$program," $unit >"$work/$unit"
done
said=$(systemd-analyze verify --man=no "$work"/tress*.service 2>&1) || bad "systemd-analyze verify"
[ -z "$said" ] || bad "systemd-analyze verify: $said"

catalog=$work/root/usr/lib/systemd/catalog
mkdir -p "$catalog" "$work/root/var/lib/systemd/catalog"
cp tressed.catalog "$catalog"
journalctl --update-catalog --root="$work/root" || bad "journalctl --update-catalog"
listed=$(journalctl --root="$work/root" --list-catalog | wc -l)
[ "$listed" = "$(grep -c '^-- ' tressed.catalog)" ] || bad "the catalogue has entries that are not read"

if systemd-analyze security --offline=true --threshold="$LIMIT" tressed.service \
    >"$work/security" 2>&1; then
    tail -n 1 "$work/security"
else
    cat "$work/security" >&2
    bad "systemd-analyze security: exposure above $LIMIT tenths"
fi

for absent in ProtectKernelTunables=yes ProcSubset=pid PrivateNetwork=yes PrivateUsers=yes; do
    ! grep -q "^$absent" tressed.service || bad "$absent keeps tressed from its work (K23)"
done
for wanted in AmbientCapabilities CapabilityBoundingSet; do
    grep -qx "$wanted=CAP_NET_ADMIN CAP_NET_RAW" tressed.service || bad "$wanted"
done

root=$work/root
mkdir -p "$root/etc"
printf 'root:x:0:0:root:/root:/bin/sh\n' >"$root/etc/passwd"
printf 'root:x:0:\n' >"$root/etc/group"
systemd-sysusers --root="$root" - <sysusers.conf >"$work/said" 2>&1 || bad "systemd-sysusers"
grep -q '^tresse:.*:/var/lib/tresse:/usr/sbin/nologin$' "$root/etc/passwd" ||
    bad "systemd-sysusers made no user tresse: $(cat "$work/said")"
grep -q '^tresse:' "$root/etc/group" || bad "systemd-sysusers made no group tresse"

if [ "$(id -u)" = 0 ]; then
    systemd-tmpfiles --root="$root" --create "$PWD/tmpfiles.conf" >"$work/said" 2>&1 ||
        bad "systemd-tmpfiles: $(cat "$work/said")"
    ids=$(sed -n 's/^tresse:x:\([0-9]*\):\([0-9]*\):.*/\1:\2/p' "$root/etc/passwd")
    while read -r path want; do
        got=$(stat -c '%a %u:%g' "$root$path" 2>/dev/null || echo absent)
        [ "$got" = "$want" ] || bad "systemd-tmpfiles: $path is $got, not $want"
    done <<LIST
/etc/tresse 755 0:0
/run/tresse 755 $ids
/var/lib/tresse 750 $ids
LIST
else
    echo "systemd-tmpfiles not tried: it makes directories of other users, which needs root" >&2
fi

if command -v udevadm >/dev/null && udevadm verify --help >/dev/null 2>&1; then
    udevadm verify "$PWD/udev.rules" >"$work/said" 2>&1 || bad "udevadm verify: $(cat "$work/said")"
fi

# Installed and uninstalled below a directory that is not there yet, twice over; stand-ins for the
# binaries.
mkdir "$work/target"
for binary in tresse tressed; do
    printf '#!/bin/sh\n[ "$1" != man ] || echo . >"$2/tresse.1"\n' >"$work/target/$binary"
    chmod +x "$work/target/$binary"
done
install -m 0755 /dev/null "$work/target/libtresse_mpi.so"
run() {
    TARGET=$work/target DESTDIR=$work/dest/tree PREFIX=/usr ./install.sh "$1" >"$work/said" 2>&1 ||
        bad "install.sh $1: $(cat "$work/said")"
}
run install
[ -f "$work/dest/tree/usr/share/man/man1/tresse.1" ] || bad "install.sh put no man page in place"
[ -f "$work/dest/tree/usr/lib/libtresse_mpi.so" ] || bad "install.sh put no library for MPI programs in place"
documents=$work/dest/tree/usr/share/doc/tresse
find "$documents" -name '*.md' >"$work/documents"
grep -q '/docs/index.md$' "$work/documents" || bad "install.sh put no documents in place"
while read -r file; do
    for link in $(sed -n 's/](\([^)#]*\)/\n<\1\n/gp' "$file" | sed -n 's/^<//p' | grep -v '://'); do
        [ -e "${file%/*}/$link" ] || bad "${file#"$documents/"} as installed: no $link"
    done
done <"$work/documents"
# An earlier version's file goes.
mkdir "$documents/old"
echo old >"$documents/old/old.md"
printf '%s\n' /usr/share/doc/tresse/old/old.md /usr/share/doc/tresse/old/ >>"$documents/installed"
run install
[ ! -e "$documents/old" ] || bad "install.sh keeps what an earlier one wrote"
run uninstall
left=$(find "$work/dest" -mindepth 1 2>/dev/null)
[ "$left" = "" ] || bad "uninstall leaves $left"
mkdir -p "$work/dest/tree/usr/lib/systemd/system" "$work/dest/tree/usr/share/man/man1"
run install
echo mine >"$work/dest/tree/usr/share/man/man8/mine.8"
run uninstall
left=$(cd "$work/dest/tree" && find . -type f -o -type d -empty | sort | tr '\n' ' ')
wanted="./usr/lib/systemd/system ./usr/share/man/man1 ./usr/share/man/man8/mine.8 "
[ "$left" = "$wanted" ] || bad "uninstall leaves $left, not $wanted"

[ "$failed" = 0 ] && echo "units: fine"
exit "$failed"

#!/bin/sh
# The unit under a real systemd: boots a copy of this host's root in a container without network,
# installs Tresse in it, and judges how tressed starts, answers, reloads, is killed, hangs and stops.
# The copy is an overlay in memory: nothing is written to the host.
#
#   systemd/boot.sh [TARGET]       TARGET: where tresse and tressed are, default target/debug
#
# Exit 0 all right; 1 something is wrong; 77 no container can be booted here.
set -eu
cd "$(dirname "$0")/.."
target=$(realpath "${1:-target/debug}")

skip() {
    echo "unit under systemd: not run here: $*" >&2
    exit 77
}
[ "$(id -u)" = 0 ] || skip "needs root"
command -v systemd-nspawn >/dev/null || skip "apt-get install systemd-container"

work=$(mktemp -d)
end() {
    umount "$work/memory/root" 2>/dev/null || true
    umount "$work/memory" 2>/dev/null || true
    rmdir "$work/memory" "$work" 2>/dev/null || true
}
trap end EXIT INT TERM
mkdir "$work/memory"
mount -t tmpfs tmpfs "$work/memory" || skip "no tmpfs"
mkdir "$work/memory/upper" "$work/memory/work" "$work/memory/root"
root=$work/memory/root
mount -t overlay overlay "$root" \
    -o "lowerdir=/,upperdir=$work/memory/upper,workdir=$work/memory/work" || skip "no overlay"

TARGET=$target DESTDIR=$root PREFIX=/usr systemd/install.sh install >/dev/null
install -m 0755 systemd/trial.sh "$root/usr/lib/tresse-trial"
cat >"$root/etc/systemd/system/tresse-trial.service" <<'UNIT'
[Unit]
Requires=dbus.socket
After=dbus.socket systemd-sysusers.service systemd-tmpfiles-setup.service
[Service]
Type=oneshot
ExecStart=/usr/lib/tresse-trial
StandardOutput=file:/trial
StandardError=file:/trial
ExecStopPost=/usr/bin/systemctl --no-block --force poweroff
TimeoutStartSec=120
UNIT
timeout 180 systemd-nspawn --quiet --directory="$root" --machine=tresse-trial --private-network \
    --register=no --keep-unit --boot systemd.unit=tresse-trial.service \
    </dev/null >"$work/memory/console" 2>&1 || true
[ -s "$root/trial" ] || {
    tail -n 5 "$work/memory/console" >&2
    skip "the container did not boot"
}
cat "$root/trial"
grep -qx "unit under systemd: fine" "$root/trial"

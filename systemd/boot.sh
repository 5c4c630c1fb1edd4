#!/bin/sh
# Unit and package under a real systemd: boots a copy of this host's root in a container without network
# and judges there how tressed starts, answers, reloads, is killed, hangs and stops (trial.sh), or how the
# Debian package is installed, upgraded, removed and purged (deb-trial.sh). The copy is an overlay in memory:
# nothing is written to the host.
#
#   systemd/boot.sh [TARGET]                TARGET: where tresse and tressed are, default target/debug
#   systemd/boot.sh --package OLD.deb NEW.deb
#
# Exit 0 all right; 1 something is wrong; 77 no container can be booted here.
set -eu
cd "$(dirname "$0")/.."
trial=trial.sh what=unit arguments=
if [ "${1:-}" = --package ]; then
    trial=deb-trial.sh what=package arguments="/old.deb /new.deb"
fi

skip() {
    echo "$what under systemd: not run here: $*" >&2
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

# What a daemon of this host keeps is not the trial's; these are removed from the copy alone.
rm -rf "$root/var/lib/tresse" "$root/etc/tresse" "$root/run/tresse"
if [ "$what" = package ]; then
    cp "$2" "$root/old.deb"
    cp "$3" "$root/new.deb"
else
    TARGET=$(realpath "${1:-target/debug}") DESTDIR=$root PREFIX=/usr systemd/install.sh install >/dev/null
fi
install -m 0755 "systemd/$trial" "$root/usr/lib/tresse-trial"
install -m 0644 systemd/trial-words.sh "$root/usr/lib/tresse-trial-words"
cat >"$root/etc/systemd/system/tresse-trial.service" <<UNIT
[Unit]
Requires=dbus.socket
After=dbus.socket systemd-sysusers.service systemd-tmpfiles-setup.service
[Service]
Type=oneshot
ExecStart=/usr/lib/tresse-trial $arguments
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
grep -qx "$what under systemd: fine" "$root/trial"

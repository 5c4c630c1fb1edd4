#!/bin/sh
# Runs in the container of boot.sh, where systemd is process 1 and the network is its own. Without
# 802.1Q in the kernel the daemon must run all the same and say what it lacks.
set -eu
exec 2>&1

. /usr/lib/tresse-trial-words
property() { systemctl show --property="$1" --value tressed; }

answers() {
    [ "$(property ActiveState)" = active ] || return 1
    if [ "$vlans" = yes ]; then
        tresse status --json | jq -e '.node == "n0"' && ip link show eth0.2
    else
        tresse status --json | jq -e '.fault | contains("the kernel has no 802.1Q")'
    fi
}
waits() {
    [ "$(property ActiveState)" = active ] && tresse status --json | jq -e '.generation == null and .fault == null'
}
anew() { [ "$(property NRestarts)" = "$1" ] && [ "$(property ActiveState)" = active ]; }

ip link add eth0 address 02:00:00:00:00:01 type veth peer name sw0
ip link set sw0 up
ip link set eth0 up
vlans=no
if ip link add link eth0 name probe type vlan id 9 2>/dev/null; then
    ip link del probe
    vlans=yes
fi
# A hang is found sooner here.
mkdir -p /etc/systemd/system/tressed.service.d
printf '[Service]\nWatchdogSec=3s\nRestartSec=100ms\n' >/etc/systemd/system/tressed.service.d/trial.conf
systemctl daemon-reload

systemctl enable --now tressed || bad "does not start"
until_seen waits || bad "does not wait for a plan where there is no cluster file"
cat >/etc/tresse/cluster.toml <<'FILE'
[fabric]
name = "trial"
topology = { kind = "explicit" }
[routing]
strategy = "stp"
paths = 1
[addressing]
nodes = "10.77.0.0/24"
nics = "10.78.0.0/24"
[[switch]]
name = "s0"
ports = 2
[[node]]
name = "n0"
nics = [{ name = "eth0", mac = "02:00:00:00:00:01", switch = "s0", port = 1 }]
[[node]]
name = "n1"
nics = [{ name = "eth0", mac = "02:00:00:00:00:02", switch = "s0", port = 2 }]
FILE
systemctl reload tressed || bad "does not reload"
until_seen answers || bad "does not answer after it said that it is ready"
pid=$(property MainPID)
[ "$(stat -c %U "/proc/$pid")" = tresse ] || bad "does not run as tresse"
grep -q '^CapEff:\s*0000000000003000$' "/proc/$pid/status" || bad "has other capabilities"
[ "$(stat -c '%a %U' /var/lib/tresse)" = "750 tresse" ] || bad "state directory"
systemctl reload tressed || bad "does not reload"
until_seen answers || bad "does not answer after a reload"
kill -KILL "$pid"
until_seen anew 1 || bad "is not started again after SIGKILL"
until_seen answers || bad "does not answer after SIGKILL"
kill -STOP "$(property MainPID)"
until_seen anew 2 || bad "is not started again by the watchdog"
until_seen answers || bad "does not answer after the watchdog"
systemctl stop tressed || bad "does not stop"
[ "$(property Result)" = success ] || bad "stops with $(property Result)"
echo "unit under systemd: fine"

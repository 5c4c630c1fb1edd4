#!/bin/sh
# Runs in the container of boot.sh: the package is installed, upgraded, removed and purged by dpkg while a
# fabric without VLANs is up. What the kernel holds is looked at by `ip`, and what it is told by `ip monitor`.
#
#   deb-trial.sh OLD.deb NEW.deb
set -eu
exec 2>&1

. /usr/lib/tresse-trial-words
waits() { tresse status --json | jq -e '.generation == null and .fault == null'; }
in_sync() { tresse status --json | jq -e '.in_sync and .fault == null and .node == "n0"'; }
# Everything in the kernel that a network is made of, without what counts time.
network() {
    ip -o link | sed 's/qlen .*//'
    ip -o address | sed 's/valid_lft.*//'
    ip route show table all
    ip -6 route show table all | sed 's/expires [0-9a-z]*//'
    ip rule
    ip nexthop
    ip neigh show nud permanent
    sysctl -a 2>/dev/null | grep -E '^net\.(ipv4|ipv6|mpls)\.' | grep -vE 'stable_secret|tcp_mem|udp_mem|fib_notify'
}
# The kernel has found its IPv6 addresses to be unique, which takes a second or more after a cable is there.
settled() {
    for nic in p0 p1 q0 q1; do
        ip -6 address show dev "$nic" scope link | grep -q inet6 || return 1
    done
    [ -z "$(ip -6 address show tentative)" ]
}
old=$1 new=$2
# Images of containers forbid packages to start services.
rm -f /usr/sbin/policy-rc.d
for port in 0 1; do
    ip link add "p$port" address "02:00:00:00:00:0$port" type veth peer name "q$port"
    ip link set "q$port" up
    ip link set "p$port" up
done
until_seen settled || bad "the cables have no IPv6 addresses"
network >/found

dpkg -i "$old" || bad "dpkg -i"
[ "$(systemctl is-active tressed)" = inactive ] || bad "the package starts the daemon"
[ "$(systemctl is-enabled tressed)" = disabled ] || bad "the package enables the daemon"
network >/installed
diff /found /installed || bad "the package changes the network"
[ "$(dpkg -S /usr/bin/tressed)" = "tresse: /usr/bin/tressed" ] || bad "dpkg does not know it"
dpkg -L tresse | grep -qx /usr/lib/libtresse_mpi.so || bad "the package has no library for MPI programs"
dpkg -L tresse | grep -qx /usr/share/doc/tresse/docs/index.md || bad "the package has no documents"
man -w tressed >/dev/null 2>&1 || [ ! -x /usr/bin/man ] || bad "no manual page"

# As the README says: the daemon first, which waits; then the plan, which stays.
systemctl enable --now tressed || bad "does not start"
until_seen waits || bad "does not wait for a plan"
network >/waiting
diff /found /waiting || bad "the daemon changes the network before it has a plan"
cat >/tmp/cluster.toml <<'FILE'
[fabric]
name = "trial"
topology = { kind = "ring", nodes = 3 }
[[node]]
name = "n0"
nics = [{ name = "p0", mac = "02:00:00:00:00:00" }, { name = "p1", mac = "02:00:00:00:00:01" }]
FILE
tresse apply /tmp/cluster.toml || [ $? = 5 ] || bad "tresse apply"
until_seen in_sync || bad "is not in sync"
systemctl restart tressed || bad "does not start again"
until_seen in_sync || bad "has lost its plan"
tresse wait --peers 0 --timeout 20 || bad "tresse wait"
tresse paths | grep -q '^n0 -> n1' || bad "tresse paths does not know the plan in force"
mkdir -p /etc/systemd/system/tresse-wait-online.service.d
printf '[Service]\nExecStart=\nExecStart=/usr/bin/tresse wait --timeout 2\n' \
    >/etc/systemd/system/tresse-wait-online.service.d/trial.conf
systemctl daemon-reload
systemctl start tresse-wait-online && bad "nobody else is there, and it is waited for nobody"
[ "$(systemctl show --property=ConditionResult --value tresse-wait-online)" = yes ] || bad "nothing is waited for"
ip route | grep -qE 'proto (78|tresse)' || bad "no routes"
network >/before
pid=$(systemctl show --property=MainPID --value tressed)
ip monitor route neigh nexthop rule address link >/monitored &
monitor=$!
sleep 1
: >/monitored
dpkg -i "$new" || bad "dpkg -i of a newer version"
until_seen in_sync || bad "is not in sync after the upgrade"
sleep 2
kill "$monitor"
[ "$(systemctl show --property=MainPID --value tressed)" != "$pid" ] || bad "the old daemon still runs"
network >/after
diff /before /after || bad "the upgrade changes the network"
! grep -E 'proto (78|tresse)|p[01]' /monitored || bad "the upgrade touched the kernel"

dpkg -r tresse || bad "dpkg -r"
network >/removed
diff /found /removed || bad "removing leaves something"
[ -s /etc/tresse/tressed.toml ] || bad "removing takes the configuration"
dpkg -P tresse || bad "dpkg -P"
for path in /etc/tresse /var/lib/tresse /usr/share/doc/tresse /usr/lib/systemd/system/tressed.service; do
    [ ! -e "$path" ] || bad "purging leaves $path"
done
echo "package under systemd: fine"

"""Runs inside the namespace: daemons, cables, scripts, probes. Input and verdict are JSON and words.

A frame is counted where it arrives: on the far end of each cable, incoming copies only.
"""
import json, os, select, socket, subprocess, sys, time

ETH_P_ALL = 0x0003
PACKET_OUTGOING = 4
spec = json.load(sys.stdin)
here = os.getcwd()
os.environ.update(OVS_RUNDIR=here, OVS_LOGDIR=here, OVS_DBDIR=here)
socket_path = f"{here}/db.sock"


def run(*words, **more):
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more)
    if done.returncode:
        sys.exit(f"{' '.join(words)}: {done.returncode}\n{done.stdout}")
    return done.stdout


def wait_for(what, test, seconds=20):
    deadline = time.monotonic() + seconds
    while not test():
        if time.monotonic() > deadline:
            sys.exit(f"{what} did not happen within {seconds} s")
        time.sleep(0.02)


def listen(name):
    s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
    s.bind((name, ETH_P_ALL))
    s.setblocking(False)
    return s


def take(sockets, seen):
    for name, s in sockets.items():
        while True:
            try:
                data, address = s.recvfrom(2048)
            except BlockingIOError:
                break
            if address[2] != PACKET_OUTGOING and data[-40:] == b"\x5a" * 40:
                seen[name] = seen.get(name, 0) + 1


daemons = []
try:
    run("ip", "link", "set", "lo", "up")
    run("sysctl", "-qw", "net.ipv6.conf.default.disable_ipv6=1")
    run("ovsdb-tool", "create", f"{here}/conf.db", "/usr/share/openvswitch/vswitch.ovsschema")
    log = open(f"{here}/daemons.log", "w")
    daemons.append(subprocess.Popen(
        ["ovsdb-server", f"{here}/conf.db", f"--remote=punix:{socket_path}", f"--pidfile={here}/ovsdb-server.pid"],
        stdout=log, stderr=log))
    wait_for("ovsdb-server's socket", lambda: os.path.exists(socket_path))
    run("ovs-vsctl", "--no-wait", "init")
    daemons.append(subprocess.Popen(
        ["ovs-vswitchd", f"unix:{socket_path}", f"--pidfile={here}/ovs-vswitchd.pid"],
        stdout=log, stderr=log))
    wait_for("ovs-vswitchd", lambda: os.path.exists(f"{here}/ovs-vswitchd.pid"))
    interfaces = []
    for a, b in spec["cables"]:
        run("ip", "link", "add", a, "type", "veth", "peer", "name", b)
        run("ip", "link", "set", a, "up")
        run("ip", "link", "set", b, "up")
        interfaces += [a, b]
    # Twice: running a script again changes nothing.
    for _ in range(2):
        for k, script in enumerate(spec["scripts"]):
            environment = dict(os.environ, bridge=f"br{k}", port=f"s{k}p", datapath="netdev")
            run("sh", script, env=environment)
    sockets = {name: listen(name) for name in interfaces}
    faults = []
    for number, probe in enumerate(spec["probes"]):
        seen = {}
        take(sockets, {})
        sockets[probe["from"]].send(bytes.fromhex(probe["frame"]))
        deadline = time.monotonic() + 3
        while seen != probe["want"] and time.monotonic() < deadline:
            select.select(list(sockets.values()), [], [], 0.2)
            take(sockets, seen)
        settle = time.monotonic() + 0.05
        while (left := settle - time.monotonic()) > 0:
            select.select(list(sockets.values()), [], [], left)
            take(sockets, seen)
        if seen != probe["want"]:
            more = {k: v for k, v in seen.items() if probe["want"].get(k) != v}
            less = {k: v for k, v in probe["want"].items() if seen.get(k) != v}
            faults.append(f"probe {number} from {probe['from']}: not wanted {more}, not seen {less}")
    print(f"{len(spec['probes'])} probes, {len(faults)} faults")
    if faults:
        sys.exit("\n".join(faults[:10]))
finally:
    for daemon in reversed(daemons):
        daemon.terminate()
        daemon.wait()

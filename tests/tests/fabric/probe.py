"""Numbered broadcast frames from any station on any VLAN, counted where they arrive.

Standard input: one line of JSON with the stations, then one line per round. VLAN 0 is untagged.
Standard output: one line per round, [[sender, vlan, receiver, copies], ...]; a station that gets its
own frame back is among the receivers. A round listens for its seconds, and on while frames still
arrive, as they do late on a slow machine, up to ten times as long. A frame of an earlier round that comes once, later
still, is late; one that comes again circles, and has the sender -1.
"""
import ctypes, json, os, select, socket, struct, sys, time

CLONE_NEWNET, ETH_P_ALL, PACKET_OUTGOING = 0x40000000, 3, 4
GROUP, ETHERTYPE = bytes.fromhex("035400000002"), b"\x88\xb6"
libc = ctypes.CDLL(None, use_errno=True)


def open_station(netns, interface):
    with open(f"/run/netns/{netns}") as f:
        if libc.setns(f.fileno(), CLONE_NEWNET):
            sys.exit(f"setns {netns}: {os.strerror(ctypes.get_errno())}")
    s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
    s.bind((interface, ETH_P_ALL))
    # Group frames for others than ourselves: PACKET_ADD_MEMBERSHIP, PACKET_MR_ALLMULTI.
    index = socket.if_nametoindex(interface)
    s.setsockopt(263, 1, struct.pack("iHH8s", index, 2, 0, b""))
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
    s.setblocking(False)
    return s


stations = json.loads(sys.stdin.readline())
sockets = [open_station(s["netns"], s["interface"]) for s in stations]
receiver = {s: k for k, s in enumerate(sockets)}
print("ready", flush=True)
number, ever = 0, {}
for line in sys.stdin:
    spec = json.loads(line)
    sent, copies = {}, {}
    for k, vlan in spec["send"]:
        number += 1
        sent[number] = (k, vlan)
        tag = b"\x81\x00" + vlan.to_bytes(2, "big") if vlan else b""
        mac = bytes.fromhex(stations[k]["mac"].replace(":", ""))
        sockets[k].send(GROUP + mac + tag + ETHERTYPE + b"PROB" + number.to_bytes(4, "big") + bytes(40))
    begun = time.monotonic()
    end = begun + spec["seconds"]
    while (left := end - time.monotonic()) > 0:
        for s in select.select(sockets, [], [], left)[0]:
            try:
                frame, (_, _, kind, _, _) = s.recvfrom(128)
            except BlockingIOError:
                continue
            at = 16 if frame[12:14] == b"\x81\x00" else 12
            if kind == PACKET_OUTGOING or frame[at:at + 6] != ETHERTYPE + b"PROB":
                continue
            key = (int.from_bytes(frame[at + 6:at + 10], "big"), receiver[s])
            copies[key] = copies.get(key, 0) + 1
            ever[key] = ever.get(key, 0) + 1
            late = time.monotonic() + spec["seconds"]
            end = max(end, min(late, begun + 10 * spec["seconds"]))
    judged = [(key, c) for key, c in sorted(copies.items()) if key[0] in sent or ever[key] > 1]
    answer = [[*sent.get(n, (-1, -1)), to, c] for (n, to), c in judged]
    print(json.dumps(answer), flush=True)

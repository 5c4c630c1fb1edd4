#!/usr/bin/env python3
"""Judges plans of switch fabrics by other means than the planner's: builds fabrics of well-known families as explicit
cluster files, has them planned, and from the plan's JSON alone recomputes VLAN trees, loads, legality and cycles. Solves
the linear program over all paths that the strategy allows (with the root that the plan names) by scipy's HiGHS, and packs
the same routes by iterated first fit. Shares no code with the planner.

    tests/judge.py [--tresse PROGRAM] [--zoo FILE.json] [--only WORD] [--strategies minimal,updown,transit] [--paths N]
    tests/judge.py --roots [--tresse PROGRAM]

--roots: plans random fabrics of 64 switches from each of their switches as root, and from the one that the planner chooses.
--zoo: {name: {"switches": N or [names], "cables": [[a, b], ...]}}; of graphs of more than 64 switches only `minimal` is judged,
without the linear program and first fit. Fails where a plan is wrong or lies above the limits.
"""

import argparse
import collections
import json
import math
import random
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import coo_matrix

RATES = {"1G": 1.0, "10G": 10.0}

# ---- limits ----

# Load over the linear program: Clos and fat trees, other families, `minimal` on graphs of the zoo at worst and in the median.
LEVELLED, FAMILY, ZOO, ZOO_MEDIAN = 1.15, 1.3, 1.25, 1.05
# VLANs over iterated first fit, rounded up to a whole VLAN.
VLANS = 1.15
# The time of the busiest link or transit node over that from the best of all roots.
ROOTS = 1.05
# Graphs of the zoo on which `minimal` may lie above an equal split at every switch.
ABOVE_SPLIT = 5
# Of more switches in graphs of the zoo the linear program takes too long.
LARGEST = 64


def broken(name, zoo, strategy, judge, load, bound, fit):
    """The limits that a plan of one fabric lies above. `bound` and `fit` are None where they were not computed."""
    levelled = name.startswith(("clos", "fat-tree"))
    most = LEVELLED if levelled else ZOO if zoo and strategy == "minimal" else FAMILY
    if judge.idle:
        yield f"VLANs {judge.idle} carry nothing"
    if bound and load > most * bound + 1e-6:
        yield f"load {load:.1f} is above {most} of {bound:.2f}"
    if fit and judge.vlans > math.ceil(VLANS * fit):
        yield f"{judge.vlans} VLANs are above {VLANS} of {fit}"


# ---- fabrics: (switches, [(a, b, rate)], nodes by switch) ----

def clos(spines, leaves, nodes, cables=1):
    links = [(l, leaves + s, "1G") for l in range(leaves) for s in range(spines) for _ in range(cables)]
    return leaves + spines, links, [nodes] * leaves + [0] * spines


def fat_tree(k):
    h, edges = k // 2, k * k // 2
    links = [(p * h + e, edges + p * h + a, "1G") for p in range(k) for e in range(h) for a in range(h)]
    links += [(edges + p * h + a, 2 * edges + a * h + c, "1G") for p in range(k) for a in range(h) for c in range(h)]
    return 2 * edges + h * h, links, [h] * edges + [0] * (edges + h * h)


def grid(dims, whole):
    """A HyperX: every line of every dimension a clique (whole), or a path."""
    n = int(np.prod(dims))
    links = []
    for s in range(n):
        step = 1
        for size in dims:
            x = s // step % size
            links += [(s, s + (y - x) * step, "1G") for y in range(x + 1, size if whole else min(x + 2, size))]
            step *= size
    return n, links, [1] * n


def regular(n, degree, seed):
    """A random regular graph by pairing, without parallel cables."""
    rng = random.Random(seed)
    while True:
        ends = [s for s in range(n) for _ in range(degree)]
        rng.shuffle(ends)
        links = {tuple(sorted(pair)) for pair in zip(ends[::2], ends[1::2]) if pair[0] != pair[1]}
        if len(links) >= n * degree // 2 - 2 and connected(n, links):
            return n, [(a, b, "1G") for a, b in sorted(links)], [1] * n


def connected(n, links):
    near = collections.defaultdict(list)
    for a, b in links:
        near[a].append(b)
        near[b].append(a)
    seen, todo = {0}, [0]
    while todo:
        fresh = [v for v in near[todo.pop()] if v not in seen]
        seen.update(fresh)
        todo += fresh
    return len(seen) == n


def dragonfly(groups, routers, ports):
    links = [(g * routers + a, g * routers + b, "1G") for g in range(groups) for a in range(routers) for b in range(a)]
    for g in range(groups):
        for d in range(1, groups):
            to = (g + d) % groups
            if g < to:
                links.append((g * routers + (d - 1) // ports, to * routers + (groups - d - 1) // ports, "1G"))
    return groups * routers, links, [1] * (groups * routers)


def slim_fly():
    """q = 5: Hoffman and Singleton's graph with generators {1, 4} and {2, 3}."""
    at = lambda half, x, y: half * 25 + x % 5 * 5 + y % 5
    links = {tuple(sorted((at(half, x, y), at(half, x, y + step))))
             for half, step in ((0, 1), (1, 2)) for x in range(5) for y in range(5)}
    links |= {(at(0, x, m * x + c), at(1, m, c)) for x in range(5) for m in range(5) for c in range(5)}
    return 50, [(a, b, "1G") for a, b in sorted(links)], [1] * 50


def families():
    some = random.Random(5)
    sparse = regular(48, 4, 3)
    yield "clos 2x2", clos(2, 2, 8)
    yield "clos 4x2", clos(4, 2, 16)
    yield "clos 4x8", clos(4, 8, 2)
    yield "clos 3x12", clos(3, 12, 3)
    yield "clos 2x3, two cables", clos(2, 3, 12, 2)
    for k in (4, 6, 8):
        yield f"fat-tree {k}", fat_tree(k)
    yield "three cables", (2, [(0, 1, "1G")] * 3, [4, 4])
    yield "1G beside 10G", (2, [(0, 1, "1G"), (0, 1, "10G")], [9, 9])
    yield "three ways of three rates", (5, [(0, 1, "1G"), (1, 4, "1G"), (0, 2, "10G"), (2, 4, "10G"), (0, 3, "1G"),
                                            (3, 4, "10G")], [6, 0, 0, 0, 6])
    yield "clique 12", grid([12], True)
    yield "clique 24", grid([24], True)
    yield "sparse clique 12", (12, grid([12], True)[1], [1, 1, 0, 0, 0, 1, 0, 1, 0, 0, 1, 0])
    yield "wheel 16", (16, [(0, s, "1G") for s in range(1, 16)] + [(s, s % 15 + 1, "1G") for s in range(1, 16)], [1] * 16)
    yield "hypercube 5", grid([2] * 5, True)
    yield "hypercube 6", grid([2] * 6, True)
    yield "mesh 4x4", grid([4, 4], False)
    yield "mesh 8x8", grid([8, 8], False)
    yield "hyperx 4x4x4", grid([4, 4, 4], True)
    yield "dragonfly 9x4", dragonfly(9, 4, 2)
    yield "slim-fly 5", slim_fly()
    yield "random 32x4", regular(32, 4, 1)
    yield "jellyfish 64x6", regular(64, 6, 2)
    yield "random 48x4, a third with nodes", (sparse[0], sparse[1], [int(some.random() < 1 / 3) for _ in range(48)])


def text(fabric, strategy, paths, root=None):
    n, links, nodes = fabric
    ports = [nodes[s] for s in range(n)]
    lines = []
    for a, b, rate in links:
        ports[a] += 1
        ports[b] += 1
        lines += ["[[link]]", f'a = "s{a:03}:{ports[a]}"', f'b = "s{b:03}:{ports[b]}"', f'rate = "{rate}"']
    out = ["[fabric]", 'name = "judged"', 'topology = { kind = "explicit" }', "[routing]", f'strategy = "{strategy}"',
           f"paths = {paths}", *([] if root is None else [f'root = "s{root:03}"']), "[addressing]",
           'nodes = "10.0.0.0/12"', 'nics = "10.16.0.0/12"']
    for s in range(n):
        out += ["[[switch]]", f'name = "s{s:03}"', f"ports = {max(ports[s], 1)}"]
    for k, (s, port) in enumerate((s, port) for s in range(n) for port in range(1, nodes[s] + 1)):
        out += ["[[node]]", f'name = "n{k:04}"', f'nics = [{{ name = "eth0", switch = "s{s:03}", port = {port} }}]']
    return "\n".join(out + lines) + "\n"


# ---- what the plan does ----

class Judge:
    def __init__(self, tresse, fabric, strategy, paths, root=None):
        self.n, self.links, self.nodes = fabric
        self.strategy = strategy
        self.out = [[] for _ in range(self.n)]
        self.ends, self.rate = [], []
        for a, b, rate in self.links:
            for u, v in ((a, b), (b, a)):
                self.out[u].append(len(self.ends))
                self.ends.append((u, v))
                self.rate.append(RATES[rate])
        with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
            file.write(text(fabric, strategy, paths, root))
            file.flush()
            began = time.monotonic()
            self.report = json.loads(self.run(tresse, "check", file.name, codes=(0, 1)))
            self.seconds = time.monotonic() - began
            self.plan = json.loads(self.run(tresse, "plan", file.name))
            self.paths = [json.loads(line) for line in self.run(tresse, "paths", file.name).splitlines()]
        self.root = int(self.plan["root"][1:]) if "root" in self.plan else None
        self.up = self.orient()

    def run(self, tresse, verb, file, codes=(0,)):
        done = subprocess.run([tresse, verb, file, "--json"], capture_output=True, text=True)
        if done.returncode not in codes:
            raise SystemExit(f"{verb}: exit {done.returncode}: {done.stderr}")
        return done.stdout

    def orient(self):
        """By directed link: does it go up? From farther to nearer to the root, then from higher to lower index."""
        if self.root is None:
            return [True] * len(self.ends)
        far = self.hops(self.root)
        return [(far[v], v) < (far[u], u) for u, v in self.ends]

    def hops(self, start):
        far, todo = {start: 0}, [start]
        for u in todo:
            for c in self.out[u]:
                v = self.ends[c][1]
                if v not in far:
                    far[v] = far[u] + 1
                    todo.append(v)
        return [far[s] for s in range(self.n)]

    def trees(self):
        """By VID: (u, v) to the directed link. Each VLAN has to be a spanning tree."""
        ports, at = [0] * self.n, {}
        ports = list(self.nodes)
        for k, (a, b, _) in enumerate(self.links):
            ports[a] += 1
            ports[b] += 1
            at[k] = ((a, ports[a]), (b, ports[b]))
        has = {(int(s["name"][1:]), port, int(vid)) for s in self.plan["switches"]
               for vid, some in s["vlans"].items() for port in some}
        trees = {}
        for vlan in self.plan["vlans"]:
            vid, parts, tree = vlan["id"], list(range(self.n)), {}

            def top(s):
                while parts[s] != s:
                    parts[s] = parts[parts[s]]
                    s = parts[s]
                return s

            for k, ((a, pa), (b, pb)) in at.items():
                if (a, pa, vid) in has and (b, pb, vid) in has:
                    assert top(a) != top(b), f"VLAN {vid} has a loop"
                    parts[top(a)] = top(b)
                    tree[a, b], tree[b, a] = 2 * k, 2 * k + 1
            assert len(tree) == 2 * (self.n - 1), f"VLAN {vid} does not span"
            trees[vid] = tree
        return trees

    def judge(self):
        trees = self.trees()
        self.load = [0] * len(self.ends)
        transit = collections.Counter()
        after, routes = set(), collections.Counter()
        shortest = [self.hops(s) for s in range(self.n)]
        used, covered = set(), set()
        homes = [s for s in range(self.n) for _ in range(self.nodes[s])]
        for path in self.paths:
            links, segments = [], []
            for segment in path["segments"]:
                names = [int(s[1:]) for s in segment["switches"]]
                part = [trees[segment["vlan"]][pair] for pair in zip(names, names[1:])]
                if self.root is not None:
                    turns = [a for a, b in zip(part, part[1:]) if not self.up[a] and self.up[b]]
                    assert not turns, f"{path['src']} {path['dst']}: up after down"
                after.update(zip(part, part[1:]))
                segments.append(tuple(part))
                links += part
                if segment["vlan"] is not None:
                    used.add(segment["vlan"])
            ends = homes[int(path["src"][1:])], homes[int(path["dst"][1:])]
            if path["rank"] == 0:
                for c in links:
                    self.load[c] += 1
                for segment in path["segments"][1:]:
                    transit[segment["from"]] += 1
                for part in segments:
                    if part:
                        routes[part] += 1
                if self.strategy == "minimal":
                    assert len(links) == shortest[ends[0]][ends[1]], f"{path['src']} {path['dst']}: not minimal"
                primary = {c // 2 for c in links}
            elif not primary & {c // 2 for c in links}:
                covered.add((path["src"], path["dst"]))
        if self.root is not None:
            self.acyclic(after)
        assert max(self.load, default=0) == self.report["max_link_load"], "another load than the report says"
        self.idle = [vid for vid in trees if vid not in used]
        self.vlans = len({p["segments"][k]["vlan"] for p in self.paths if p["rank"] == 0
                          for k in range(len(p["segments"])) if len(p["segments"][k]["switches"]) > 1} - {None})
        total = sum(self.nodes)
        pairs = sum(1 for p in self.paths if p["rank"] == 0
                    and homes[int(p["src"][1:])] != homes[int(p["dst"][1:])])
        self.unprotected = pairs - len(covered)
        self.routes = list(routes)
        own = total - 1
        times = [load / rate for load, rate in zip(self.load, self.rate)]
        if self.strategy == "transit":
            times += [own + count for count in transit.values()]
            times.append(own)
        return max(times, default=0)

    def acyclic(self, after):
        todo, into = collections.defaultdict(list), collections.Counter()
        for a, b in after:
            todo[a].append(b)
            into[b] += 1
        free = [a for a in todo if not into[a]]
        left = len(after)
        while free:
            for b in todo.pop(free.pop(), []):
                left -= 1
                into[b] -= 1
                if not into[b]:
                    free.append(b)
        assert left == 0, "channel dependencies have a cycle"

    # ---- the linear program ----

    def bound(self):
        """The least time of the busiest link, over all paths that the strategy allows, split at will."""
        rows, cols, vals, rhs = [], [], [], []
        cap_rows, cap_cols, cap_vals = [], [], []
        variables = 1
        transit = self.strategy == "transit"
        links = len(self.ends)
        for s in (s for s in range(self.n) if self.nodes[s]):
            # States: switch v still going up is (v, 0), going down (v, 1).
            far, todo, steps = {(s, 0): 0}, [(s, 0)], collections.defaultdict(list)
            for state in todo:
                v, phase = state
                for c in self.out[v]:
                    turn = phase == 1 and self.up[c]
                    if turn and not (transit and self.nodes[v]):
                        continue
                    to = (self.ends[c][1], 0 if self.up[c] else 1)
                    if to not in far:
                        far[to] = far[state] + 1
                        todo.append(to)
                    if far[to] == far[state] + 1:
                        steps[to].append((state, c, turn))
            balance = collections.defaultdict(list)
            for to, some in steps.items():
                for state, c, turn in some:
                    balance[to].append((variables, 1))
                    balance[state].append((variables, -1))
                    cap_rows.append(c)
                    cap_cols.append(variables)
                    cap_vals.append(1 / self.rate[c])
                    if turn:
                        cap_rows.append(links + state[0])
                        cap_cols.append(variables)
                        cap_vals.append(1 / self.nodes[state[0]])
                    variables += 1
            ends = collections.defaultdict(list)
            for d in range(self.n):
                if d == s or not self.nodes[d]:
                    continue
                least = min(far.get((d, phase), 1 << 30) for phase in (0, 1))
                for phase in (0, 1):
                    if far.get((d, phase)) == least:
                        balance[d, phase].append((variables, -1))
                        ends[d].append(variables)
                        variables += 1
            for state, terms in balance.items():
                if state == (s, 0):
                    continue
                for variable, value in terms:
                    rows.append(len(rhs))
                    cols.append(variable)
                    vals.append(value)
                rhs.append(0)
            for d, some in ends.items():
                for variable in some:
                    rows.append(len(rhs))
                    cols.append(variable)
                    vals.append(1)
                rhs.append(self.nodes[s] * self.nodes[d])
        own = sum(self.nodes) - 1
        limit = np.zeros(links + self.n)
        for r in range(links + self.n):
            if r < links or transit and self.nodes[r - links]:
                cap_rows.append(r)
                cap_cols.append(0)
                cap_vals.append(-1)
        if transit:
            limit[links:] = [-own if nodes else 0 for nodes in self.nodes]
        cost = np.zeros(variables)
        cost[0] = 1
        done = linprog(cost, A_ub=coo_matrix((cap_vals, (cap_rows, cap_cols)), (links + self.n, variables)).tocsr(),
                       b_ub=limit, A_eq=coo_matrix((vals, (rows, cols)), (len(rhs), variables)).tocsr(), b_eq=rhs,
                       method="highs")
        assert done.status == 0, done.message
        return done.fun

    def equal_split(self):
        """The time of the busiest link where every switch splits evenly over its shortest ways (ECMP)."""
        loads = [0.0] * len(self.ends)
        for d in (d for d in range(self.n) if self.nodes[d]):
            far = self.hops(d)
            flow = [self.nodes[s] * self.nodes[d] if s != d else 0.0 for s in range(self.n)]
            for u in sorted(range(self.n), key=lambda u: -far[u]):
                near = [c for c in self.out[u] if far[self.ends[c][1]] == far[u] - 1]
                for c in near:
                    loads[c] += flow[u] / len(near)
                    flow[self.ends[c][1]] += flow[u] / len(near)
        return max((load / rate for load, rate in zip(loads, self.rate)), default=0)

    # ---- packing the same routes ----

    def first_fit(self, passes=12):
        """The fewest trees of iterated first fit on the same routes."""
        rng = random.Random(1)
        order = sorted(self.routes, key=lambda route: -len(route))
        best = None
        for _ in range(passes):
            trees = []
            for route in order:
                for tree in trees:
                    if tree.take(route):
                        break
                else:
                    trees.append(Tree(self))
                    trees[-1].take(route)
            best = min(best or len(trees), len(trees))
            rng.shuffle(trees)
            order = [route for tree in trees for route in tree.routes]
        return best


class Tree:
    """A tree that is being filled: a forest, or for legal routes at most one link up of each switch."""

    def __init__(self, judge):
        self.judge, self.routes, self.cables = judge, [], set()
        self.up = {}
        self.parts = list(range(judge.n))

    def top(self, parts, s):
        while parts[s] != s:
            s = parts[s]
        return s

    def take(self, route):
        fits = self.legal(route) if self.judge.root is not None else self.forest(route)
        if fits:
            self.routes.append(route)
        return fits

    def legal(self, route):
        climbs = [c if self.judge.up[c] else c ^ 1 for c in route]
        if any(self.up.get(self.judge.ends[c][0], c) != c for c in climbs):
            return False
        self.up.update((self.judge.ends[c][0], c) for c in climbs)
        return True

    def forest(self, route):
        fresh = [c for c in route if c // 2 not in self.cables]
        joined = []
        for c in fresh:
            a, b = (self.top(self.parts, s) for s in self.judge.ends[c])
            if a == b:
                for back in reversed(joined):
                    self.parts[back] = back
                return False
            self.parts[a] = b
            joined.append(a)
        self.cables.update(c // 2 for c in fresh)
        return True


def judge_roots(tresse):
    """How often the root of choice is farther from the best than it may be."""
    bad = 0
    for seed in (1, 2):
        fabric = regular(64, 4, seed)
        for strategy in ("updown", "transit"):
            times = [Judge(tresse, fabric, strategy, 1, root).judge() for root in (None, *range(fabric[0]))]
            chosen, best = times[0], min(times[1:])
            print(f"random 64x4, seed {seed} {strategy:8} {chosen:8.1f}, from the best of all roots {best:8.1f} "
                  f"{chosen / best:6.3f}", flush=True)
            if chosen > ROOTS * best + 1e-6:
                print(f"random 64x4, seed {seed} {strategy} ABOVE A LIMIT: {ROOTS} of the best root's")
                bad += 1
    return bad


def main():
    args = argparse.ArgumentParser()
    args.add_argument("--tresse", default="target/release/tresse")
    args.add_argument("--zoo")
    args.add_argument("--only", default="")
    args.add_argument("--strategies", default="minimal,updown,transit")
    args.add_argument("--paths", type=int, default=2)
    args.add_argument("--roots", action="store_true")
    args = args.parse_args()
    if args.roots:
        bad = judge_roots(args.tresse)
        sys.exit(f"{bad} roots are above a limit" if bad else 0)
    fabrics = list(families())
    if args.zoo:
        fabrics = []
        with open(args.zoo) as file:
            for name, graph in json.load(file).items():
                names = graph["switches"]
                index = {s: i for i, s in enumerate(names)} if isinstance(names, list) else None
                n = len(names) if index else names
                links = [(index[a], index[b], "1G") if index else (a, b, "1G") for a, b in graph["cables"]]
                links = [link for link in links if link[0] != link[1]]
                if n > 1 and connected(n, [link[:2] for link in links]):
                    fabrics.append((name, (n, links, [1] * n)))
    print(f"{'fabric':32} {'strategy':8} {'load':>8} {'LP':>9} {'ratio':>6} {'ECMP':>8} {'VLANs':>6} {'fit':>4} {'idle':>4} "
          f"{'alone':>6} {'check':>7}")
    ratios, fits, bad = collections.defaultdict(list), collections.defaultdict(list), 0
    above, judged = collections.Counter(), collections.Counter()
    for name, fabric in fabrics:
        if args.only not in name:
            continue
        large, loads = bool(args.zoo) and fabric[0] > LARGEST, {}
        for strategy in args.strategies.split(","):
            if large and strategy != "minimal":
                continue
            try:
                judge = Judge(args.tresse, fabric, strategy, args.paths)
                load, bound = judge.judge(), None if large else judge.bound()
            except AssertionError as wrong:
                print(f"{name:32} {strategy:8} WRONG: {wrong}")
                bad += 1
                continue
            fit = None if large else judge.first_fit()
            split = judge.equal_split()
            loads[strategy] = load
            judged[strategy] += 1
            above[strategy] += load > split + 1e-6
            if not large:
                ratios[strategy].append(load / bound if bound else 1)
                fits[strategy].append(judge.vlans / max(fit, 1))
            of_bound = f"{'-':>9} {'-':>6}" if large else f"{bound:9.2f} {ratios[strategy][-1]:6.2f}"
            print(f"{name:32} {strategy:8} {load:8.1f} {of_bound} {split:8.1f} {judge.vlans:6} {'-' if large else fit:>4} "
                  f"{len(judge.idle):4} {judge.unprotected:6} {judge.seconds:6.2f}s", flush=True)
            for limit in broken(name, args.zoo, strategy, judge, load, bound, fit):
                print(f"{name:32} {strategy:8} ABOVE A LIMIT: {limit}", flush=True)
                bad += 1
        if {"minimal", "transit"} <= loads.keys() and loads["minimal"] > loads["transit"] + 1e-6:
            print(f"{name:32} minimal  ABOVE A LIMIT: load {loads['minimal']:.1f} is above transit's {loads['transit']:.1f}")
            bad += 1
    for strategy, some in ratios.items():
        print(f"{strategy}: load over the linear program: median {statistics.median(some):.3f}, worst {max(some):.3f}; "
              f"VLANs over iterated first fit: median {statistics.median(fits[strategy]):.3f}, "
              f"worst {max(fits[strategy]):.3f}; above equal split on {above[strategy]} of {judged[strategy]} fabrics")
    if args.zoo and ratios["minimal"]:
        median = statistics.median(ratios["minimal"])
        if median > ZOO_MEDIAN or above["minimal"] > ABOVE_SPLIT:
            print(f"minimal ABOVE A LIMIT: median {median:.3f} (limit {ZOO_MEDIAN}), above equal split on {above['minimal']} "
                  f"fabrics (limit {ABOVE_SPLIT})")
            bad += 1
    if bad:
        sys.exit(f"{bad} times a plan is wrong or above a limit")


if __name__ == "__main__":
    main()

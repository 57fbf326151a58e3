#!/usr/bin/env python3
"""Synthetic results in the format of result.json, for viewing and testing the report page.

    tests/web/make_sample.py FOLDER    training.json, training_tcp.json, incast.json, fat_tree.json

training: 64 NICs, leaf-spine; training_tcp: the same job, slower; incast: 64 flows to one;
fat_tree: 1 024 NICs, flows of many sizes, a cable that fails.
"""
import json
import math
import pathlib
import random
import sys

US, MS = 10**6, 10**9  # picoseconds
GBPS = 10**9


class Network:
    """Nodes by name, and two links per cable."""

    def __init__(self):
        self.nodes, self.links, self.number = [], [], {}

    def node(self, name, tier):
        self.number[name] = len(self.nodes)
        self.nodes.append({"name": name, "tier": tier, "is_switch": tier > 0})

    def cable(self, low, high, rate):
        for a, b in ((low, high), (high, low)):
            self.links.append({"from": self.number[a], "to": self.number[b], "rate_bps": rate})

    def load(self, chance, duration, busy, hot=()):
        """Each link is busy for about `busy` of the time; queues grow at the nodes in `hot`."""
        for link in self.links:
            names = self.nodes[link["from"]]["name"], self.nodes[link["to"]]["name"]
            is_hot = any(name in hot for name in names) and self.nodes[link["from"]]["is_switch"]
            used = min(0.995, max(0.0, chance.gauss(busy, busy / 6) * (1.5 if is_hot else 1)))
            link["bytes"] = int(used * link["rate_bps"] / 8 * duration / 10**12)
            link["utilisation"] = round(used, 6)
            link["most_queued"] = int(chance.expovariate(1 / (2_000_000 if is_hot else 120_000)))
            link["marked"] = link["most_queued"] // 9000 if link["most_queued"] > 400_000 else 0
            link["dropped"] = link["lost"] = 0
            link["pauses"] = chance.randrange(40) if link["most_queued"] > 1_500_000 else 0
            link["paused_ps"] = link["pauses"] * 7 * US


def leaf_spine(leaves, spines, per_leaf, rate):
    network = Network()
    for i in range(leaves * per_leaf):
        network.node(f"nic{i}", 0)
    for i in range(leaves):
        network.node(f"leaf{i}", 1)
    for i in range(spines):
        network.node(f"spine{i}", 2)
    for i in range(leaves * per_leaf):
        network.cable(f"nic{i}", f"leaf{i // per_leaf}", rate)
    for leaf in range(leaves):
        for spine in range(spines):
            network.cable(f"leaf{leaf}", f"spine{spine}", rate)
    return network


def fat_tree(k, rate):
    network, half = Network(), k // 2
    for i in range(k * half * half):
        network.node(f"nic{i}", 0)
    for i in range(k * half):
        network.node(f"edge{i}", 1)
    for i in range(k * half):
        network.node(f"agg{i}", 2)
    for i in range(half * half):
        network.node(f"core{i}", 3)
    for i in range(k * half * half):
        network.cable(f"nic{i}", f"edge{i // half}", rate)
    for pod in range(k):
        for i in range(half):
            for j in range(half):
                network.cable(f"edge{pod * half + i}", f"agg{pod * half + j}", rate)
                network.cable(f"agg{pod * half + i}", f"core{i * half + j}", rate)
    return network


def series(name, unit, values):
    return {"name": name, "unit": unit, "values": [round(value, 6) for value in values]}


def waves(chance, count, level, swing, period):
    """A level that rises and falls, like the traffic of training steps."""
    return [max(0.0, level * (0.55 + 0.45 * math.sin(2 * math.pi * i / period)) +
                chance.uniform(-swing, swing)) for i in range(count)]


def totals(network, packets, **more):
    found = {key: sum(link[key] for link in network.links) for key in ("marked", "dropped", "lost", "pauses")}
    return {"data_packets": packets, "data_bytes": packets * 4096, **found,
            "paused_ps": sum(link["paused_ps"] for link in network.links), "retransmitted": 0,
            "timeouts": 0, "congestion_notices": found["marked"] // 12, "failed_messages": 0, **more}


def result(scenario, description, network, simulated, jobs, **more):
    return {"nerve_result": 1, "hash": f"{abs(hash_of(scenario)):016x}", "scenario": scenario,
            "description": description, "version": "0.1.0", "seed": 1, "simulated_ps": simulated,
            "events": 11_804_512, "wall_seconds": 2.61, "memory_bytes": 181_000_000, "jobs": jobs,
            "nodes": network.nodes, "links": network.links, "remarks": [], **more}


def hash_of(text):
    value = 0xcbf29ce484222325
    for byte in text.encode():
        value = (value ^ byte) * 0x100000001b3 % 2**64
    return value


def training(name, description, slower, seed):
    chance = random.Random(seed)
    steps = [int(chance.gauss(41.2, 0.35) * slower * MS) for _ in range(12)]
    network = leaf_spine(8, 4, 8, 400 * GBPS)
    network.load(chance, sum(steps), 0.46 / slower, hot=("spine2",))
    compute = 33.1 * MS * len(steps)
    ranks = []
    for rank in range(64):
        slow = 1.06 if rank == 37 else 1.0
        mine = int(compute * slow * chance.uniform(0.995, 1.005))
        ranks.append({"compute": mine, "exposed": sum(steps) - mine})
    job = {"name": "training", "work": "7 B parameters, 64 GPUs: data 8 × tensor 8, 12 steps",
           "done": True, "trouble": "", "start_ps": 0, "end_ps": sum(steps), "steps_ps": steps,
           "bound_ps": int(36.4 * MS), "bound_is": "compute, and the last bucket's ring all-reduce at "
           "line rate", "bytes_moved": 2_140_000_000_000, "bus_bandwidth": 42.3e9 / slower,
           "ranks": ranks, "flows": []}
    count = 600
    sampled = [series(f"queue:leaf{i}>nic{i * 8 + 3}", "bytes",
                      [value * 1e6 for value in waves(chance, count, 0.3 + 0.2 * i, 0.1, 50)])
               for i in range(6)]
    for tiers, level in (("nic>leaf", 0.6), ("leaf>spine", 0.45), ("spine>leaf", 0.5),
                         ("leaf>nic", 0.58)):
        sampled.append(series(f"utilisation:{tiers}", "share",
                              [min(1, value / slower) for value in waves(chance, count, level, 0.05, 50)]))
    for tier, level in (("leaf", 0.9), ("spine", 0.4)):
        sampled.append(series(f"deepest:{tier}", "bytes",
                              [value * 1e6 for value in waves(chance, count, level, 0.1, 50)]))
    sampled.append(series("goodput", "Gb/s", waves(chance, count, 14_200 / slower, 900, 50)))
    sampled.append(series("drops", "1/s", [0] * count))
    return result(name, description, network, sum(steps), [job], totals=totals(network, 524_000_000),
                  sample_every_ps=sum(steps) // count, series=sampled,
                  remarks=["Rank 37 computes 1.06 times as long as the others, as the scenario asks."])


def flow(chance, sender, receiver, bytes, start, slowdown, rate):
    ideal = int(bytes * 8 * 1.02 / rate * 10**12) + 4 * US
    end = start + int(ideal * slowdown)
    return {"from": sender, "to": receiver, "bytes": bytes, "start_ps": start, "end_ps": end,
            "ideal_ps": ideal}


def incast():
    chance = random.Random(2)
    network = Network()
    for i in range(65):
        network.node(f"nic{i}", 0)
    network.node("switch0", 1)
    for i in range(65):
        network.cable(f"nic{i}", "switch0", 100 * GBPS)
    flows = [flow(chance, i, 0, 2_000_000, 0, chance.uniform(33, 87), 100 * GBPS) for i in range(1, 65)]
    end = max(one["end_ps"] for one in flows)
    network.load(chance, end, 0.012)
    to_receiver = network.links[1]
    to_receiver.update(utilisation=0.894, most_queued=29_433_000, marked=18_233, bytes=130_700_000)
    for i in range(1, 65):
        network.links[2 * i].update(pauses=4 + i % 3, paused_ps=(4 + i % 3) * 11 * US)
    count = 500
    queue = [29.4e6 * min(1, i / 30) * max(0.02, 1 - i / count * 1.1) for i in range(count)]
    job = {"name": "incast", "work": "64 flows of 2 MB to rank 0", "done": True, "trouble": "",
           "start_ps": 0, "end_ps": end, "steps_ps": [], "bound_ps": 0, "bound_is": "",
           "bytes_moved": 128_000_000, "bus_bandwidth": 0.0, "ranks": [], "flows": flows}
    return result("incast 64:1", "Sixty-four senders, one receiver, DCQCN.", network, end, [job],
                  totals=totals(network, 31_360), sample_every_ps=end // count,
                  series=[series("queue:switch0>nic0", "bytes", queue),
                          series("utilisation:switch>nic", "share",
                                 [0.0138 * (0.9 if i < 470 else 0.3) for i in range(count)]),
                          series("deepest:switch", "bytes", queue),
                          series("goodput", "Gb/s", [89.4 if i < 470 else 30 for i in range(count)]),
                          series("paused", "ports", [60.5 if i < 90 else 0 for i in range(count)]),
                          series("marks", "1/s", [1.9e6 if i < 200 else 2e5 for i in range(count)])])


def big_fat_tree():
    chance = random.Random(3)
    network = fat_tree(16, 100 * GBPS)
    flows, start = [], 0
    for _ in range(6000):
        start += int(chance.expovariate(1 / (0.5 * US)))
        bytes = int(10 ** chance.choice((chance.uniform(3, 4), chance.uniform(4, 6),
                                          chance.uniform(6, 7.3))))
        slowdown = 1 + chance.expovariate(1 / 0.4) + (chance.paretovariate(1.3) - 1 if bytes > 1e5
                                                     else chance.expovariate(1 / 1.5))
        flows.append(flow(chance, chance.randrange(1024), chance.randrange(1024), bytes, start,
                          min(slowdown, 300), 100 * GBPS))
    end = max(one["end_ps"] for one in flows)
    network.load(chance, end, 0.48, hot=("core5", "agg40", "edge77"))
    failed = next(link for link in network.links
                  if network.nodes[link["from"]]["name"] == "agg40")
    failed.update(lost=2_210, utilisation=0.03)
    job = {"name": "mixed", "work": "6 000 flows of 1 KB to 20 MB, half the NICs' rate", "done": True,
           "trouble": "", "start_ps": 0, "end_ps": end, "steps_ps": [], "bound_ps": 0, "bound_is": "",
           "bytes_moved": sum(one["bytes"] for one in flows), "bus_bandwidth": 0.0, "ranks": [],
           "flows": flows}
    left = {"name": "checkpoint", "work": "1 024 ranks to 16 storage servers, 4 GB each", "done": False,
            "trouble": "given up after 10 s: 31 of 1 024 messages were under way", "start_ps": 0,
            "end_ps": end, "steps_ps": [], "bound_ps": 0, "bytes_moved": 3_400_000_000}
    count = 400
    sampled = [series(f"queue:agg{i}>core{i * 3}", "bytes",
                      [value * 1e5 for value in waves(chance, count, 2 + i % 5, 1.5, 90 + 7 * i)])
               for i in range(16)]
    for tiers in ("nic>edge", "edge>agg", "agg>core", "core>agg", "agg>edge", "edge>nic"):
        sampled.append(series(f"utilisation:{tiers}", "share",
                              waves(chance, count, 0.6, 0.06, 130)))
    return result("fat tree, a cable fails", "A three-tier fat tree of 1 024 NICs at half load; the "
                  "cable from agg40 to core0 fails after 1 ms.", network, end, [job, left],
                  totals=totals(network, 4_812_331, retransmitted=9_121, timeouts=37,
                                failed_messages=31),
                  sample_every_ps=end // count, series=sampled,
                  remarks=["agg40 – core0 was down from 1 ms on; routes were found anew after 1 ms.",
                           "checkpoint was given up at the end of the time that the scenario allows."])


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    samples = {
        "training": training("training, RDMA", "A 7 B model on 64 GPUs, RoCE with DCQCN, "
                             "leaf-spine at 400 Gb/s.", 1.0, 1),
        "training_tcp": training("training, TCP", "The same job over the kernel's TCP.", 1.63, 4),
        "incast": incast(),
        "fat_tree": big_fat_tree(),
    }
    for name, sample in samples.items():
        (folder / f"{name}.json").write_text(json.dumps(sample, indent=1))


if __name__ == "__main__":
    main()

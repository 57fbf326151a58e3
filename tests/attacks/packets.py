"""Packets of strangers: forged ones for our QPs, and floods."""

import signal
import time

import place as places
from peers import Pair
from place import Place, Trouble
from victims import attack, cpu_seconds, number
from hostile import counters, qpns


def forged(place: Place) -> str:
    """The peers talk by rings, so nothing that comes by UDP is for them."""
    places.need_root()
    pair = Pair(place, 'auto', timeout=17, retry=7, wait='event', largest=4096).wait_ready()
    stranger = attack(place, 'forge', 2, *qpns(pair))
    stranger.wait(30)
    seen = counters(place)
    rounds = pair.finish()
    sent = number(stranger, 'sent')
    if seen.get('dropped_wrong_path', 0) < sent / 2 or seen.get('sequence_naks_received', 0):
        raise Trouble(f'{sent} forged packets: {({name: value for name, value in seen.items() if value})}')
    return f'{sent} packets, {seen["dropped_wrong_path"]} dropped_wrong_path, {rounds} rounds meanwhile'


def flooded(place: Place, kind: str, limit: float) -> str:
    """What a packet of a flood costs a program that has one QP: its own time, besides the kernel's for the sender."""
    places.need_root()
    pair = Pair(place, 'udp', timeout=20, retry=7, wait='event', largest=4096, patience_ms=60000).wait_ready()
    numbers = qpns(pair)
    pair.lead.signal(signal.SIGSTOP)  # so that its peer has nothing to do
    time.sleep(0.5)
    before = cpu_seconds(pair.follow)
    stranger = attack(place, 'flood', kind, 3, 4791, numbers[1])
    stranger.wait(30)
    cost = (cpu_seconds(pair.follow) - before) * 1e6 / number(stranger, 'sent')
    pair.lead.signal(signal.SIGCONT)
    pair.finish()
    if cost > limit:
        raise Trouble(f'{cost:.2f} us for each of {number(stranger, "sent")} packets; limit {limit} us')
    return f'{cost:.2f} us for each of {number(stranger, "sent")} packets'


def cases():
    yield 'forged packets for QPs with rings', forged
    yield 'flood for unknown QPs', lambda place: flooded(place, 'unknown-qpn', 0.1)
    yield 'flood with bad ICRCs', lambda place: flooded(place, 'bad-icrc', 4)

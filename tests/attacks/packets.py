"""Packets of strangers: forged ones for our QPs, and floods."""

import place as places
from peers import Pair, now_ms
from place import Place, Trouble
from victims import attack, number
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


def rate(pair: Pair, milliseconds: int) -> float:
    begin, rounds = now_ms(), pair.rounds()
    while now_ms() - begin < milliseconds:
        pair.wait_rounds(1)
    return (pair.rounds() - rounds) * 1000 / (now_ms() - begin)


def flooded(place: Place, kind: str, least: float) -> str:
    """Compared with the same load on a port that no process has."""
    places.need_root()
    pair = Pair(place, 'udp', timeout=14, retry=7, wait='event', largest=4096, patience_ms=60000).wait_ready()
    quiet = rate(pair, 1000)
    rates = {}
    for name, port in (('elsewhere', 4799), (kind, 4791), ('elsewhere again', 4799), (f'{kind} again', 4791)):
        stranger = attack(place, 'flood', kind, 3, port, *qpns(pair))
        rates[name] = rate(pair, 2500)
        stranger.wait(30)
    pair.finish()
    beside = max(rates['elsewhere'], rates['elsewhere again'])
    share = max(rates[kind], rates[f'{kind} again']) / beside
    told = ', '.join(f'{name} {value:.0f}' for name, value in rates.items())
    if share < least:
        raise Trouble(f'{share:.0%} of the rounds/s beside the same load on another port: quiet {quiet:.0f}, {told}')
    return f'{share:.0%} of the rounds/s beside the same load on another port: quiet {quiet:.0f}, {told}'


def cases():
    yield 'forged packets for QPs with rings', forged
    yield 'flood for unknown QPs', lambda place: flooded(place, 'unknown-qpn', 0.8)
    yield 'flood with bad ICRCs', lambda place: flooded(place, 'bad-icrc', 0.5)



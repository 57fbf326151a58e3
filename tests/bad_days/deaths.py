"""Sudden deaths: kill -9 of one peer, of both, and of the process that created the UDP port, while others communicate."""
import os
import random
import time

from peers import Pair, Stalls, bound, expect_nothing_left, now_ms, wait_for
from place import Place, Trouble

# Bystanders never give up; victims get their answer within about a second.
PATIENT = {'timeout': 18, 'retry': 7, 'patience_ms': 15000}
VICTIM = {'timeout': 16, 'retry': 2, 'patience_ms': 15000}
VICTIMS = 6
# From the timestamps of the completions, in milliseconds; the load of the machine may delay them.
EARLY, LATE = 0.98, 1.0


class Toll:
    """The state so far."""

    def __init__(self):
        self.kills, self.waits, self.naks, self.stalls = 0, [], 0, Stalls()

    def heard(self, pair: Pair, survivor, victim) -> None:
        """The survivor got its completion within the time that its attributes specify."""
        due = pair.retry_time()
        since, at = survivor.expect_dead(due * 2 + LATE + 20)
        waited, took = (at - since) / 1000, (at - victim.killed_at) / 1000
        # The last packet of the dead peer may be a NAK for a missing packet, which uses up a retry
        # at once.
        least = due - pair.timeout() if pair.transport == 'udp' else due
        if waited < least * EARLY or took > due * 2 + LATE + self.stalls.allowance():
            raise Trouble(f'retry-exceeded {waited:.3f} s after the last answer and {took:.3f} s after the death; '
                          f'the attributes say {due:.3f} s; {survivor.log}.*')
        self.naks += waited < due * EARLY
        self.waits.append(waited)


def random_style(chance: random.Random) -> dict:
    return {'window': chance.choice((1, 2, 8)), 'wait': chance.choice(('poll', 'event', 'event', 'event')),
            'largest': chance.choice((64, 4096, 65536)), 'pause_us': chance.choice((0, 200, 1000)),
            'seed': chance.getrandbits(48)}


def generation(place: Place, transport: str, port: int, chance: random.Random, toll: Toll) -> None:
    """One set of processes, from the first that needs the port to the last that releases it."""
    shm_before = os.listdir('/dev/shm')
    env = {'NERVE_PORT': str(port)}

    def start(first=None, **settings) -> Pair:
        return Pair(place, transport, env=env, first=first, **settings)

    made = (lambda: wait_for(lambda: bound(port), 10, f'udp port {port}')) if transport == 'udp' else None
    maker = start(first=made, **VICTIM, **random_style(chance))  # its leader creates the port
    bystanders = [start(**PATIENT, wait='event', window=8, pause_us=300, seed=1),
                  start(**PATIENT, wait='event', window=1, pause_us=300, largest=4096, seed=2)]
    victims = [start(**VICTIM, **random_style(chance)) for _ in range(VICTIMS)]
    for pair in (maker, *bystanders, *victims):
        pair.wait_ready()

    doomed = [(maker, 'lead')] + [(pair, chance.choice(('lead', 'follow', 'both'))) for pair in victims]
    chance.shuffle(doomed)
    for pair, who in doomed:
        time.sleep(chance.random() * 0.05)
        if who == 'both':
            pair.lead.kill()
            pair.follow.kill()
        else:
            getattr(pair, who).kill()
        toll.kills += 1
    late = start(**PATIENT, wait='event', pause_us=300, seed=3)  # late processes get the port too
    late.wait_ready()
    for pair, who in doomed:
        if who != 'both':
            toll.heard(pair, *((pair.follow, pair.lead) if who == 'lead' else (pair.lead, pair.follow)))
    began, before = now_ms(), [pair.rounds() for pair in bystanders]
    for pair, rounds in zip(bystanders, before):
        wait_for(lambda p=pair, r=rounds: p.rounds() > r, 10, f'bystander goes on since {began}: {pair.lead.log}')
    for pair in (*bystanders, late):
        if pair.finish() == 0:
            raise Trouble(f'a bystander did nothing; {pair.lead.log}.*')
    expect_nothing_left(port, shm_before)


def many_deaths(place: Place, transport: str, kills: int) -> str:
    chance = random.Random(place.seed * 2 + (transport == 'udp'))
    toll, port = Toll(), 21000
    while toll.kills < kills:
        generation(place, transport, port, chance, toll)
        port += 1
    toll.stalls.end()
    waits = sorted(toll.waits)
    if toll.naks > len(waits) / 10:
        raise Trouble(f'{toll.naks} of {len(waits)} survivors heard too early')
    early = f' ({toll.naks} a retry sooner)' if toll.naks else ''
    return (f'{toll.kills} kills; {len(waits)} survivors heard after {waits[0]:.2f} to {waits[-1]:.2f} s{early}, '
            f'due after {4.096e-6 * 2 ** VICTIM["timeout"] * (VICTIM["retry"] + 1):.2f} s')


def cases():
    for transport in ('shm', 'udp', 'auto'):
        kills = 40 if transport == 'auto' else 200
        yield f'kill -9 at random moments, {transport}', lambda place, t=transport, k=kills: many_deaths(place, t, k)

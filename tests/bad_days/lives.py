"""Processes that are stopped, fork, exit without closing anything, or are many."""
import os
import signal
import time

from peers import Pair, Program, Stalls, expect_nothing_left, now_ms, wait_for
from place import Place, Trouble

PATIENT = {'timeout': 18, 'retry': 7, 'wait': 'event', 'patience_ms': 30000}


def stopped(place: Place, transport: str, who: str) -> str:
    """Stopped for longer than its peer waits: retry-exceeded according to the peer's attributes; others do not notice."""
    other = Pair(place, transport, **PATIENT, pause_us=500)
    pair = Pair(place, transport, timeout=15, retry=2, wait='event', largest=65536, ask_ms=100)
    for one in (pair, other):
        one.wait_ready().wait_rounds(5)
    victim, survivor = (pair.follow, pair.lead) if who == 'follow' else (pair.lead, pair.follow)
    stalls, at, before, due = Stalls(), now_ms(), other.rounds(), pair.retry_time()
    victim.signal(signal.SIGSTOP)
    survivor.wait(due * 2 + 30)  # under load timers may run late, one after the other
    wait_for(lambda: other.rounds() > before, 10, f'the pair beside it goes on: {other.lead.log}')
    beside = other.rounds() - before
    victim.signal(signal.SIGCONT)
    since, heard = survivor.expect_dead(10)
    waited, took = (heard - since) / 1000, (heard - at) / 1000
    if waited < due * 0.98 or took > due * 2 + 1 + stalls.allowance():
        raise Trouble(f'retry-exceeded {waited:.2f} s after the last answer and {took:.2f} s after the stop; '
                      f'the attributes say {due:.2f} s; {survivor.log}.*')
    victim.expect_dead(20)
    stalls.end()
    other.finish()
    return f'retry-exceeded {took:.2f} s after the stop, due {due:.2f} s; {beside} rounds beside it'


def stopped_briefly(place: Place, transport: str) -> str:
    """Stopped for less than its peer waits: everything continues."""
    pair = Pair(place, transport, **PATIENT).wait_ready()
    for victim in (pair.follow, pair.lead, pair.follow):
        pair.wait_rounds(5)
        victim.signal(signal.SIGSTOP)
        time.sleep(0.7)
        victim.signal(signal.SIGCONT)
    pair.wait_rounds(5)
    return f'{pair.finish()} rounds'


def crowd(place: Place, transport: str, pairs: int) -> str:
    before, shm = time.monotonic(), os.listdir('/dev/shm')
    all_pairs = [Pair(place, transport, timeout=19, retry=7, wait='event', rounds=30, largest=4096, window=2,
                      patience_ms=90000, seed=n + 1) for n in range(pairs)]
    for pair in all_pairs:
        pair.wait_ready(90)
    ready = time.monotonic() - before
    for pair in all_pairs:
        for peer in pair.both():
            if peer.expect_ok(120) != 30:
                raise Trouble(f'{peer.end_line()}; {peer.log}.*')
    expect_nothing_left(4791, shm)
    return f'{2 * pairs} processes; all connected after {ready:.1f} s, done after {time.monotonic() - before:.1f} s'


def life(place: Place, transport: str, what: str, seconds: float = 60) -> str:
    """A program that checks itself: `nerve_verbs_lives WHAT` prints what it saw, and exits with 0 if that was right."""
    program = Program(place, [place.program('nerve_verbs_lives'), what], place.environment(transport), what)
    status = program.wait(seconds)
    if status != 0:
        last = (program.errors() + program.text()).strip().splitlines()[-1:]
        raise Trouble(f'exit status {status}: {" ".join(last)}; {program.log}.*')
    return program.text().strip().splitlines()[-1]


def cases():
    for transport in ('shm', 'udp'):
        yield f'target stopped for good, {transport}', lambda p, t=transport: stopped(p, t, 'follow')
        yield f'requester stopped for good, {transport}', lambda p, t=transport: stopped(p, t, 'lead')
        yield f'both stopped for a moment, {transport}', lambda p, t=transport: stopped_briefly(p, t)
    for transport in ('auto', 'udp'):
        yield f'100 processes at once, {transport}', lambda p, t=transport: crowd(p, t, 50)
    for what in ('fork-and-open', 'fork-and-exit', 'fork-and-exec', 'fork-and-destroy', 'exit-with-everything-open',
                 'open-and-close-1000'):
        for transport in ('shm', 'udp'):
            yield f'{what}, {transport}', lambda p, t=transport, w=what: life(p, t, w)

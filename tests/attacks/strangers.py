"""Other users of the machine: they get nothing, take nothing away, and cost little."""
import os
import pathlib
import time

import place as places
from machine import elsewhere
from peers import Pair, wait_for
from place import Place, Skip, Trouble, mount
from victims import STRANGER, attack, cpu_seconds, idle, number, slots


def private_folder(place: Place) -> None:
    """As a login manager makes it."""
    mount(b'tmpfs', b'/run', b'mode=755')
    folder = pathlib.Path(f'/run/user/{place.user}')
    folder.mkdir(parents=True)
    folder.chmod(0o700)
    os.chown(folder, place.user, -1)


def unmapped(place: Place) -> str:
    """In a user namespace without a map, all users look the same to our process."""
    idle(place, wrapper=('/usr/bin/unshare', '-U'))
    got = []
    for name in slots():
        for kind in range(1, 6):
            stranger = attack(place, 'ask', name, kind)
            stranger.wait(20)
            got.append(stranger.text().strip())
    answers = [text for text in got if text not in ('', '0 bytes, 0 descriptors')]
    if answers:
        raise Trouble(f'a stranger got {answers}')
    return f'{len(got)} requests, no answer'


def calls(place: Place, limit: float) -> str:
    victim = idle(place)
    name = slots()[0]
    before, begin = cpu_seconds(victim), time.monotonic()
    stranger = attack(place, 'call', name, 3)
    stranger.wait(30)
    cost = (cpu_seconds(victim) - before) / (time.monotonic() - begin)
    rate = number(stranger, 'calls') / 3
    if cost > limit:
        raise Trouble(f'{rate:.0f} calls/s cost {cost:.0%} of a core; limit {limit:.0%}')
    pair = Pair(place, 'auto', rounds=50, timeout=17, retry=7, wait='event').wait_ready()
    pair.lead.expect_ok(30)
    return f'{rate:.0f} calls/s cost {cost:.0%} of a core'


def squatted(place: Place) -> str:
    """Somebody else has all our names. Processes that start together still find each other."""
    stranger = attack(place, 'squat', f'nerve/{place.user}/')
    wait_for(lambda: 'holding' in stranger.text(), 30, 'the squatter')
    begin = time.monotonic()
    pair = Pair(place, 'auto', rounds=100, timeout=17, retry=7, wait='event').wait_ready()
    ready = time.monotonic() - begin
    rounds = pair.lead.expect_ok(30)
    pair.follow.expect_ok(30)
    if ready > 2:
        raise Trouble(f'ready after {ready:.1f} s only')
    return f'{rounds} rounds, ready after {ready:.1f} s, beside 1026 names that a stranger holds'


def port(place: Place) -> str:
    stranger = attack(place, 'bind', 4791)
    wait_for(lambda: 'holding' in stranger.text(), 20, 'the stranger')
    victim = idle(place)
    said = victim.errors().strip()
    if 'udp port 4791' not in said or f'uid {STRANGER}' not in said:
        raise Trouble(f'no word of who has the port: {said!r}')
    return repr(said)


def cases():
    def apart(body, *more):
        def run(place: Place) -> str:
            places.need_root()
            if place.user is None:
                raise Skip('needs a second user')
            return elsewhere(places.CLONE_NEWNS, lambda: private_folder(place), lambda p: body(p, *more))(place)
        return run

    def here(body, *more):
        def run(place: Place) -> str:
            places.need_root()
            return body(place, *more)
        return run

    yield 'user namespace without a map', here(unmapped)
    yield 'calls as fast as possible', here(calls, 0.15)
    yield 'calls as fast as possible, private folder', apart(calls, 0.05)
    yield 'all names held, private folder', apart(squatted)
    yield 'port 4791 held', here(port)

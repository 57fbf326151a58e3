"""Addresses and links that appear and disappear while a program runs: events, and a GID table that stays correct."""
import re
import subprocess

import place as places
from peers import Program, wait_for
from place import Place, Trouble

LINK, ADDRESS, FIRST = 'nerve-a', '10.77.0.9', '10.77.0.1'


def ip(*words: str) -> None:
    subprocess.run(['ip', *words], check=True, capture_output=True)


def gids(place: Place, env: dict) -> str:
    shown = Program(place, ['ibv_devinfo', '-v'], env, 'devinfo')
    if shown.wait(20) != 0:
        raise Trouble(f'ibv_devinfo failed; {shown.log}.*')
    return shown.text()


def addresses_change(place: Place) -> str:
    places.need_root()
    ip('link', 'add', LINK, 'type', 'veth', 'peer', 'name', 'nerve-b')
    try:
        ip('addr', 'add', f'{FIRST}/24', 'dev', LINK)
        ip('link', 'set', 'nerve-b', 'up')
        ip('link', 'set', LINK, 'up')
        return watch(place)
    finally:
        ip('link', 'del', LINK)


def watch(place: Place) -> str:
    env = place.environment('udp', devices=f'nerve0={LINK}')
    watcher = Program(place, ['stdbuf', '-oL', 'ibv_asyncwatch', '-d', 'nerve0'], env, 'asyncwatch')
    wait_for(lambda: 'async event FD' in watcher.text(), 20, 'ibv_asyncwatch')

    def events(kind: str) -> int:
        return len(re.findall(kind, watcher.text()))

    def after(change: tuple, kind: str) -> None:
        before = events(kind)
        ip(*change)
        wait_for(lambda: events(kind) > before, 10, f'{kind} after ip {" ".join(change)}')

    after(('addr', 'add', f'{ADDRESS}/24', 'dev', LINK), 'GID_CHANGE')
    if ADDRESS not in gids(place, env):
        raise Trouble(f'{ADDRESS} is no GID')
    after(('addr', 'del', f'{ADDRESS}/24', 'dev', LINK), 'GID_CHANGE')
    after(('link', 'set', LINK, 'down'), 'PORT_ERR')
    after(('link', 'set', LINK, 'up'), 'PORT_ACTIVE')
    if ADDRESS in gids(place, env) or FIRST not in gids(place, env):
        raise Trouble('the table of GIDs is not that of the addresses')
    watcher.kill()
    return f'{events("GID_CHANGE")} changes of GIDs, {events("PORT_")} of the port'


def another_appears(place: Place) -> str:
    """The only device is on loopback; then a better one appears. Users of the first are not disturbed."""
    places.need_root()
    env = place.environment('auto')
    del env['NERVE_DEVICES']
    watcher = Program(place, ['stdbuf', '-oL', 'ibv_asyncwatch', '-d', 'nerve0'], env, 'asyncwatch')
    wait_for(lambda: 'async event FD' in watcher.text(), 20, 'ibv_asyncwatch')
    ip('link', 'add', LINK, 'type', 'veth', 'peer', 'name', 'nerve-b')
    try:
        ip('addr', 'add', f'{FIRST}/24', 'dev', LINK)
        ip('link', 'set', 'nerve-b', 'up')
        ip('link', 'set', LINK, 'up')
        ip('addr', 'add', '127.0.0.9/8', 'dev', 'lo')  # once this change is seen, the earlier ones are too
        wait_for(lambda: 'GID_CHANGE' in watcher.text(), 10, 'a change of GIDs')
        if 'PORT_ERR' in watcher.text():
            raise Trouble('the port of the device on loopback went down')
        if FIRST not in gids(place, env):
            raise Trouble('newcomers do not find the new interface')
    finally:
        ip('addr', 'del', '127.0.0.9/8', 'dev', 'lo')
        ip('link', 'del', LINK)
    watcher.kill()
    return ''


def cases():
    yield 'addresses and the link come and go', addresses_change
    yield 'an interface appears beside loopback', another_appears

"""Machines that lack something: the port, IPv6, /dev/shm, a home, descriptors."""
import os
import pathlib
import re
import resource
import socket
import subprocess

import place as places
from peers import Pair, Program
from place import Place, Skip, Trouble, mount


def elsewhere(flags: int, prepare, case):
    """Runs a case in a child with its own namespaces; returns its remark or its failure."""
    places.need_root()

    def run(place: Place) -> str:
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(read)
            try:
                places.unshare(flags)
                prepare()
                said = 'ok ' + (case(place) or '')
            except Trouble as reason:
                said = f'no {reason}'
            except Skip as reason:
                said = f'un {reason}'
            except Exception as surprise:  # pylint: disable=broad-except
                said = f'no {surprise!r}'
            for program in place.started:
                program.kill()
            os.write(write, said.encode()[:4000])
            os._exit(0)
        os.close(write)
        with os.fdopen(read, 'rb') as pipe:
            said = pipe.read().decode()
        os.waitpid(child, 0)
        place.number += 10
        if said.startswith('un '):
            raise Skip(said[3:])
        if not said.startswith('ok '):
            raise Trouble(said[3:] or 'the child said nothing')
        return said[3:]

    return run


def talk(place: Place, transport: str, **how) -> str:
    pair = Pair(place, transport, rounds=200, wait='event', timeout=17, retry=7, **how).wait_ready()
    return f'{pair.lead.expect_ok(30) and pair.follow.expect_ok(30)} rounds over {transport}'


def ibv_devices(place: Place, transport: str, **how) -> Program:
    program = Program(place, [place.program('nerve_verbs_lives'), 'list'], place.environment(transport), 'list', **how)
    program.wait(20)
    return program


def port_taken(place: Place) -> str:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
        stranger.bind(('0.0.0.0', 4791))
        listed = ibv_devices(place, 'udp')
        if listed.process.returncode != 0 or 'nerve0' not in listed.text():
            raise Trouble(f'devices are not listed: {listed.errors()!r}')
        opened = Program(place, [place.program('nerve_verbs_lives'), 'open'], place.environment('udp'), 'open')
        opened.wait(30)
        said = opened.errors().strip()
        if 'udp port 4791' not in said or 'another program uses it' not in said:
            raise Trouble(f'no clear word on stderr: {said!r}')
        remark = talk(place, 'auto')
    return f'{remark}; udp alone says {said.splitlines()[0]!r}'


def no_ipv6() -> None:
    for which in ('all', 'default', 'lo'):
        pathlib.Path(f'/proc/sys/net/ipv6/conf/{which}/disable_ipv6').write_text('1')


def both(place: Place, **how) -> str:
    return f'{talk(place, "shm", **how)}, {talk(place, "udp", **how)}'


def read_only_home(place: Place) -> str:
    home = place.scratch / 'home'
    home.mkdir(exist_ok=True)
    mount(b'tmpfs', str(home).encode(), b'size=64k', 1)  # MS_RDONLY
    return both(place, env={'HOME': str(home), 'XDG_CONFIG_HOME': str(home / 'none')})


def no_home(place: Place) -> str:
    strip = {'wrapper': ('/usr/bin/env', '-u', 'HOME', '-u', 'XDG_CONFIG_HOME')}
    return both(place, how=strip)


def no_descriptors(place: Place) -> str:
    """With few descriptors: works, or reports an error; with too few it never crashes or hangs."""
    outcomes = []
    for limit in (*range(4, 40, 2), 60, 100):
        pairs = Pair(place, 'auto', rounds=20, wait='event', timeout=16, retry=3, window=1,
                     how={'wrapper': ('/usr/bin/prlimit', f'--nofile={limit}')})
        statuses, words = set(), ''
        for peer in pairs.both():
            statuses.add(peer.wait(40))
            words += peer.errors() + peer.end_line()
        if 'error while loading shared libraries' in words:  # not even its libraries could be opened
            outcomes.append((limit, False))
            continue
        if statuses - {0, 1}:
            raise Trouble(f'limit {limit}: exit status {statuses}; {pairs.lead.log}.*')
        if 1 in statuses and not re.search('Too many open files|No such device|no meeting|no endpoint|dead', words):
            raise Trouble(f'limit {limit}: no clear word: {words!r}')
        if 1 in statuses and limit < 20 and 'Too many open files' not in words and 'ulimit' not in words:
            raise Trouble(f'limit {limit}: no clear word: {words!r}')
        outcomes.append((limit, 0 in statuses and 1 not in statuses))
    works = [limit for limit, good in outcomes if good]
    if not works:
        raise Trouble('100 descriptors are not enough')
    return f'works from {min(works)} descriptors on'


def cases():
    shm = str(pathlib.Path('/dev/shm')).encode()
    yield 'port 4791 taken by another program', port_taken

    def case(flags, prepare, body):
        return lambda place: elsewhere(flags, prepare, body)(place)

    yield 'no IPv6', case(places.CLONE_NEWNET, no_ipv6, both)
    yield 'no /dev/shm', case(places.CLONE_NEWNS, lambda: mount(b'tmpfs', shm, b'size=4k,mode=000', 1), both)
    yield '64 MB of /dev/shm', case(places.CLONE_NEWNS, lambda: mount(b'tmpfs', shm, b'size=64m'), both)
    yield 'read-only home', case(places.CLONE_NEWNS, lambda: None, read_only_home)
    yield 'no home', no_home
    yield 'no /proc', case(places.CLONE_NEWNS, lambda: mount(b'tmpfs', b'/proc', b'size=64k'), both)
    yield 'few descriptors', no_descriptors

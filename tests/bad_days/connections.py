"""Failing connections through the distribution's librdmacm: each ends with an event or errno, the same as on Linux,
soon, and leaves nothing behind."""
import os
import re
import signal
import time

from peers import Program, expect_nothing_left, wait_for
from place import Place, Skip, Trouble

TRANSPORTS = ('shm', 'udp')
STAGES = ('asked', 'answered', 'connected', 'disconnecting')
SOON = 10  # seconds; on an idle machine it takes milliseconds

# The events of the survivor, by which end dies and at which stage. On Linux the kernel answers for
# a dead process; here the survivor's own process does, or the process that finds that the port has
# no owner.
HEARD = {
    ('server', 'asked'): r'event RDMA_CM_EVENT_REJECTED (8|28)',
    ('client', 'asked'): r'errno 22|event RDMA_CM_EVENT_REJECTED (6|28)',
    ('server', 'answered'): r'event RDMA_CM_EVENT_REJECTED (6|28)',
    ('client', 'answered'): r'event RDMA_CM_EVENT_REJECTED (6|28)',
    ('server', 'connected'): r'event RDMA_CM_EVENT_DISCONNECTED 0',
    ('client', 'connected'): r'event RDMA_CM_EVENT_DISCONNECTED 0',
    ('server', 'disconnecting'): r'event RDMA_CM_EVENT_DISCONNECTED 0',
    ('client', 'disconnecting'): r'event RDMA_CM_EVENT_DISCONNECTED 0',
}


def start(place: Place, transport: str, *words: str, **settings: str) -> Program:
    program = place.program('nerve_cm_peer')
    if not os.path.exists(program):
        raise Skip('no librdmacm to link to')
    env = place.environment(transport, **settings) | {'LD_PRELOAD': str(place.library / 'libnerve-preload.so')}
    return Program(place, [program, *words], env, f'cm-{words[0]}')


def said(program: Program, pattern: str, what: str):
    """Returns the first line that matches; a program that ends without one has failed."""
    def look():
        found = re.search(rf'^(?:{pattern})$', program.text(), re.M)
        return found or (not program.running() and 'ended')
    found = wait_for(look, 30, f'{what}: {program.log}')
    if found == 'ended':
        found = re.search(rf'^(?:{pattern})$', program.text(), re.M)
    if not found:
        raise Trouble(f'{what}: {(program.text() + program.errors()).strip()[-200:]!r}; {program.log}.*')
    return found


def alone(place: Place, transport: str, *words: str, seconds: float = 120) -> str:
    """A program that plays both ends and checks itself."""
    shm_before = os.listdir('/dev/shm')
    program = start(place, transport, *words)
    status = program.wait(seconds)
    if status != 0:
        raise Trouble(f'exit status {status}: {(program.text() + program.errors()).strip()[-200:]}; {program.log}.*')
    expect_nothing_left(4791, shm_before)
    return program.text().strip().splitlines()[-1]


def pair(place: Place, transport: str, stage: str, victim: str, **settings: str):
    """A server and a client that have reached that stage; one will die, the other report its events."""
    roles = {'server': 'hear', 'client': 'hear'} | {victim: 'wait'}
    server = start(place, transport, 'serve', stage, roles['server'], **settings)
    port = said(server, r'port (\d+)', 'a port')[1]
    client = start(place, transport, 'ask', stage, roles['client'], port, **settings)
    for program in (server, client):
        said(program, 'ready', f'{stage}')
    return {'server': server, 'client': client}


def vanishes(place: Place, transport: str, number: int) -> str:
    """Each end dies at each stage; the other gets the right event soon, and exits normally."""
    slowest = 0.0
    for (victim, stage), heard in HEARD.items():
        ends = pair(place, transport, stage, victim)
        survivor = ends['client' if victim == 'server' else 'server']
        at = time.monotonic()
        ends[victim].signal(number)
        ends[victim].process.wait()
        if stage == 'asked' and victim == 'client':
            survivor.signal(signal.SIGUSR1)  # it answers, and notices by that
        said(survivor, heard, f'{victim} dies, {stage}')
        took = time.monotonic() - at
        if took > SOON:
            raise Trouble(f'{victim} dies, {stage}: heard after {took:.1f} s; {survivor.log}.*')
        if survivor.wait(20) != 0:
            raise Trouble(f'{victim} dies, {stage}: the other ends badly; {survivor.log}.*')
        slowest = max(slowest, took)
    return f'{len(HEARD)} times, heard within {slowest * 1000:.0f} ms'


def confirmation_lost(place: Place, transport: str) -> str:
    """The RTU is lost: the REP is retransmitted, and the RTU sent again."""
    server = start(place, transport, 'serve', 'connected', 'wait')
    port = said(server, r'port (\d+)', 'a port')[1]
    client = start(place, transport, 'ask', 'connected', 'wait', port, fault='drop=0x1:2')  # REQ, RTU
    at = time.monotonic()
    said(client, 'ready', 'the client')
    said(server, 'ready', 'established')
    return f'established {(time.monotonic() - at) * 1000:.0f} ms later'


def cases():
    for transport in TRANSPORTS:
        yield f'connections: errnos, {transport}', lambda p, t=transport: alone(p, t, 'errors')
        yield f'connections: rejections, {transport}', lambda p, t=transport: alone(p, t, 'rejections')
        yield f'connections: the RTU is lost, {transport}', lambda p, t=transport: confirmation_lost(p, t)
        for number in (signal.SIGKILL, signal.SIGTERM):
            yield (f'connections: a peer vanishes in each state ({number.name}), {transport}',
                   lambda p, t=transport, n=number: vanishes(p, t, n))
        yield (f'connections: 10 000 requests at once, {transport}', lambda p, t=transport: alone(p, t, 'flood', '10000'))
        yield f'connections: made and ended 10 000 times, {transport}', lambda p, t=transport: alone(p, t, 'churn', '10000')
        yield f'connections: fork and exec, {transport}', lambda p, t=transport: alone(p, t, 'forks')
        yield f'connections: threads and epoll, {transport}', lambda p, t=transport: alone(p, t, 'threads')

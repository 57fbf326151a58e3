"""fio's rdma engine, connected by rdma_cm.

The receiver is the server: rw=read. A client that sends marks its blocks, and the server verifies each (verify=); data
written or read by RDMA cannot be verified by fio, because it goes to and comes from any of the server's blocks. fio sets no
RNR retries, so a server that receives SENDs has a block for each message from the start.
"""
import dataclasses
import json
import re
from typing import Iterator, Optional

import pair
from case import Case, Check, Stage, Verdict, with_loss
from process import Ended

SIZES = {'4k': 4 << 10, '64k': 64 << 10, '1m': 1 << 20}
MOST_BLOCKS = 256  # of a server that receives SENDs; fio's limit is 512
NAP = 0.5  # seconds that a client sleeps once it is connected, which fio counts as running


def cases(second: bool, long: bool) -> Iterator[Case]:
    for size in SIZES:
        for verb in 'write', 'read':
            yield job(verb, size, 256 if long else 32, depth=16)
        yield job('send', size, 256 if long else 32, depth=4, options=('--verify=crc32c',))
    yield job('send', '64k', 8, depth=4, options=('--verify=md5',))
    yield job('write', '64k', 16, depth=1)
    yield job('write', '64k', 16, depth=16, ports=4)
    yield with_loss(job('write', '64k', 8, depth=16))
    yield with_loss(job('send', '4k', 1, depth=4, options=('--verify=crc32c',)))
    yield beside_tcp('write', '64k', 1024 if long else 256)


def job(verb: str, size: str, megabytes: int, depth: int, ports: int = 1, options=()) -> Case:
    """One job for each port: fio's server cannot listen for a second one at the same port (numjobs=2)."""
    blocks = min((megabytes << 20) // SIZES[size], MOST_BLOCKS if verb == 'send' else 1 << 30)
    moved = blocks * SIZES[size]

    def command(*more: str):
        one = ('--ioengine=rdma', f'--bs={size}', f'--size={moved}', *options, *more)
        return ('fio', '--output-format=json',
                *(word for at in range(ports) for word in (f'--name={at}', *one, f'--port=PORT+{1000 * at}')))

    server = command('--rw=read', f'--iodepth={blocks if verb == "send" else depth}')
    client = command('--rw=write', '--hostname=127.0.0.1', f'--verb={verb}', f'--iodepth={depth}', '--do_verify=0')
    name = ' '.join(('fio', f'verb={verb}', f'bs={size}', f'iodepth={depth}', *((f'{ports} jobs',) if ports > 1 else ()),
                     *(option.lstrip('-') for option in options)))
    return Case(name, client, server, check_client=all_moved('write', moved, ports),
                check_server=all_moved('read', moved, ports) if verb == 'send' else no_error, by_cm=True, note=speed,
                act=play)


def play(stage: Stage, case: Case) -> Verdict:
    def numbered(command):
        return tuple(re.sub(r'PORT\+(\d+)', lambda found: str(stage.port + int(found[1])), word) for word in command)
    return pair.play(stage, dataclasses.replace(case, server=numbered(case.server), client=numbered(case.client)))


def beside_tcp(verb: str, size: str, megabytes: int) -> Case:
    case = job(verb, size, megabytes, depth=16)

    def act(stage: Stage, one: Case) -> Verdict:
        verdict = play(stage, one)
        if verdict.trouble:
            return verdict
        common = ('fio', '--name=job', '--ioengine=net', '--port=PORT', f'--bs={size}', f'--size={megabytes}m',
                  '--output-format=json')
        tcp = pair.play(stage, Case('', (*common, '--rw=write', '--hostname=127.0.0.1'),
                                    (*common, '--rw=read', '--listen'), note=lambda ended: speed(ended, nap=0)))
        # Not tested: fio's own end of a TCP connection is sometimes reset (ECONNRESET).
        return Verdict(None, f'{verdict.note}; net (TCP) {tcp.trouble or tcp.note}')

    return dataclasses.replace(case, name=f'{case.name} size={megabytes}m', act=act)


def jobs_of(ended: Ended) -> list:
    """fio writes its messages before and after its JSON."""
    output = ended.output
    return json.loads(output[output.index('{\n'):output.rindex('}') + 1])['jobs']


def no_error(ended: Ended) -> Optional[str]:
    return next((f'error {job["error"]}' for job in jobs_of(ended) if job['error']), None)


def all_moved(direction: str, bytes: int, jobs: int) -> Check:
    def check(ended: Ended) -> Optional[str]:
        moved = [job[direction]['io_bytes'] for job in jobs_of(ended)]
        return no_error(ended) or (None if moved == [bytes] * jobs else f'{moved} bytes of {bytes} each')
    return check


def speed(ended: Ended, nap: float = NAP) -> str:
    rates = [job['write']['io_bytes'] / max(job['write']['runtime'] / 1e3 - nap, 1e-3) for job in jobs_of(ended)]
    return f'{sum(rates) / 1e6:.0f} MB/s'

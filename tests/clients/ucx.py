"""UCX: it lists the device, its tests run over rc_verbs and ud_verbs, and its examples connect by rdma_cm.

It finds the device by paths that the preload library provides. rc_verbs connects with the help of
ud_verbs, hence rc_v, UCX's name for the two. ucx_perftest compares no contents; the examples and MPI (mpi.py) do.
"""
import dataclasses
import pathlib
import re
import string
import time
from typing import Iterator, Optional

import pair
from case import Case, Stage, Verdict, all_of, says, with_loss
from process import Ended

TAGGED = ('tag_lat', 'tag_bw', 'tag_sync_lat', 'stream_bw', 'ucp_am_lat')
ONE_SIDED = ('ucp_put_lat', 'ucp_put_bw', 'ucp_get')
ATOMIC = ('ucp_add', 'ucp_fadd', 'ucp_swap', 'ucp_cswap')
SIZES = (8, 4096, 1 << 20)
EVERY_SIZE = tuple(4 ** power for power in range(12))  # 1 B to 4 MB
UNDER_LOSS = (('rc_v', 'tag_bw', 4096), ('rc_v', 'ucp_put_bw', 65536), ('rc_v', 'ucp_get', 65536),
              ('rc_v', 'ucp_fadd', 8), ('ud_v', 'tag_bw', 4096), ('ud_v', 'tag_lat', 8))
# A transport by itself, as UCX's upper layers would use it: test, how the data is passed, size.
BY_ITSELF = (('rc_verbs', 'am_bw', 'short', 8), ('rc_verbs', 'am_bw', 'bcopy', 4096), ('rc_verbs', 'am_bw', 'zcopy', 4096),
             ('rc_verbs', 'put_lat', 'short', 8), ('rc_verbs', 'put_bw', 'zcopy', 65536), ('rc_verbs', 'get', 'bcopy', 4096),
             ('rc_verbs', 'fadd', 'bcopy', 8), ('rc_verbs', 'cswap', 'short', 8),
             ('ud_verbs', 'am_lat', 'short', 8), ('ud_verbs', 'am_bw', 'bcopy', 1024), ('ud_verbs', 'am_bw', 'zcopy', 1024))
EXAMPLES = pathlib.Path('/usr/share/doc/libucx-dev/examples')


def cases(second: bool, long: bool) -> Iterator[Case]:
    yield Case('ucx_info -d', ('ucx_info', '-d'), check_client=all_of(
        says(r'Transport: rc_verbs'), says(r'Transport: ud_verbs'), says(r'Device: nerve0:1')))
    for transport in ('rc_v', 'ud_v'):
        for test in TAGGED:
            for size in SIZES:
                yield perftest(transport, test, size, long)
        yield every_size(transport, 'tag_bw')
    for test in ONE_SIDED:
        for size in SIZES:
            yield perftest('rc_v', test, size, long)
    for test in ATOMIC:
        yield perftest('rc_v', test, 8, long)
    for test in ('ucp_put_bw', 'ucp_get'):
        yield every_size('rc_v', test)
    for transport, test, hand_over, size in BY_ITSELF:
        yield by_itself(transport, test, hand_over, size)
    for transport, test, size in UNDER_LOSS:
        # By default UCX waits a second before it retransmits the last packet; with much less it
        # gives up on a peer that does not run for a tenth of a second.
        patient = dataclasses.replace(perftest(transport, test, size, False, count=100),
                                      env=on(transport) | {'UCX_RC_TIMEOUT': '100ms'})
        yield with_loss(patient)
    yield from examples()
    if second:
        yield perftest('rc_v', 'tag_bw', 4096, long, 'nerve1')
        yield perftest('ud_v', 'tag_bw', 4096, long, 'nerve1')


def on(transport: str, device: str = 'nerve0') -> dict:
    return {'UCX_TLS': f'{transport},self', 'UCX_NET_DEVICES': f'{device}:1'}


def perftest(transport: str, test: str, size: int, long: bool, device: str = 'nerve0', count: int = 0) -> Case:
    count = count or max(20, min(2000, (16 << 20) // size)) * (10 if long else 1)
    options = ('-t', test, '-s', str(size), '-n', str(count), '-w', '10', '-f')
    command = ('ucx_perftest', '-p', 'PORT', *options)
    name = f'ucx_perftest {transport} {test} -s {size}' + (f' {device}' if device != 'nerve0' else '')
    return Case(name, (*command, '127.0.0.1'), command, says(rf'^ +{count} '), env=on(transport, device))


def every_size(transport: str, test: str) -> Case:
    """Both ends read the sizes from a file, and use one connection after the other."""
    def act(stage: Stage, case: Case) -> Verdict:
        lines = (f'{size} -s {size} -n {max(10, min(200, (4 << 20) // size))}\n' for size in EVERY_SIZE)
        (stage.scratch / 'ucx_sizes').write_text(''.join(lines))
        return pair.play(stage, case)

    def all_told(ended: Ended) -> Optional[str]:
        told = re.findall(r'^(\d+)[, ]', ended.output, re.MULTILINE)
        return None if tuple(map(int, told)) == EVERY_SIZE else f'{len(told)} of {len(EVERY_SIZE)} sizes'

    command = ('ucx_perftest', '-p', 'PORT', '-t', test, '-b', 'ucx_sizes', '-w', '10', '-f', '-v')
    return Case(f'ucx_perftest {transport} {test}, 1 B to 4 MB', (*command, '127.0.0.1'), command, all_told,
                env=on(transport), act=act)


def by_itself(transport: str, test: str, hand_over: str, size: int) -> Case:
    command = ('ucx_perftest', '-p', 'PORT', '-x', transport, '-d', 'nerve0:1', '-t', test, '-D', hand_over,
               '-s', str(size), '-n', '500', '-w', '10', '-f')
    return Case(f'ucx_perftest -x {transport} {test} -D {hand_over} -s {size}', (*command, '127.0.0.1'), command,
                says(r'^ +500 '))


def examples() -> Iterator[Case]:
    """UCX's own examples from libucx-dev: a server with rdma_cm, and a worker that sleeps until an event."""
    # With rendezvous messages: the client closes the connection once its sends are done, and the
    # server may then not receive smaller ones.
    for size in (100000, 1 << 20):
        yield example('ucp_client_server', ('-c', 'tag', '-s', str(size), '-i', '20'), by_rdma_cm(size),
                      on('rc_v') | {'UCX_SOCKADDR_TLS_PRIORITY': 'rdmacm'}, ('-l', '127.0.0.1'), ('-a', '127.0.0.1'))
    for transport in ('rc_v', 'ud_v'):
        for wait in ('-w', '-f', '-b'):
            yield example('ucp_hello_world', (wait, '-s', '1000'), pair.play, on(transport), (), ('-n', '127.0.0.1'),
                          check_client=received(1000))


def example(program: str, common: tuple, play, env: dict, server: tuple, client: tuple, **more) -> Case:
    def act(stage: Stage, case: Case) -> Verdict:
        built = stage.scratch / program
        if not built.exists():
            trouble = stage.finish(('gcc', '-O2', '-o', str(built), str(EXAMPLES / f'{program}.c'), '-lucp', '-lucs'),
                                   'build', LD_PRELOAD='', LD_LIBRARY_PATH='').trouble()
            if trouble:
                return Verdict(trouble)
        return play(stage, case)

    # Servers never exit, so their output must be line-buffered.
    command = ('stdbuf', '-oL', f'./{program}', '-p', 'PORT', *common)
    name = ' '.join((program, env['UCX_TLS'].partition(',')[0], *common))
    return Case(name, (*command, *client), (*command, *server), act=act, env=env, seconds=30, **more)


def by_rdma_cm(size: int):
    def play(stage: Stage, case: Case) -> Verdict:
        def wait(pattern: str) -> bool:
            while server.running() and stage.remaining() > 0 and not re.search(pattern, server.output()):
                time.sleep(0.05)
            return bool(re.search(pattern, server.output()))

        server = stage.start(case.server, 'server')
        if not wait('Waiting for connection'):
            return Verdict(f'server: {server.wait(0.1).trouble() or "did not listen"}')
        trouble = stage.finish(case.client, 'client').trouble()
        if not trouble and not wait(r'(?s)iteration #20.*\n-{30}\n'):
            trouble = 'the server did not receive everything'
        return Verdict(trouble or received(size)(server.wait(0.1)))
    return play


def received(size: int):
    """The examples send the alphabet repeatedly, with a full stop at its end."""
    def check(ended: Ended) -> Optional[str]:
        texts = [line.rstrip('.') for line in ended.output.splitlines() if line.startswith('ABCDEFG')]
        right = (string.ascii_uppercase * (size // 26 + 1))[:size]
        well = texts and all(right.startswith(text) and len(text) >= size - 2 for text in texts)
        return None if well else 'what came is not what was sent'
    return check

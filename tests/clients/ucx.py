"""UCX: it lists the device, and its tests run over rc_verbs and ud_verbs.

It finds the device by paths that the preload library answers for. rc_verbs connects with the help of
ud_verbs, hence rc_v, UCX's name for the two.
"""
from typing import Iterator

from case import Case, all_of, says

TAGGED = ('tag_lat', 'tag_bw', 'tag_sync_lat', 'stream_bw', 'ucp_am_lat')
ONE_SIDED = ('ucp_put_lat', 'ucp_put_bw', 'ucp_get')
ATOMIC = ('ucp_add', 'ucp_fadd', 'ucp_swap', 'ucp_cswap')
SIZES = (8, 4096, 1 << 20)


def cases(second: bool, long: bool) -> Iterator[Case]:
    yield Case('ucx_info -d', ('ucx_info', '-d'), check_client=all_of(
        says(r'Transport: rc_verbs'), says(r'Transport: ud_verbs'), says(r'Device: nerve0:1')))
    for transport in ('rc_v', 'ud_v'):
        for test in TAGGED:
            for size in SIZES:
                yield perftest(transport, test, size, long)
    for test in ONE_SIDED:
        for size in SIZES:
            yield perftest('rc_v', test, size, long)
    for test in ATOMIC:
        yield perftest('rc_v', test, 8, long)
    if second:
        yield perftest('rc_v', 'tag_bw', 4096, long, 'nerve1')
        yield perftest('ud_v', 'tag_bw', 4096, long, 'nerve1')


def perftest(transport: str, test: str, size: int, long: bool, device: str = 'nerve0') -> Case:
    count = max(20, min(2000, (16 << 20) // size)) * (10 if long else 1)
    options = ('-t', test, '-s', str(size), '-n', str(count), '-w', '10', '-f')
    command = ('ucx_perftest', '-p', 'PORT', *options)
    name = f'ucx_perftest {transport} {test} -s {size}' + (f' {device}' if device != 'nerve0' else '')
    env = {'UCX_TLS': f'{transport},self', 'UCX_NET_DEVICES': f'{device}:1'}
    return Case(name, (*command, '127.0.0.1'), command, says(rf'^ +{count} '), env=env)

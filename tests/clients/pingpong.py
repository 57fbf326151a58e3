"""ibverbs-utils: the device list, and the ping-pong of each transport.

`-c` compares the received data with the sent data, where the program supports it.
"""
from typing import Iterator, Optional

from case import Case, all_of, says, with_loss
from process import Ended

MTUS = (256, 512, 1024, 2048, 4096)
SIZES = (1, 63, 4096, 65536, 1 << 20)


def cases(second: bool, long: bool) -> Iterator[Case]:
    yield from devices(second)
    for kind in ('rc', 'uc', 'srq'):
        check = () if kind == 'uc' else ('-c',)
        for size in SIZES:
            yield pingpong(kind, '-s', str(size), '-n', iterations(size, long), *check)
        for mtu in MTUS:
            yield pingpong(kind, '-m', str(mtu), '-s', '20000', '-n', '200', *check)
        yield pingpong(kind, '-e', '-n', '300')
        yield pingpong(kind, gid=1)
    for size in (1, 63, 1024, 4096):
        yield pingpong('ud', '-s', str(size), '-c')
    yield pingpong('ud', '-e', '-n', '300')
    yield pingpong('ud', gid=1)
    for size in SIZES:
        yield pingpong('xsrq', '-s', str(size))
    for mtu in MTUS:
        yield pingpong('xsrq', '-m', str(mtu), '-s', '20000')
    yield pingpong('xsrq', '-e')
    yield pingpong('xsrq', '-n', '100', gid=1)
    for option in ('-o', '-O', '-oP', '-t', '-j', '-N', '-jN'):
        yield pingpong('rc', option, '-n', '300')
    yield with_loss(pingpong('rc', '-s', '20000', '-n', '100', '-c'))
    yield with_loss(pingpong('rc', '-n', '100', '-e'))
    if second:
        for kind in ('rc', 'uc', 'ud', 'srq', 'xsrq'):
            yield pingpong(kind, device='nerve1', gid=0)
        for gid in (1, 2):  # besides the first, which is link-local
            yield pingpong('rc', '-s', '100000', '-n', '100', device='nerve1', gid=gid)


def iterations(size: int, long: bool) -> str:
    return '1000' if long else str(max(20, min(300, (16 << 20) // size)))


def devices(second: bool) -> Iterator[Case]:
    names = ('nerve0', 'nerve1') if second else ('nerve0',)
    yield Case('ibv_devices', ('ibv_devices',),
               check_client=all_of(*(says(rf'^\s+{name}\s+[0-9a-f]{{16}}$') for name in names)))
    yield Case('ibv_devinfo -v', ('ibv_devinfo', '-v'), check_client=all_of(
        *(says(rf'^hca_id:\s+{name}$') for name in names), says(r'PORT_ACTIVE'),
        says(r'link_layer:\s+Ethernet'), says(r'GID\[\s*0\]:\s+::ffff:127\.0\.0\.1, RoCE v2'),
        says(r'GID\[\s*1\]:\s+::1, RoCE v2')))
    yield Case('ibv_devinfo -d nerve0', ('ibv_devinfo', '-d', 'nerve0'),
               check_client=says(r'^hca_id:\s+nerve0$'))


def pingpong(kind: str, *options: str, device: str = 'nerve0', gid: int = 0) -> Case:
    program = f'ibv_{kind}_pingpong'
    where = ('-g', str(gid)) + (('-d', device) if device != 'nerve0' else ())
    command = (program, '-p', 'PORT', *where, *(('-d', device) if device == 'nerve0' else ()),
               *options)
    check = xsrq_done if kind == 'xsrq' else says(r'^\d+ iters in [0-9.]+ seconds')
    return Case(' '.join((program, *options, *where)), (*command, 'localhost'), command, check,
                check)


def xsrq_done(ended: Ended) -> Optional[str]:
    """This one prints its figures only at the client, and always exits with 0."""
    return 'it told of a failure' if 'ail' in ended.output else None

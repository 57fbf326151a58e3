"""CM messages on a cable, field by field: those of Nerve compared with those of Linux.

The same programs ran on both, so a field has the same values from either, or the table below says why not.
It is an independent implementation of IBTA vol. 1, 12.6, and shares nothing with src/wire.
"""
import collections
import ipaddress
import pathlib
import struct
from typing import Iterator, Optional

UD_SEND_ONLY, GSI_QP, CM_CLASS = 0x64, 1, 7
DEFAULT_PKEY, GSI_QKEY = b'\xff\xff', b'\x80\x01\x00\x00'
HEADER, BODY = 24, 232  # bytes of a MAD: its header, the message

# Message: field: (byte, bits to skip in it, width in bits). '-' before a name: the two need not
# agree. (Private data of rsockets contains memory addresses.)
_IDS = {'-local id': (0, 0, 32), '-remote id': (4, 0, 32)}
_PATH = {'local lid': (52, 0, 16), 'remote lid': (54, 0, 16), '-local gid': (56, 0, 128), '-remote gid': (72, 0, 128),
         '-flow label': (88, 0, 20),  # Linux chooses a random one, for the UDP source port; Nerve derives that from the QPNs
         'rate': (91, 2, 6), 'traffic class': (92, 0, 8), 'hop limit': (93, 0, 8), 'service level': (94, 0, 4),
         'subnet local': (94, 4, 1),
         '-ack timeout': (95, 0, 5)}  # Linux 6.1 uses 19, 2.1 s; Nerve 16, 0.27 s
FIELDS = {
    'REQ': {'-local id': (0, 0, 32), 'service': (8, 0, 48), '-port': (14, 0, 16), '-guid': (16, 0, 64), 'qkey': (28, 0, 32),
            '-qpn': (32, 0, 24), 'responder resources': (35, 0, 8), 'eecn': (36, 0, 24), 'initiator depth': (39, 0, 8),
            'remote eecn': (40, 0, 24), 'remote response timeout': (43, 0, 5), 'transport': (43, 5, 2),
            'flow control': (43, 7, 1), '-psn': (44, 0, 24), 'local response timeout': (47, 0, 5),
            'retry count': (47, 5, 3), 'pkey': (48, 0, 16), 'path mtu': (50, 0, 4), 'rdc': (50, 4, 1),
            'rnr retry count': (50, 5, 3), 'cm retries': (51, 0, 4), 'srq': (51, 4, 1), 'extended': (51, 5, 3),
            **_PATH, 'ip cm version': (140, 0, 8), 'ip version': (141, 0, 4), '-source port': (142, 0, 16),
            '-source': (144, 0, 128), '-destination': (160, 0, 128), '-private data': (176, 0, 56 * 8)},
    'MRA': {**_IDS, 'received': (8, 0, 2), 'service timeout': (9, 0, 5), 'private data': (10, 0, 222 * 8)},
    'REJ': {**_IDS, 'rejected': (8, 0, 2), 'info length': (9, 0, 7), 'reason': (10, 0, 16), 'info': (12, 0, 72 * 8),
            'private data': (84, 0, 148 * 8)},
    'REP': {**_IDS, 'qkey': (8, 0, 32), '-qpn': (12, 0, 24), 'eecn': (16, 0, 24), '-psn': (20, 0, 24),
            'responder resources': (24, 0, 8), 'initiator depth': (25, 0, 8), 'ack delay': (26, 0, 5),
            'failover': (26, 5, 2), 'flow control': (26, 7, 1), 'rnr retry count': (27, 0, 3), 'srq': (27, 3, 1),
            '-guid': (28, 0, 64), '-private data': (36, 0, 196 * 8)},
    'RTU': {**_IDS, 'private data': (8, 0, 224 * 8)},
    'DREQ': {**_IDS, '-remote qpn': (8, 0, 24), 'private data': (12, 0, 220 * 8)},
    'DREP': {**_IDS, 'private data': (8, 0, 224 * 8)},
    'SIDR_REQ': {'-local id': (0, 0, 32), 'pkey': (4, 0, 16), 'service': (8, 0, 48), '-port': (14, 0, 16),
                 'ip cm version': (16, 0, 8), 'ip version': (17, 0, 4), '-source port': (18, 0, 16),
                 '-source': (20, 0, 128), '-destination': (36, 0, 128), 'private data': (52, 0, 180 * 8)},
    'SIDR_REP': {'-remote id': (0, 0, 32), 'status': (4, 0, 8), 'info length': (5, 0, 8), '-qpn': (8, 0, 24),
                 'service': (12, 0, 48), '-port': (18, 0, 16), 'qkey': (20, 0, 32), 'info': (24, 0, 72 * 8),
                 'private data': (96, 0, 136 * 8)},
}
NAMES = {0x10: 'REQ', 0x11: 'MRA', 0x12: 'REJ', 0x13: 'REP', 0x14: 'RTU', 0x15: 'DREQ', 0x16: 'DREP',
         0x17: 'SIDR_REQ', 0x18: 'SIDR_REP'}


def datagrams(capture: pathlib.Path) -> Iterator[tuple[str, bytes]]:
    """The sender and contents of each UDP datagram in an Ethernet capture written by tcpdump."""
    bytes, at = capture.read_bytes(), 24
    while at + 16 <= len(bytes):
        length, = struct.unpack_from('=I', bytes, at + 8)
        frame = bytes[at + 16:at + 16 + length]
        at += 16 + length
        if frame[12:14] == b'\x08\x00':
            yield str(ipaddress.ip_address(frame[26:30])), frame[14 + 4 * (frame[14] & 15) + 8:]
        elif frame[12:14] == b'\x86\xdd':
            yield str(ipaddress.ip_address(frame[22:38])), frame[14 + 40 + 8:]


def messages(capture: pathlib.Path) -> Iterator[tuple[str, str, bytes]]:
    """Sender, kind and body of each datagram to QP1; '' if it is not a CM message."""
    for sender, packet in datagrams(capture):
        if packet[0] != UD_SEND_ONLY or int.from_bytes(packet[5:8], 'big') != GSI_QP:
            continue
        mad = packet[20:-4]
        sound = packet[2:4] == DEFAULT_PKEY and packet[12:16] == GSI_QKEY and len(mad) == HEADER + BODY and mad[1] == CM_CLASS
        yield sender, NAMES.get(int.from_bytes(mad[16:18], 'big'), '') if sound else '', mad[HEADER:]


def read(body: bytes, place: tuple[int, int, int]) -> int:
    byte, skip, width = place
    return int.from_bytes(body, 'big') >> (8 * BODY - 8 * byte - skip - width) & ((1 << width) - 1)


def reserved(body: bytes, kind: str) -> int:
    """The bits that belong to no field."""
    rest = int.from_bytes(body, 'big')
    for byte, skip, width in FIELDS[kind].values():
        rest &= ~(((1 << width) - 1) << (8 * BODY - 8 * byte - skip - width))
    return rest


def compare(capture: pathlib.Path, ours: set[str]) -> Optional[str]:
    """None if all are equal, otherwise the first difference."""
    seen = collections.defaultdict(lambda: (set(), set()))
    for sender, kind, body in messages(capture):
        if kind not in FIELDS:
            return f'{sender} sent to QP1 what is none of {", ".join(FIELDS)}'
        if reserved(body, kind):
            return f'{sender} sent a {kind} with reserved bits set'
        for name, place in FIELDS[kind].items():
            seen[kind, name][sender not in ours].add(read(body, place))
    for (kind, name), (from_nerve, from_linux) in seen.items():
        # Messages of cases that run in one direction only were sent by one of them only.
        if not name.startswith('-') and not (from_nerve <= from_linux or from_linux <= from_nerve):
            return (f'{name} of {kind}: {sorted(from_nerve - from_linux)} from Nerve, '
                    f'{sorted(from_linux - from_nerve)} from Linux')
    return None

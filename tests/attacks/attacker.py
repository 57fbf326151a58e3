#!/usr/bin/python3
"""What attackers run, as processes of their own: attacker.py WHAT ARGUMENTS... Prints what it got or sent."""
import os
import socket
import struct
import sys
import time

sys.dont_write_bytecode = True

import roce  # noqa: E402

MAGIC, VERSION = 0x4e727665, 3


def ask(name: str, kind: str) -> None:
    """A call as our own processes make them; prints the answer and the number of descriptors."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as caller:
        caller.settimeout(5)
        caller.connect('\0' + name)
        ring = [os.memfd_create('ring')] if kind == '1' else []
        request = struct.pack('>IIII', MAGIC, VERSION, int(kind), 1)
        socket.send_fds(caller, [request], ring)
        answer, fds, _, _ = socket.recv_fds(caller, 16384, 64)
        print(f'{len(answer)} bytes, {len(fds)} descriptors', flush=True)


def call(name: str, seconds: str) -> None:
    """Connects as often as it can."""
    calls, end = 0, time.monotonic() + float(seconds)
    while time.monotonic() < end:
        for _ in range(100):
            caller = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_NONBLOCK)
            try:
                caller.connect('\0' + name)
                calls += 1
            except BlockingIOError:
                pass
            caller.close()
    print(f'calls {calls}', flush=True)


def squat(prefix: str) -> None:
    """Holds every name of a user."""
    held = []
    for what in [*range(1, 1024), 'joining', 'ports', 'statistics']:
        held.append(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET))
        held[-1].bind(f'\0{prefix}{what}')
    print('holding', flush=True)
    time.sleep(120)


def bind(port: str) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
        stranger.bind(('0.0.0.0', int(port)))
        print('holding', flush=True)
        time.sleep(120)


def forge(seconds: str, *qpns: str) -> None:
    """Packets of the peer, for these QPs, with every PSN in turn."""
    sender = roce.Sender('127.0.0.1', '127.0.0.1', 4791)
    sent, end = 0, time.monotonic() + float(seconds)
    while time.monotonic() < end:
        for qpn in map(int, qpns):
            sender.send(roce.bth(roce.RC_SEND_ONLY, qpn, sent) + b'f' * 64)
            sender.send(roce.bth(roce.RC_ACK, qpn, sent) + struct.pack('>I', 0x60 << 24))  # a NAK: sequence error
            sent += 1
    print(f'sent {2 * sent}', flush=True)


def flood(kind: str, seconds: str, port: str, *qpns: str) -> None:
    """The same packet, or few of them, as fast as one core can send them."""
    sender = roce.Sender('127.0.0.1', '127.0.0.1', int(port))
    good = kind != 'bad-icrc'
    wanted = [int(qpn) for qpn in qpns]
    if kind == 'unknown-qpn':
        wanted = [(int(qpns[0]) + step * 16411) & 0xffffff for step in range(1, 512)]
    packets = []
    for qpn in wanted:
        transport = roce.bth(roce.RC_SEND_ONLY, qpn, 0) + b'f' * 64
        check = sender.icrc(transport)
        packets.append(transport + (check if good else bytes(byte ^ 0x5a for byte in check)))
    sent, end, to = 0, time.monotonic() + float(seconds), ('127.0.0.1', int(port))
    while time.monotonic() < end:
        for packet in packets * max(1, 256 // len(packets)):
            try:
                sender.socket.sendto(packet, socket.MSG_DONTWAIT, to)
                sent += 1
            except OSError:
                pass
    print(f'sent {sent}', flush=True)


if __name__ == '__main__':
    {'ask': ask, 'call': call, 'squat': squat, 'bind': bind, 'forge': forge, 'flood': flood}[sys.argv[1]](*sys.argv[2:])

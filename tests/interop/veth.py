"""A second namespace with Nerve in it, connected to this one by veth pairs: one for each path MTU.

The kernel treats trains differently on an ordinary interface than on loopback. `gso_max_segs 1` makes it segment them
before they reach the cable, as for a NIC without segmentation: so tcpdump sees single packets, with identifications
that the sender had to predict.
"""
import subprocess
import time
from typing import Iterable

import peers

NAMESPACE = 'nerve-interop-far'
FRAME_SIZE = {1024: 1500, 4096: 9000}  # MTU of the cable, by path MTU


def interface(mtu: int) -> str:
    return f'veth{mtu}'


def address(mtu: int, far: bool) -> str:
    return f'203.0.113.{(1 if mtu == 1024 else 129) + far}'


def address6(mtu: int, far: bool) -> str:
    return f'2001:db8:{mtu}::{1 + far}'


class FarEnd:
    def __init__(self, mtus: Iterable[int]):
        self.stop()  # left by a killed run
        ip('netns', 'add', NAMESPACE)
        ip('-n', NAMESPACE, 'link', 'set', 'lo', 'up')
        for mtu in mtus:
            self._join(mtu)

    def stop(self) -> None:
        subprocess.run(('ip', 'netns', 'delete', NAMESPACE), stderr=subprocess.DEVNULL, check=False)

    def _join(self, mtu: int) -> None:
        name = interface(mtu)
        ip('link', 'add', name, 'type', 'veth', 'peer', 'name', name, 'netns', NAMESPACE)
        for far, inside in ((False, ()), (True, ('-n', NAMESPACE))):
            # Addresses are usable at once, without duplicate address detection.
            where = ('ip', 'netns', 'exec', NAMESPACE) if far else ()
            subprocess.run((*where, 'sysctl', '-qw', f'net.ipv6.conf.{name}.accept_dad=0'), check=True)
            ip(*inside, 'link', 'set', name, 'mtu', str(FRAME_SIZE[mtu]), 'gso_max_segs', '1', 'up')
            ip(*inside, 'address', 'add', f'{address(mtu, far)}/25', 'dev', name)
            ip(*inside, 'address', 'add', f'{address6(mtu, far)}/64', 'dev', name, 'nodad')
        for inside in ((), ('-n', NAMESPACE)):
            while 'fe80:' not in ip(*inside, '-6', 'address', 'show', 'dev', name):  # GID index 0, once it appears
                time.sleep(0.05)


def ip(*arguments: str) -> str:
    return subprocess.run(('ip', *arguments), check=True, capture_output=True, text=True).stdout


def ends(host: peers.Nerve, mtu: int) -> dict:
    """The two ends of the cable for that path MTU."""
    def end(far: bool) -> peers.Nerve:
        return peers.Nerve(host.build, host.scratch, interface(mtu), address(mtu, far), address6(mtu, far),
                           NAMESPACE if far else '')

    return {'host': end(False), 'far': end(True)}

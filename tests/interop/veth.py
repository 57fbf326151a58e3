"""A second namespace with Nerve in it, joined to this one by veth pairs: one for each path MTU.

On an ordinary interface the kernel treats trains as it does not on loopback. `gso_max_segs 1` makes it cut them
before they reach the cable, as it would for a NIC that cannot: so tcpdump sees packets, and numbers in them
that the sender had to foresee.
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
        self.stop()  # what a killed run left
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
            # Addresses are of use at once, without asking around whether somebody else has them.
            where = ('ip', 'netns', 'exec', NAMESPACE) if far else ()
            subprocess.run((*where, 'sysctl', '-qw', f'net.ipv6.conf.{name}.accept_dad=0'), check=True)
            ip(*inside, 'link', 'set', name, 'mtu', str(FRAME_SIZE[mtu]), 'gso_max_segs', '1', 'up')
            ip(*inside, 'address', 'add', f'{address(mtu, far)}/25', 'dev', name)
            ip(*inside, 'address', 'add', f'{address6(mtu, far)}/64', 'dev', name, 'nodad')
        for inside in ((), ('-n', NAMESPACE)):
            while 'fe80:' not in ip(*inside, '-6', 'address', 'show', 'dev', name):  # GID index 0, when it comes
                time.sleep(0.05)


def ip(*arguments: str) -> str:
    return subprocess.run(('ip', *arguments), check=True, capture_output=True, text=True).stdout


def ends(host: peers.Nerve, mtu: int) -> dict:
    """This end and the far one of the cable for that path MTU."""
    def end(far: bool) -> peers.Nerve:
        return peers.Nerve(host.build, host.scratch, interface(mtu), address(mtu, far), address6(mtu, far),
                           NAMESPACE if far else '')

    return {'host': end(False), 'far': end(True)}

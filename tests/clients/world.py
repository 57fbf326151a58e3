"""Where the programs run: as an ordinary user, and alone on their network when that can be had.

Started by root, the runner moves into a network namespace of its own (other tests on the machine
hold ports and names there), gives it a second interface, and then lays its rights down for good:
that the programs need none is part of what is tested. Started by anybody else, it stays where it is.
"""
import ctypes
import dataclasses
import fcntl
import os
import pathlib
import pwd
import shutil
import socket
import struct
import subprocess
import tempfile
from typing import Optional

_CLONE_NEWNET = 0x40000000
_SIOCGIFFLAGS, _SIOCSIFFLAGS, _SIOCGIFADDR = 0x8913, 0x8914, 0x8915
_IFF_UP = 1


@dataclasses.dataclass(frozen=True)
class World:
    library: pathlib.Path  # the folder of libibverbs.so.1
    logs: pathlib.Path
    scratch: pathlib.Path  # current directory of the programs
    second: Optional[str]  # an interface besides lo

    def environment(self, transport: str) -> dict:
        """As `nerve run` sets it. Settings of the person who runs the tests do not leak in."""
        env = {name: value for name, value in os.environ.items() if not name.startswith('NERVE_')}
        devices = 'nerve0=lo' + (f',nerve1={self.second}' if self.second else '')
        kept = {name: os.environ[name] for name in ('NERVE_LOG', 'NERVE_PCAP') if name in os.environ}
        return env | kept | {'LD_LIBRARY_PATH': str(self.library), 'NERVE_TRANSPORT': transport,
                             'NERVE_DEVICES': devices, 'HOME': str(self.scratch), 'LC_ALL': 'C'}


def enter(build: pathlib.Path) -> World:
    logs = build / 'clients'
    shutil.rmtree(logs, ignore_errors=True)
    logs.mkdir(parents=True)
    scratch = pathlib.Path(tempfile.mkdtemp(prefix='nerve-clients-'))
    library = build / 'lib'
    if os.geteuid() != 0:
        return World(library, logs, scratch, _other_interface())
    second = _second_interface() if _own_network() else _other_interface()
    nobody = pwd.getpwnam('nobody')
    if not _reachable(library):  # a clone below somebody's home
        shutil.copytree(library, scratch / 'lib', symlinks=True)
        library = scratch / 'lib'
    for folder in (logs, scratch):
        os.chown(folder, nobody.pw_uid, nobody.pw_gid)
    os.setgroups([])
    os.setresgid(nobody.pw_gid, nobody.pw_gid, nobody.pw_gid)
    os.setresuid(nobody.pw_uid, nobody.pw_uid, nobody.pw_uid)
    if not os.access(logs, os.W_OK | os.X_OK):
        logs = scratch
    return World(library, logs, scratch, second)


def _reachable(folder: pathlib.Path) -> bool:
    return all(one.stat().st_mode & 0o001 for one in (folder, *folder.resolve().parents))


def _own_network() -> bool:
    if ctypes.CDLL(None, use_errno=True).unshare(_CLONE_NEWNET) != 0:
        return False
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        request = struct.pack('16sh14x', b'lo', _IFF_UP)
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, request)
    return True


def _second_interface() -> Optional[str]:
    """Its addresses are this machine's own, so packets to them stay here, as with any interface."""
    name = 'second0'
    made = any(_ip('link', 'add', name, 'type', kind) for kind in ('dummy', 'veth', 'bridge'))
    if made and _ip('link', 'set', name, 'up', 'mtu', '1500') and \
            _ip('address', 'add', '198.51.100.7/24', 'dev', name):
        _ip('address', 'add', '2001:db8::7/64', 'dev', name, 'nodad')
        return name
    return None


def _ip(*arguments: str) -> bool:
    try:
        return subprocess.run(('ip', *arguments), capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False


def _other_interface() -> Optional[str]:
    """The first interface besides lo that is up and has an IPv4 address."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        for _, name in socket.if_nameindex():
            request = struct.pack('16s24x', name.encode())
            try:
                flags = fcntl.ioctl(any_socket, _SIOCGIFFLAGS, request)
                fcntl.ioctl(any_socket, _SIOCGIFADDR, request)
            except OSError:
                continue
            if name != 'lo' and struct.unpack_from('16sh', flags)[1] & _IFF_UP:
                return name
    return None

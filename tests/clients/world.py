"""Where the programs run: as an ordinary user, and alone on their network if possible.

Started by root, the runner moves into its own network namespace (other tests on the machine hold ports and
names there), gives it a second interface, an empty /tmp and /dev/shm (some programs have fixed names for
their files there), and then drops its privileges permanently: that the programs need none is part of the test.
Started by another user, it stays where it is.
"""
import ctypes
import dataclasses
import fcntl
import json
import os
import pathlib
import pwd
import secrets
import shutil
import socket
import struct
import subprocess
import tempfile
from typing import Optional

_CLONE_NEWNS, _CLONE_NEWNET = 0x00020000, 0x40000000
_MS_REC, _MS_PRIVATE = 0x4000, 1 << 18
_PR_SET_DUMPABLE = 4
_SIOCGIFFLAGS, _SIOCSIFFLAGS, _SIOCGIFADDR = 0x8913, 0x8914, 0x8915
_IFF_UP = 1
_libc = ctypes.CDLL(None, use_errno=True)


@dataclasses.dataclass(frozen=True)
class World:
    library: pathlib.Path  # the folder of libibverbs.so.1
    logs: pathlib.Path
    logs_name: pathlib.Path  # for display: `logs` may be a path around folders that we cannot enter
    scratch: pathlib.Path  # current directory of the programs
    second: Optional[str]  # an interface besides lo
    settings: dict = dataclasses.field(default_factory=dict)  # further ones, as variables

    def environment(self, transport: str) -> dict:
        """The environment that `nerve run` sets, without the settings of the user who runs the tests."""
        env = {name: value for name, value in os.environ.items() if not name.startswith('NERVE_')}
        devices = 'nerve0=lo' + (f',nerve1={self.second}' if self.second else '')
        kept = {name: os.environ[name] for name in ('NERVE_LOG', 'NERVE_PCAP') if name in os.environ}
        return env | kept | {'LD_LIBRARY_PATH': str(self.library), 'NERVE_TRANSPORT': transport,
                             'LD_PRELOAD': str(self.library / 'libnerve-preload.so'),
                             'NERVE_DEVICES': devices, 'HOME': str(self.scratch), 'LC_ALL': 'C'} | self.settings

    def sealed(self, pair: bool) -> 'World':
        """The same, but every packet must be sealed: with a preshared key, or with a key pair."""
        key = self.scratch / 'seal.toml'
        key.touch(0o600)
        key.write_text(_key_pair() if pair else f'psk = "{secrets.token_hex(32)}"\n')
        return dataclasses.replace(self, settings={'NERVE_SEAL': 'require', 'NERVE_SEAL_KEY': str(key)})


def _key_pair() -> str:
    """The file of a host whose peers are on the same host, or are the two hosts of two_hosts.sh."""
    private = _output('openssl', 'genpkey', '-algorithm', 'X25519', '-outform', 'DER')
    public = _output('openssl', 'pkey', '-inform', 'DER', '-pubout', '-outform', 'DER', given=private)
    links = json.loads(_output('ip', '-json', 'address'))
    addresses = [one['local'] for link in links for one in link['addr_info']] + ['10.9.0.1', '10.9.0.2']
    # In both encodings the key itself comes last.
    peers = ''.join(f'"{one}" = "{public[-32:].hex()}"\n' for one in addresses)
    return f'private = "{private[-32:].hex()}"\n[peers]\n{peers}'


def _output(*command: str, given: bytes = b'') -> bytes:
    return subprocess.run(command, input=given, capture_output=True, check=True).stdout


def enter(build: pathlib.Path) -> World:
    logs = build / 'clients'
    shutil.rmtree(logs, ignore_errors=True)
    logs.mkdir(parents=True)
    if os.geteuid() != 0:
        scratch = pathlib.Path(tempfile.mkdtemp(prefix='nerve-clients-'))
        return World(build / 'lib', logs, logs, scratch, other_interface())
    second = _second_interface() if _own_network() else other_interface()
    if pathlib.Path('/tmp') not in build.parents:
        _own_folders()
    scratch = pathlib.Path(tempfile.mkdtemp(prefix='nerve-clients-'))
    library = build / 'lib'
    if not _reachable(library):  # a clone below another user's home
        shutil.copytree(library, scratch / 'lib', symlinks=True)
        library = scratch / 'lib'
    return World(library, _give_up_rights(logs, scratch), logs, scratch, second)


def _give_up_rights(logs: pathlib.Path, scratch: pathlib.Path) -> pathlib.Path:
    """Returns a path to the logs that is accessible afterwards."""
    # Not nobody: in a user namespace its uid stands for every user that has none there, so Nerve
    # does not trust it (docs/security.md).
    user = pwd.getpwnam('games')
    for folder in (logs, scratch):
        os.chown(folder, user.pw_uid, user.pw_gid)
    kept = os.open(logs, os.O_PATH | os.O_DIRECTORY)
    os.setgroups([])
    os.setresgid(user.pw_gid, user.pw_gid, user.pw_gid)
    os.setresuid(user.pw_uid, user.pw_uid, user.pw_uid)
    _libc.prctl(_PR_SET_DUMPABLE, 1, 0, 0, 0)  # or /proc/self would still belong to root
    return pathlib.Path(f'/proc/self/fd/{kept}')


def _reachable(folder: pathlib.Path) -> bool:
    return all(one.stat().st_mode & 0o001 for one in (folder, *folder.resolve().parents))


def _own_network() -> bool:
    if _libc.unshare(_CLONE_NEWNET) != 0:
        return False
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        request = struct.pack('16sh14x', b'lo', _IFF_UP)
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, request)
    return True


def _own_folders() -> None:
    if _libc.unshare(_CLONE_NEWNS) == 0 and \
            _libc.mount(b'none', b'/', None, _MS_REC | _MS_PRIVATE, None) == 0:
        for folder in (b'/tmp', b'/dev/shm'):
            _libc.mount(b'tmpfs', folder, b'tmpfs', 0, b'mode=1777')


def _second_interface() -> Optional[str]:
    """Its addresses are this machine's own, so packets to them stay local, as with any interface.
    One end of a cable: it is up only when the other end is up, too.
    """
    name, far = 'second0', 'second1'
    if not _ip('link', 'add', name, 'type', 'veth', 'peer', 'name', far):
        return None
    for end in (far, name):
        # Addresses are usable at once, without duplicate address detection.
        pathlib.Path(f'/proc/sys/net/ipv6/conf/{end}/accept_dad').write_text('0')
        _ip('link', 'set', end, 'up', 'mtu', '1500')
    _ip('address', 'add', '2001:db8::7/64', 'dev', name, 'nodad')
    return name if _ip('address', 'add', '198.51.100.7/24', 'dev', name) else None


def _ip(*arguments: str) -> bool:
    try:
        return subprocess.run(('ip', *arguments), capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False


def other_address() -> str:
    """The IPv4 address of the interface besides lo, if there is one."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        request = struct.pack('16s24x', other_interface().encode())
        return socket.inet_ntoa(fcntl.ioctl(any_socket, _SIOCGIFADDR, request)[20:24])


def other_interface() -> Optional[str]:
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

"""Where bad days run: a private network if possible, and programs that run as an ordinary user.

Started by root, the runner moves into a network namespace (other programs of the machine hold ports and
names in theirs) with its own /dev/shm, and starts every program as nobody. Started by another user, it stays where it is, and
cases that need root are skipped.
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
import tempfile
from typing import Optional

CLONE_NEWNS, CLONE_NEWNET = 0x00020000, 0x40000000
_SIOCSIFFLAGS, _IFF_UP = 0x8914, 1


class Trouble(Exception):
    """The case failed; the text says how."""


class Skip(Exception):
    """The case cannot run here; the text says why."""


@dataclasses.dataclass
class Place:
    build: pathlib.Path
    scratch: pathlib.Path   # programs may read and write here
    logs: pathlib.Path
    seed: int
    worlds: int             # number of random worlds
    user: Optional[int]     # the user of the programs; None: ours
    number: int = 0         # of the next log
    started: list = dataclasses.field(default_factory=list)  # programs to end in any case


    @property
    def library(self) -> pathlib.Path:
        return self.scratch / 'lib'

    def program(self, name: str) -> str:
        return str(self.scratch / 'bin' / name)

    def environment(self, transport: str, **settings: str) -> dict:
        """The environment that `nerve run` sets, without the settings of the user who runs the tests."""
        env = {name: value for name, value in os.environ.items() if not name.startswith(('NERVE_', 'LD_'))}
        return env | {'LD_LIBRARY_PATH': str(self.library), 'NERVE_TRANSPORT': transport,
                      'NERVE_DEVICES': 'nerve0=lo', 'HOME': str(self.scratch), 'LC_ALL': 'C',
                      **{f'NERVE_{name.upper()}': value for name, value in settings.items()}}

    def next_log(self, name: str) -> pathlib.Path:
        self.number += 1
        return self.logs / f'{self.number:04d}-{name}'

    def as_user(self) -> dict:
        """The arguments of subprocess.Popen that start a program as the ordinary user."""
        return {} if self.user is None else {'user': self.user, 'group': self.user, 'extra_groups': []}


def unshare(flags: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(flags) != 0:
        raise Skip(f'no namespace: {os.strerror(ctypes.get_errno())}')
    if flags & CLONE_NEWNET:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
            fcntl.ioctl(any_socket, _SIOCSIFFLAGS, struct.pack('16sh14x', b'lo', _IFF_UP))
    if flags & CLONE_NEWNS:  # mounts made from here on stay private
        ms_rec, ms_private = 16384, 1 << 18
        libc.mount(b'none', b'/', None, ms_rec | ms_private, None)


def mount(kind: bytes, where: bytes, options: bytes, flags: int = 0) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(kind, where, kind, flags, options) != 0:
        raise Skip(f'mount {where.decode()}: {os.strerror(ctypes.get_errno())}')


def need_root() -> None:
    if os.geteuid() != 0:
        raise Skip('needs root')


def enter(build: pathlib.Path, seed: int, worlds: int) -> Place:
    logs = build / 'bad_days'
    shutil.rmtree(logs, ignore_errors=True)
    logs.mkdir(parents=True)
    scratch = pathlib.Path(tempfile.mkdtemp(prefix='nerve-bad-days-'))
    shutil.copytree(build / 'lib', scratch / 'lib', symlinks=True)
    if (build.parent / 'asan/lib').exists():
        shutil.copytree(build.parent / 'asan/lib', scratch / 'asan', symlinks=True)
    (scratch / 'bin').mkdir()
    for program in (*(build / 'tests').glob('nerve_verbs_*'), *(build / 'tests').glob('nerve_hostile_*'),
                    build / 'tests/nerve_cm_peer', build / 'src/cli/nerve'):
        if program.is_file():
            shutil.copy(program, scratch / 'bin')
    user = None
    if os.geteuid() == 0:
        unshare(CLONE_NEWNET | CLONE_NEWNS)
        mount(b'tmpfs', b'/dev/shm', b'mode=1777')  # files left there are ours
        user = pwd.getpwnam('nobody').pw_uid
        os.chown(scratch, user, -1)
    return Place(build, scratch, logs, seed, worlds, user)

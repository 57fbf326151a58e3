"""The ends of a case: Nerve, in the namespace; Soft-RoCE, in the guest at the other end of the cable; and Nerve
again in a second namespace, at the far end of a veth pair.

All run the same unmodified programs and are started, watched and ended in the same way.
"""
import dataclasses
import os
import pathlib
import re
import shlex
import subprocess
import sys
from typing import Mapping, Sequence

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent / 'clients'))

from process import Ended, Program, listens  # noqa: E402

# Both GID tables are in the kernel's order: link-local, IPv4, then the global IPv6 address.
GID_INDEX = {'link-local': 0, 'ipv4': 1, 'ipv6': 2}

NO_STATUS = 255  # the guest did not report how a program ended; no program exits with this

# Lines that the guest's shell adds to the output of a program. Each program has its own ssh
# session, whose status is ignored: several at once confuse the small server in the guest.
LISTENING, ENDED = 'guest: listening', 'guest: ended with status'


class GuestProgram(Program):
    def wait(self, seconds: float) -> Ended:
        ended = super().wait(seconds)
        told = re.search(rf'^{ENDED} (\d+)$', ended.output, re.MULTILINE)
        output = re.sub(r'^guest: .*\n', '', ended.output, flags=re.MULTILINE)
        if ended.status is None and not told:
            return Ended(None, output)
        return Ended(int(told[1]) if told else NO_STATUS, output)


@dataclasses.dataclass(frozen=True)
class Nerve:
    """Runs on the host, on the namespace's end of a cable, or in another namespace."""
    build: pathlib.Path
    scratch: pathlib.Path
    interface: str = 'roce0'
    address: str = '198.51.100.1'
    address6: str = '2001:db8:77::1'
    namespace: str = ''  # if not this one
    device = 'nerve0'

    def start(self, command: Sequence[str], extra: Mapping[str, str], log: pathlib.Path, seconds: float,
              port: int = 0, by_cm: bool = False) -> Program:
        """With a port, at which a server will listen."""
        env = {name: value for name, value in os.environ.items() if not name.startswith('NERVE_')}
        env |= {'LD_LIBRARY_PATH': str(self.build / 'lib'), 'NERVE_TRANSPORT': 'udp', 'LC_ALL': 'C',
                'LD_PRELOAD': str(self.build / 'lib/libnerve-preload.so'),
                'NERVE_DEVICES': f'{self.device}={self.interface}', 'NERVE_PCAP_DIRECTION': 'both',
                'PATH': ':'.join((*(str(program.parent) for program in own_programs(self.build)), env['PATH'])), **extra}
        inside = ('ip', 'netns', 'exec', self.namespace) if self.namespace else ()
        return Program((*inside, 'timeout', str(seconds), *command), env, log, self.scratch)

    def listening(self, _: Program, port: int, by_cm: bool) -> bool:
        """Whether a program listens with rdma_cm is not visible from outside: that it uses Nerve is."""
        return '@nerve/' in pathlib.Path('/proc/net/unix').read_text() if by_cm else listens(port)


@dataclasses.dataclass
class Guest:
    """Soft-RoCE. Its programs end by themselves when the time is up, whatever happens to the connection."""
    scratch: pathlib.Path
    _lost: int = 0
    device = 'rxe0'
    address = '198.51.100.2'
    address6 = '2001:db8:77::2'

    def start(self, command: Sequence[str], _: Mapping[str, str], log: pathlib.Path, seconds: float,
              port: int = 0, by_cm: bool = False) -> Program:
        look = (f'rdma resource show cm_id | grep -q "LISTEN.*:{port} "' if by_cm else
                f'grep -q ":{port:04X} .* 0A " /proc/net/tcp /proc/net/tcp6')
        wait_for_port = (f'while kill -0 $pid 2>/dev/null; do {look} '
                         f'&& echo "{LISTENING}" && break; sleep 0.05; done;') if port else ''
        script = (f'timeout {seconds} {shlex.join(command)} & pid=$!; {wait_for_port} '
                  f'wait $pid; echo "{ENDED} $?"')
        return GuestProgram((str(HERE / 'guest.sh'), 'exec', script), os.environ, log, self.scratch)

    def listening(self, program: Program, _: int, __: bool) -> bool:
        return LISTENING in program.output()

    def says(self, command: str) -> str | None:
        """The output of a short command; None if it fails."""
        done = subprocess.run((HERE / 'guest.sh', 'exec', command), capture_output=True, text=True, check=False,
                              timeout=60, stdin=subprocess.DEVNULL)
        return done.stdout if done.returncode == 0 else None

    def install(self, program: pathlib.Path) -> None:
        with open(program, 'rb') as content:
            subprocess.run((HERE / 'guest.sh', 'exec', f'cat >/bin/{program.name} && chmod +x /bin/{program.name}'),
                           stdin=content, check=True, timeout=60)

    def lose(self, percent: int) -> None:
        """From now on the guest loses this share of the packets it sends."""
        tc = '/usr/sbin/tc qdisc'
        self._lost += self._dropped()
        done = self.says(f'{tc} replace dev eth0 root netem loss {percent}%' if percent else
                         f'{tc} delete dev eth0 root')
        assert done is not None, 'the guest cannot lose packets: is sch_netem there?'

    def lost(self) -> int:
        return self._lost + self._dropped()

    def _dropped(self) -> int:
        found = re.search(r'netem .*?dropped (\d+)', self.says('/usr/sbin/tc -s qdisc show dev eth0') or '', re.DOTALL)
        return int(found[1]) if found else 0


def own_programs(build: pathlib.Path) -> list[pathlib.Path]:
    return [build / 'tests/interop' / name / f'nerve_{name}' for name in ('compare', 'meet')]


def guest_script(action: str) -> int:
    return subprocess.run((HERE / 'guest.sh', action), check=False, stdin=subprocess.DEVNULL).returncode

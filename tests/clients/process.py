"""Programs with a time limit, each in its own process group, ended by id and never by name."""
import ctypes
import dataclasses
import os
import pathlib
import signal
import subprocess
import time
from typing import Mapping, Optional, Sequence


@dataclasses.dataclass(frozen=True)
class Ended:
    status: Optional[int]  # None if the time was up
    output: str

    def trouble(self) -> Optional[str]:
        """A few words if the program did not end well."""
        if self.status == 0:
            return None
        if self.status is None:
            return 'did not end in time'
        if self.status < 0:
            return f'killed by {signal.Signals(-self.status).name}'
        return f'exit status {self.status}{last_words(self.output)}'


def last_words(output: str) -> str:
    lines = [line.strip() for line in output.splitlines()
             if line.strip(' -\t') and not line.startswith('nerve: pid ')]  # the summary is not an error
    return f': {lines[-1][:90]}' if lines else ''


_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None)


def _die_with_the_runner() -> None:
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


class Program:
    def __init__(self, command: Sequence[str], env: Mapping[str, str], log: pathlib.Path,
                 directory: pathlib.Path):
        self._log = log
        with open(log, 'wb') as out:
            out.write(f'$ {" ".join(command)}\n'.encode())
            out.flush()
            # A session of its own, so that all its descendants can be ended with it.
            self._process = subprocess.Popen(command, env=dict(env), cwd=directory,
                                             stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                                             start_new_session=True, preexec_fn=_die_with_the_runner)

    @property
    def pid(self) -> int:
        return self._process.pid

    def running(self) -> bool:
        return self._process.poll() is None

    def output(self) -> str:
        """The output so far."""
        return self._log.read_text(errors='replace').partition('\n')[2]

    def wait(self, seconds: float) -> Ended:
        """How it ended; it does not outlive the call."""
        try:
            self._process.wait(max(seconds, 0.1))
            status = self._process.returncode
        except subprocess.TimeoutExpired:
            status = None
        self.end()
        return Ended(status, self.output())

    def end(self) -> None:
        try:
            os.killpg(self._process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self._process.wait()


def listens(port: int) -> bool:
    """True if a socket of this network namespace listens for TCP connections at the port."""
    wanted = f':{port:04X}'
    for table in ('/proc/net/tcp', '/proc/net/tcp6'):
        try:
            lines = pathlib.Path(table).read_text().splitlines()[1:]
        except OSError:
            continue  # no IPv6 here
        for fields in (line.split() for line in lines):
            if fields[1].endswith(wanted) and fields[3] == '0A':
                return True
    return False


def wait_until_listening(program: Program, port: int, seconds: float) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end and program.running():
        if listens(port):
            return True
        time.sleep(0.01)
    return False

"""Pairs of verbs_peer processes: started, watched, ended by their ids."""
import os
import pathlib
import re
import signal
import socket
import subprocess
import threading
import time
from typing import List, Optional, Tuple

from place import Place, Trouble


def now_ms() -> int:
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1_000_000


def wait_for(condition, seconds: float, what: str):
    """Waits for the first true value of the condition."""
    end = time.monotonic() + seconds
    while True:
        if value := condition():
            return value
        if time.monotonic() > end:
            raise Trouble(f'{what}: not within {seconds:g} s')
        time.sleep(0.005)


class Stalls:
    """The longest time that this machine lets a runnable process wait for a CPU: a delay of
    a few times that is caused by the machine."""

    def __init__(self):
        self._worst, self._over = 0.0, False
        self._thread = threading.Thread(target=self._measure, daemon=True)
        self._thread.start()

    def _measure(self) -> None:
        while not self._over:
            before = time.monotonic()
            time.sleep(0.01)
            self._worst = max(self._worst, time.monotonic() - before - 0.01)

    def allowance(self) -> float:
        return 10 * self._worst

    def end(self) -> None:
        self._over = True
        self._thread.join()


def settings_as_text(settings: dict) -> List[str]:
    return [f'{name}={value}' for name, value in settings.items()]


class Program:
    """A process whose output is kept in two files, and which is ended with the runner."""

    def __init__(self, place: Place, command, env: dict, name: str, **how):
        self.log = place.next_log(name)
        self.out, self.err = self.log.with_suffix('.out'), self.log.with_suffix('.err')
        with open(self.out, 'wb') as out, open(self.err, 'wb') as err:
            self.process = subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                                            cwd='/', **(place.as_user() | how))
        place.started.append(self)

    def text(self) -> str:
        return self.out.read_text(errors='replace')

    def errors(self) -> str:
        return self.err.read_text(errors='replace')

    def running(self) -> bool:
        return self.process.poll() is None

    def signal(self, number: int) -> None:
        if self.running():
            self.process.send_signal(number)

    def kill(self) -> None:
        self.signal(signal.SIGKILL)
        self.process.wait()

    def wait(self, seconds: float) -> int:
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise Trouble(f'pid {self.process.pid} did not end within {seconds:g} s; {self.log}.*') from None


class Peer(Program):
    def __init__(self, place: Place, role: str, channel: socket.socket, env: dict, settings: dict, **how):
        fd = channel.fileno()
        command = [*how.pop('wrapper', ()), place.program('nerve_verbs_peer'), role, str(fd), *settings_as_text(settings)]
        super().__init__(place, command, env, role, pass_fds=(fd,), **how)
        self.killed_at: Optional[int] = None

    def kill(self) -> None:
        self.killed_at = now_ms()
        super().kill()

    def ready(self) -> bool:
        return 'ready ' in self.text()

    def rounds(self) -> int:
        beats = re.findall(r'^beat (\d+) \d+$', self.text(), re.M)
        return int(beats[-1]) if beats else 0

    def end_line(self) -> str:
        found = re.search(r'^end (.*)$', self.text(), re.M)
        return found[1] if found else ''

    def expect_ok(self, seconds: float) -> int:
        """How many rounds it completed, all of them right."""
        self.wait(seconds)
        found = re.fullmatch(r'ok rounds=(\d+)', self.end_line())
        if not found:
            raise Trouble(f'{self.end_line() or "no last word"!r} (exit status {self.process.returncode}); {self.log}.*')
        return int(found[1])

    def expect_dead(self, seconds: float) -> Tuple[int, int]:
        """Since when it had no answer, and when it noticed that its peer is gone."""
        self.wait(seconds)
        found = re.fullmatch(r'dead status=12 since_ms=(\d+) at_ms=(\d+)', self.end_line())
        if not found:
            raise Trouble(f'{self.end_line() or "no last word"!r} instead of a retry-exceeded; {self.log}.*')
        return int(found[1]), int(found[2])


class Pair:
    def __init__(self, place: Place, transport: str, *, first=None, lead=None, follow=None, env=None, how=None, **settings):
        """`first` is called when the leader runs and before the follower does."""
        self.transport, self.settings = transport, {'seed': place.seed, **settings}
        env = place.environment(transport) | (env or {})
        ends = socket.socketpair()
        self.lead = Peer(place, 'lead', ends[0], env, self.settings | (lead or {}), **(how or {}))
        if first:
            first()
        self.follow = Peer(place, 'follow', ends[1], env, self.settings | (follow or {}), **(how or {}))
        for end in ends:
            end.close()

    def both(self):
        return (self.lead, self.follow)

    def wait_ready(self, seconds: float = 20) -> 'Pair':
        for peer in self.both():
            wait_for(lambda p=peer: p.ready() or not p.running(), seconds, f'ready: {peer.log}')
            if not peer.ready():
                raise Trouble(f'{peer.end_line()!r} {peer.errors()[-300:]!r}; {peer.log}.*')
        return self

    def rounds(self) -> int:
        return self.lead.rounds()

    def wait_rounds(self, more: int, seconds: float = 20) -> None:
        goal = self.rounds() + more
        wait_for(lambda: self.rounds() >= goal or not self.lead.running(), seconds, f'{more} rounds: {self.lead.log}')

    def finish(self, seconds: float = 30) -> int:
        self.lead.signal(signal.SIGTERM)
        rounds = self.lead.expect_ok(seconds)
        self.follow.expect_ok(seconds)
        return rounds

    def timeout(self) -> float:
        return 4.096e-6 * 2 ** self.settings.get('timeout', 15)

    def retry_time(self) -> float:
        """The time without an answer, in seconds, after which its attributes specify an error."""
        return self.timeout() * (self.settings.get('retry', 2) + 1)


def bound(port: int) -> bool:
    for table in ('/proc/net/udp', '/proc/net/udp6'):
        try:
            lines = pathlib.Path(table).read_text().splitlines()[1:]
        except OSError:
            continue
        if any(line.split()[1].endswith(f':{port:04X}') for line in lines):
            return True
    return False


def names() -> List[str]:
    return re.findall(r'@(nerve/\S+)', pathlib.Path('/proc/net/unix').read_text())


def memfds() -> List[str]:
    """Processes of our network namespace that hold shared memory of Nerve."""
    found, own = [], os.readlink('/proc/self/ns/net')
    for process in pathlib.Path('/proc').glob('[0-9]*'):
        try:
            if os.readlink(process / 'ns/net') == own and '/memfd:nerve' in (process / 'maps').read_text():
                found.append(process.name)
        except OSError:
            continue
    return found


def expect_nothing_left(port: int, shm_before: List[str]) -> None:
    def left() -> str:
        traces = [*(f'name {name}' for name in names()), *(f'memory held by {pid}' for pid in memfds()),
                  *(f'/dev/shm/{name}' for name in os.listdir('/dev/shm') if name not in shm_before)]
        if bound(port):
            traces.append(f'udp port {port}')
        return ', '.join(traces)
    end = time.monotonic() + 2  # the kernel cleans up after a process asynchronously
    while left():
        if time.monotonic() > end:
            raise Trouble(f'left behind: {left()}')
        time.sleep(0.01)

"""A case: the command lines of two programs, and how to tell from their output that they succeeded."""
import dataclasses
import pathlib
import re
import time
from typing import Callable, Optional, Sequence

from process import Ended, Program

# Checks the output of a program that exited with 0; None if it is right, otherwise what is wrong.
Check = Callable[[Ended], Optional[str]]


@dataclasses.dataclass(frozen=True)
class Verdict:
    trouble: Optional[str]  # None on success
    note: str = ''


class Stage:
    """Where one case runs: its environment, port, folder and time. Programs that it started do not outlive it."""

    def __init__(self, env: dict, port: int, scratch: pathlib.Path, log: pathlib.Path, seconds: float):
        self.env, self.port, self.scratch = env, port, scratch
        self._log, self._limit, self._programs = log, time.monotonic() + seconds, []

    def remaining(self) -> float:
        return self._limit - time.monotonic()

    def start(self, command: Sequence[str], role: str, **env: str) -> Program:
        """PORT in the command stands for the port of the case; `role` names the log."""
        full = tuple(word.replace('PORT', str(self.port)) for word in command)
        program = Program(full, self.env | env, self._log.with_suffix(f'.{role}.log'), self.scratch)
        self._programs.append(program)
        return program

    def finish(self, command: Sequence[str], role: str, **env: str) -> Ended:
        return self.start(command, role, **env).wait(self.remaining())

    def end(self) -> None:
        for program in self._programs:
            program.end()


def content(_: Ended) -> Optional[str]:
    return None


@dataclasses.dataclass(frozen=True)
class Case:
    """`server` and `client` contain PORT in place of a TCP port of the case.

    Without a server the client is the whole case. A server that never exits is ended once its
    client is done (`lasting`); any other must exit by itself, with status 0. Whether a server listens at an
    rdma_cm port (`by_cm`) is not visible from outside: its client retries until it is accepted.
    A case that is not such a pair defines in `act` how it runs.
    """
    name: str
    client: Sequence[str] = ()
    server: Sequence[str] = ()
    check_client: Check = content
    check_server: Check = content
    lasting: bool = False
    by_cm: bool = False
    multicast: bool = False  # needs UDP: shared memory alone does not work
    note: Optional[Callable[[Ended], str]] = None  # for the line of a client that passed
    seconds: float = 60  # reached only by a hang, even under load
    act: Optional[Callable[[Stage, 'Case'], Verdict]] = None
    env: dict = dataclasses.field(default_factory=dict)


def by_cm(name: str, server: Sequence[str], client: Sequence[str], **more) -> Case:
    return Case(name, client, server, by_cm=True, **more)


LOSS = 'loss=1%,seed=7'


def with_loss(case: Case) -> Case:
    """The same with packet loss. A case that passes only takes longer."""
    return dataclasses.replace(case, name=f'{case.name}, {LOSS}', env=case.env | {'NERVE_FAULT': LOSS},
                               seconds=2 * case.seconds)


def says(pattern: str) -> Check:
    """The output must contain a line like this."""
    def check(ended: Ended) -> Optional[str]:
        if re.search(pattern, ended.output, re.MULTILINE):
            return None
        return f'nothing like "{pattern}" in the output'
    return check


def all_of(*checks: Check) -> Check:
    def check(ended: Ended) -> Optional[str]:
        return next((why for why in (one(ended) for one in checks) if why), None)
    return check

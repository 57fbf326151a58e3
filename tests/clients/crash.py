"""What is known of a program that was killed: `nerve run --summary` prints its line, as the parent."""
import os
import pathlib
import re
import signal
import time
from typing import Iterator, Optional

from case import Case, Stage, Verdict
from process import Program, wait_until_listening


def cases(second: bool, long: bool) -> Iterator[Case]:
    yield Case('nerve run --summary, ib_write_bw killed', act=kill_one)


def child_of(program: Program, stage: Stage) -> Optional[int]:
    """The program that `nerve run` has started, once it is another one."""
    while stage.remaining() > 0 and program.running():
        children = pathlib.Path(f'/proc/{program.pid}/task/{program.pid}/children').read_text().split()
        if children and pathlib.Path(f'/proc/{children[0]}/comm').read_text() == 'ib_write_bw\n':
            return int(children[0])
        time.sleep(0.01)
    return None


def kill_one(stage: Stage, _: Case) -> Verdict:
    nerve = pathlib.Path(stage.env['LD_LIBRARY_PATH']).parent / 'src/cli/nerve'
    if not os.access(nerve, os.X_OK):
        return Verdict(None, f'passed over: this user may not run {nerve}')
    command = ('ib_write_bw', '-d', 'nerve0', '-p', 'PORT', '-D', '30', '-F')
    server = stage.start(command, 'server')
    if not wait_until_listening(server, stage.port, 20):
        return Verdict('ib_write_bw does not listen')
    client = stage.start((str(nerve), 'run', '--summary', '--', *command, '127.0.0.1'), 'client')
    pid = child_of(client, stage)
    if pid is None:
        return Verdict('nerve run started nothing')
    time.sleep(3)  # it connects, and sends
    os.kill(pid, signal.SIGKILL)
    ended = client.wait(stage.remaining())
    server.end()
    if ended.status != -signal.SIGKILL:
        return Verdict(f'nerve run ended with {ended.status}, not by SIGKILL')
    line = re.search(rf'^nerve: pid {pid} ib_write_bw: (.*); killed by SIGKILL$', ended.output, re.MULTILINE)
    if line is None:
        return Verdict(f'no summary of pid {pid}')
    if ended.output.count('nerve: ') != 1:
        return Verdict('there is more than the summary')
    if not re.search(r'(shm|udp|direct) [\d.]+ [MG]B ', line[1]):
        return Verdict(f'it sent nothing: {line[1]}')
    return Verdict(None, line[1].split(', received')[0])

#!/usr/bin/python3
"""A controller of live paths: two hosts behind ECMP routers, as network namespaces, with ib_write_bw between them.
One line for each case, then `N passed, N failed`. Needs root."""
import argparse
import contextlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
from typing import List

sys.dont_write_bytecode = True

from network import FAR_TCP, NEAR_TCP, Network  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
ADDRESS = f'{NEAR_TCP}:4790'


class Trouble(Exception):
    """The case failed; the text says how."""


class World:
    """The network, the programs in it, and their logs."""

    def __init__(self, nerve: pathlib.Path, network: Network, scratch: pathlib.Path):
        self.nerve, self.network, self.scratch = str(nerve), network, scratch
        self.programs: List[subprocess.Popen] = []
        self.key, self.other_key = (self._make_key(name) for name in ('key', 'other-key'))

    def _make_key(self, name: str) -> str:
        file = self.scratch / name
        subprocess.run((self.nerve, 'key', str(file)), check=True)
        return str(file)

    def log(self, name: str) -> str:
        return (self.scratch / name).read_text(errors='replace')

    def start(self, host: str, name: str, *command: str) -> subprocess.Popen:
        env = {key: value for key, value in os.environ.items() if not key.startswith(('NERVE_', 'LD_'))}
        with open(self.scratch / name, 'wb') as log:
            program = subprocess.Popen([*self.network.at(host), *command], stdout=log, stderr=subprocess.STDOUT, env=env)
        self.programs.append(program)
        return program

    def controller(self) -> subprocess.Popen:
        program = self.start('near', 'controller', self.nerve, 'controller', '--listen', ADDRESS, '--key', self.key)
        self.wait_for(lambda: 'listening' in self.log('controller'), 10, 'the controller')
        return program

    def traffic(self, seconds: int, qps: int, key: str = '', timeout: int = 14) -> List[subprocess.Popen]:
        """ib_write_bw from the near host to the far one."""
        nerve = [self.nerve, 'run', '--device', 'nerve0=rdma0']
        if key:
            nerve += ['--controller', ADDRESS, '--controller-key', key]
        test = ['stdbuf', '-oL', 'ib_write_bw', '-F', '-D', str(seconds), '-s', '65536', '-q', str(qps), '-u', str(timeout),
                '-d', 'nerve0']
        far = self.start('far', 'server', *nerve, '--', *test)
        self.wait_for(lambda: 'Waiting' in self.log('server') or far.poll() is not None, 20, 'the server')
        return [far, self.start('near', 'client', *nerve, '--', *test, FAR_TCP)]

    def finish(self, programs: List[subprocess.Popen], seconds: float = 60) -> None:
        for program, name in zip(programs, ('server', 'client')):
            try:
                status = program.wait(seconds)
            except subprocess.TimeoutExpired:
                raise Trouble(f'the {name} did not end; logs: {self.scratch}') from None
            if status != 0:
                raise Trouble(f'the {name} ended with status {status}; logs: {self.scratch}')
        if not re.search(r'^\s*65536\s+\d+\s+\S+\s+[1-9]', self.log('client'), re.MULTILINE):
            raise Trouble(f'the client has no result; logs: {self.scratch}')

    def sent_in(self, seconds: float) -> List[int]:
        """Packets from the near host over each middle router."""
        before = self.network.forwarded('to-r1')
        time.sleep(seconds)
        return [after - first for first, after in zip(before, self.network.forwarded('to-r1'))]

    def wait_for(self, condition, seconds: float, what: str) -> None:
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > end:
                raise Trouble(f'{what}: not within {seconds:g} s; logs: {self.scratch}')
            time.sleep(0.05)

    def wait_until_it_sends(self) -> None:
        self.wait_for(lambda: sum(self.sent_in(0.2)) > 500, 30, 'traffic')

    def end(self) -> None:
        for program in self.programs:
            if program.poll() is None:
                program.kill()
            program.wait()


def even(counts: List[int]) -> bool:
    return min(counts) > 0 and max(counts) <= 1.3 * min(counts)


def shown(counts: List[int]) -> str:
    return ' : '.join(f'{count / max(sum(counts), 1):.0%}' for count in counts)


def spreads(world: World) -> str:
    """Eight QPs over four paths: two on each."""
    programs = world.traffic(4, 8)
    world.wait_until_it_sends()
    without = world.sent_in(2)
    world.finish(programs)
    world.controller()
    programs = world.traffic(10, 8, world.key)
    world.wait_until_it_sends()
    time.sleep(3)
    counts = world.sent_in(3)
    world.finish(programs)
    if not even(counts):
        raise Trouble(f'the paths are used unevenly: {shown(counts)}; logs: {world.scratch}')
    return f'{shown(counts)}; without a controller {shown(without)}'


def survives_a_router(world: World) -> str:
    """A router drops everything, and no other router notices."""
    world.controller()
    programs = world.traffic(12, 8, world.key, timeout=16)
    world.wait_until_it_sends()
    time.sleep(4)
    world.network.kill_middle(2)
    time.sleep(3)
    counts = world.sent_in(2)
    world.finish(programs)
    # The prober still asks whether the path is back.
    if counts[1] > sum(counts) / 50:
        raise Trouble(f'flows stay on the dead path: {shown(counts)}; logs: {world.scratch}')
    if sum(counts) == 0:
        raise Trouble(f'nothing is sent any more; logs: {world.scratch}')
    return f'{shown(counts)} after the second router has died'


def outlives_the_controller(world: World) -> None:
    controller = world.controller()
    programs = world.traffic(6, 4, world.key)
    world.wait_until_it_sends()
    time.sleep(1)
    controller.kill()
    world.finish(programs)


def refuses_another_key(world: World) -> None:
    world.controller()
    programs = world.traffic(3, 4, world.other_key)
    world.finish(programs)
    if 'moved' in world.log('controller') or 'connected' in world.log('controller'):
        raise Trouble(f'an agent with another key was heard; logs: {world.scratch}')
    if 'another key' not in world.log('controller'):
        raise Trouble(f'the controller does not say why it refused; logs: {world.scratch}')
    if 'key' not in world.log('client'):
        raise Trouble(f'the client does not say why it has no controller; logs: {world.scratch}')


def believes_no_liar(world: World) -> str:
    """A controller with the right key that orders nonsense."""
    liar = world.start('near', 'liar', 'python3', '-B', str(HERE / 'liar.py'), NEAR_TCP, '4790', world.key)
    world.wait_for(lambda: 'listening' in world.log('liar'), 10, 'the liar')
    programs = world.traffic(6, 4, world.key)
    world.finish(programs)
    if liar.poll() is not None:
        raise Trouble(f'the liar has ended; logs: {world.scratch}')
    sessions = world.log('liar').count('session')
    orders = re.findall(r'orders (\d+)', world.log('liar'))
    if not orders:
        raise Trouble(f'nobody listened to the liar; logs: {world.scratch}')
    return f'{sum(map(int, orders))} orders in {sessions} sessions'


CASES = {
    'flows spread evenly over the paths': spreads,
    'flows leave a router that has died': survives_a_router,
    'programs outlive the controller': outlives_the_controller,
    'an agent with another key is refused': refuses_another_key,
    'a lying controller breaks nothing': believes_no_liar,
}


def run_one(name: str, case, options: argparse.Namespace) -> bool:
    before = time.monotonic()
    scratch = pathlib.Path(tempfile.mkdtemp(prefix='nerve-controller-'))
    failed = False
    with contextlib.ExitStack() as stack:
        network = stack.enter_context(Network())
        world = World(options.build / 'src' / 'cli' / 'nerve', network, scratch)
        stack.callback(world.end)
        try:
            remark = case(world)
            line = f'ok   {name}' + (f': {remark}' if remark else '')
        except Trouble as reason:
            failed, line = True, f'FAIL {name}: {reason}'
    if not failed and not options.keep_logs:
        shutil.rmtree(scratch)
    print(f'{line} ({time.monotonic() - before:.1f} s)', flush=True)
    return not failed


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog='./nerve test controller', description=__doc__)
    parser.add_argument('filter', nargs='?', default='', metavar='FILTER',
                        help='run the cases whose line matches this regular expression')
    parser.add_argument('--list', action='store_true', help='print the cases and run nothing')
    parser.add_argument('--keep-logs', action='store_true', help='keep the logs of cases that passed too')
    parser.add_argument('--build', type=pathlib.Path, required=True, help=argparse.SUPPRESS)
    return parser.parse_args()


def cannot() -> str:
    if os.geteuid() != 0:
        return 'it needs root, to make network namespaces'
    for program in ('ip', 'ib_write_bw', 'sysctl', 'stdbuf'):
        if not shutil.which(program):
            return f'it needs {program}'
    name = f'nerve-{os.getpid()}-probe'
    made = subprocess.run(('ip', 'netns', 'add', name), check=False, capture_output=True, text=True)
    if made.returncode != 0:
        return f'no network namespace can be made: {made.stderr.strip()}'
    policy = subprocess.run(('ip', 'netns', 'exec', name, 'sysctl', '-qw', 'net.ipv4.fib_multipath_hash_policy=1'),
                            check=False, capture_output=True, text=True)
    subprocess.run(('ip', 'netns', 'del', name), check=False)
    return '' if policy.returncode == 0 else 'this kernel has no fib_multipath_hash_policy'


def main() -> int:
    options = arguments()
    wanted = [name for name in CASES if re.search(options.filter, name)]
    if not wanted:
        print(f"nerve: controller: no case matches '{options.filter}'; --list shows them", file=sys.stderr)
        return 2
    if options.list:
        print(*wanted, sep='\n')
        return 0
    if reason := cannot():
        print(f'skipped: {reason}')
        return 0
    results = [run_one(name, CASES[name], options) for name in wanted]
    print(f'{results.count(True)} passed, {results.count(False)} failed')
    return 0 if all(results) else 1


if __name__ == '__main__':
    sys.exit(main())

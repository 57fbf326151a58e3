"""Two flows between two hosts whose link is slower than the senders: shares, retransmissions, and no collapse."""
import os
import re
import subprocess
import time
from typing import List, Tuple

import place as places
from peers import Program, wait_for
from place import Place, Skip, Trouble

NEAR, FAR = '10.78.0.1', '10.78.0.2'
RATE = 400  # Mb/s
QUEUE, DELAY = '400kb', '200us'  # 8 ms of the link; of packets on their way back
SECONDS = 6
OURSELVES = {'user': None, 'group': None, 'extra_groups': None}  # nsenter needs root; it drops it then


def run(*words: str) -> None:
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Skip(f'{" ".join(words)}: {done.stderr.strip()}')


class FarHost:
    """A network namespace at the other end of a cable; `cable0` is its interface, `nerve-a` ours."""

    def __enter__(self):
        self.process = subprocess.Popen(['unshare', '--net', 'sleep', '600'])  # pylint: disable=consider-using-with
        ours = os.readlink('/proc/self/ns/net')
        wait_for(lambda: os.readlink(f'/proc/{self.process.pid}/ns/net') != ours, 10, 'a namespace')
        run('ip', 'link', 'add', 'nerve-a', 'type', 'veth', 'peer', 'name', 'cable0', 'netns', str(self.process.pid))
        run('ip', 'addr', 'add', f'{NEAR}/24', 'dev', 'nerve-a')
        run('ip', 'link', 'set', 'nerve-a', 'up')
        for words in (['link', 'set', 'lo', 'up'], ['addr', 'add', f'{FAR}/24', 'dev', 'cable0'],
                      ['link', 'set', 'cable0', 'up']):
            run(*self.at(), 'ip', *words)
        run('tc', 'qdisc', 'add', 'dev', 'nerve-a', 'root', 'tbf', 'rate', f'{RATE}mbit', 'burst', '32kb',
            'limit', QUEUE)
        # Not every kernel has netem; without it the round trip is that of the two programs.
        subprocess.run([*self.at(), 'tc', 'qdisc', 'add', 'dev', 'cable0', 'root', 'netem', 'delay', DELAY],
                       check=False, capture_output=True)
        time.sleep(1)  # until the cable has a carrier
        return self

    def __exit__(self, *_):
        subprocess.run(['ip', 'link', 'del', 'nerve-a'], check=False, capture_output=True)
        self.process.kill()
        self.process.wait()

    def at(self) -> List[str]:
        return ['nsenter', '-t', str(self.process.pid), '-n']


def flows(place: Place, far: FarHost, congestion: str) -> Tuple[List[float], str]:
    """The throughput of each flow in Mb/s, and how many packets each sent again."""
    test = ['stdbuf', '-oL', 'ib_write_bw', '-F', '-D', str(SECONDS), '-s', '65536', '-t', '16', '--report_gbits', '-d', 'nerve0']
    user = [] if place.user is None else ['setpriv', f'--reuid={place.user}', '--clear-groups']
    clients = []
    for port in ('18515', '18516'):
        settings = {'congestion': congestion, 'mtu': '1024', 'summary': 'on'}
        server = Program(place, [*far.at(), *user, *test, '-p', port],
                         place.environment('udp', devices='nerve0=cable0', **settings), 'server', **OURSELVES)
        wait_for(lambda: server.process.poll() is None and 'Waiting' in server.text(), 20, 'the server')
        clients.append((test + ['-p', port, FAR], place.environment('udp', devices='nerve0=nerve-a', **settings)))
    running = [Program(place, command, env, 'client') for command, env in clients]
    rates, again = [], []
    for program in running:
        if program.wait(60) != 0:
            raise Trouble(f'{congestion}: a flow ended; {program.log}.*')
        row = re.search(r'^\s*65536\s+\d+\s+\S+\s+(\S+)', program.text(), re.MULTILINE)
        if not row:
            raise Trouble(f'no result in {program.log}.out')
        rates.append(1000 * float(row[1]))
        summary = program.err.read_text(errors='replace')
        again += re.findall(r'([\d.]+(?: [kM])?) retransmitted', summary)
    return rates, ' + '.join(again)


def shares(place: Place) -> str:
    places.need_root()
    told = []
    with FarHost() as far:
        for congestion in ('none', 'dcqcn', 'learned'):
            rates, again = flows(place, far, congestion)
            told.append(f'{congestion} {rates[0]:.0f} + {rates[1]:.0f} Mb/s, {again} sent again')
            if congestion != 'learned':
                continue
            fairness = sum(rates) ** 2 / (2 * sum(rate * rate for rate in rates))
            if sum(rates) < RATE / 2:
                raise Trouble(f'the flows collapsed: {"; ".join(told)}')
            if fairness < 0.8:
                raise Trouble(f'unfair: {"; ".join(told)}')
    return '; '.join(told)


def cases():
    yield 'two flows share a slow link', shares

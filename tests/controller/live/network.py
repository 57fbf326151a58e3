"""Two hosts behind two ECMP routers with four routers between them, as network namespaces:

    near --- r1 === m1..m4 === r2 --- far          near --- far: another cable, for TCP

The routers choose among the four by a hash of addresses and ports, with a secret of the kernel's."""
import json
import os
import subprocess
from typing import List

MIDDLES = 4
NEAR, FAR = '10.77.1.1', '10.77.2.1'          # RDMA
NEAR_TCP, FAR_TCP = '10.80.0.1', '10.80.0.2'  # everything else: it must not be lost with a router


def sh(*words: str) -> str:
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


class Network:
    def __init__(self):
        self.prefix = f'nerve-{os.getpid()}-'
        self.made: List[str] = []

    def name(self, short: str) -> str:
        return self.prefix + short

    def at(self, short: str) -> List[str]:
        return ['ip', 'netns', 'exec', self.name(short)]

    def ip(self, short: str, *words: str) -> str:
        return sh('ip', '-n', self.name(short), *words)

    def set(self, short: str, **settings) -> None:
        words = [f'{name.replace("__", ".")}={value}' for name, value in settings.items()]
        sh(*self.at(short), 'sysctl', '-qw', *words)

    def __enter__(self):
        try:
            self._make()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for namespace in self.made:
            subprocess.run(('ip', 'netns', 'del', namespace), check=False, capture_output=True)

    def _namespace(self, short: str) -> None:
        sh('ip', 'netns', 'add', self.name(short))
        self.made.append(self.name(short))
        self.set(short, net__ipv6__conf__all__disable_ipv6=1)
        self.ip(short, 'link', 'set', 'lo', 'up')

    def _cable(self, a: str, b: str, a_address: str, b_address: str, a_name: str = '', b_name: str = '') -> None:
        a_name, b_name = a_name or f'to-{b}', b_name or f'to-{a}'
        sh('ip', 'link', 'add', a_name, 'netns', self.name(a), 'type', 'veth', 'peer', 'name', b_name, 'netns', self.name(b))
        for short, name, address in ((a, a_name, a_address), (b, b_name, b_address)):
            self.ip(short, 'addr', 'add', f'{address}/24', 'dev', name)
            self.ip(short, 'link', 'set', name, 'up')

    def _make(self) -> None:
        middles = [f'm{i}' for i in range(1, MIDDLES + 1)]
        for short in ('near', 'far', 'r1', 'r2', *middles):
            self._namespace(short)
        for router in ('r1', 'r2', *middles):
            # Linux limits ICMP messages to one a second for each host.
            self.set(router, net__ipv4__ip_forward=1, net__ipv4__icmp_ratelimit=0, net__ipv4__icmp_msgs_per_sec=100000,
                     net__ipv4__icmp_errors_use_inbound_ifaddr=1, net__ipv4__conf__all__rp_filter=0,
                     net__ipv4__fib_multipath_hash_policy=1)
        self._cable('near', 'r1', NEAR, '10.77.1.254', 'rdma0')
        self._cable('far', 'r2', FAR, '10.77.2.254', 'rdma0')
        self._cable('near', 'far', NEAR_TCP, FAR_TCP)
        self.ip('near', 'route', 'add', '10.77.2.0/24', 'via', '10.77.1.254')
        self.ip('far', 'route', 'add', '10.77.1.0/24', 'via', '10.77.2.254')
        for i, middle in enumerate(middles, 1):
            self._cable('r1', middle, f'10.78.{i}.1', f'10.78.{i}.2')
            self._cable(middle, 'r2', f'10.79.{i}.1', f'10.79.{i}.2')
            self.ip(middle, 'route', 'add', '10.77.1.0/24', 'via', f'10.78.{i}.1')
            self.ip(middle, 'route', 'add', '10.77.2.0/24', 'via', f'10.79.{i}.2')
            self.ip('near', 'route', 'add', f'10.79.{i}.0/24', 'via', '10.77.1.254')
            self.ip('far', 'route', 'add', f'10.78.{i}.0/24', 'via', '10.77.2.254')
            self.ip('r1', 'route', 'add', f'10.79.{i}.0/24', 'via', f'10.78.{i}.2')
            self.ip('r2', 'route', 'add', f'10.78.{i}.0/24', 'via', f'10.79.{i}.1')
        for router, to, cable in (('r1', '10.77.2.0/24', '10.78.{}.2'), ('r2', '10.77.1.0/24', '10.79.{}.1')):
            hops = [word for i in range(1, MIDDLES + 1) for word in ('nexthop', 'via', cable.format(i))]
            self.ip(router, 'route', 'add', to, *hops)

    def forwarded(self, cable: str) -> List[int]:
        """The packets that each middle router has received from this cable."""
        return [json.loads(self.ip(f'm{i}', '-s', '-j', 'link', 'show', cable))[0]['stats64']['rx']['packets']
                for i in range(1, MIDDLES + 1)]

    def kill_middle(self, number: int) -> None:
        """It drops what it should forward, in both directions, and nobody notices."""
        self.set(f'm{number}', net__ipv4__ip_forward=0)

    def revive_middle(self, number: int) -> None:
        self.set(f'm{number}', net__ipv4__ip_forward=1)

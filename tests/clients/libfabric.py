"""libfabric: its verbs provider lists the device, and fi_pingpong runs over it with the data compared.

The provider ignores loopback interfaces, and lists nothing for connected endpoints if the first
device is one: so the cases use only the other interface.
"""
import dataclasses
import re
from typing import Iterator, Optional

import pair
import world
from case import Case, Stage, Verdict, all_of, says, with_loss
from process import Ended

# Endpoint, provider, and the TCP provider for comparison.
KINDS = (('msg', 'verbs', 'tcp'), ('rdm', 'verbs;ofi_rxm', 'tcp;ofi_rxm'), ('rdm', 'verbs;ofi_rxd', None),
         ('dgram', 'verbs', None))


def cases(second: bool, long: bool) -> Iterator[Case]:
    if not second:
        return
    env = {'NERVE_DEVICES': f'nerve0={world.other_interface()}'}
    yield Case('fi_info -p verbs', ('fi_info', '-p', 'verbs'), env=env, check_client=all_of(
        says('^provider: verbs$'), says('domain: nerve0$'), says('domain: nerve0-dgram$'),
        says('protocol: FI_PROTO_RDMA_CM_IB_RC'), says('protocol: FI_PROTO_RXM'), says('protocol: FI_PROTO_IB_UD')))
    count = 1000 if long else 50
    for endpoint, provider, beside in KINDS:
        yield pingpong(env, endpoint, provider, count, beside=beside)
    yield pingpong(env, 'rdm', 'verbs;ofi_rxm', count, '-m', 'tagged')
    yield with_loss(pingpong(env, 'msg', 'verbs', count, '-S', '4096'))


def pingpong(env: dict, endpoint: str, provider: str, count: int, *options: str,
             beside: Optional[str] = None) -> Case:
    address = world.other_address()

    def over(one: str) -> dict:
        common = ('fi_pingpong', '-e', endpoint, '-p', one, '-I', str(count), '-c', *options)
        return {'server': (*common, '-B', 'PORT'), 'client': (*common, '-P', 'PORT', address)}

    def act(stage: Stage, case: Case) -> Verdict:
        verdict = pair.play(stage, case)
        if verdict.trouble or not beside:
            return verdict
        tcp = pair.play(stage, dataclasses.replace(case, **over(beside)))
        return tcp if tcp.trouble else Verdict(None, f'{verdict.note}; {beside} {tcp.note}')

    name = ' '.join(('fi_pingpong', '-e', endpoint, '-p', provider, '-I', str(count), *options))
    return Case(name, **over(provider), check_client=all_there, check_server=all_there, act=act, note=figures,
                seconds=120, env=env)


def lines(ended: Ended):
    """For each size: its name, what was sent, what was acknowledged, and the microseconds of a transfer."""
    return re.findall(r'^(\d+[km]?) +(\S+) +([-+=]\S+) .* ([\d.]+) +[\d.]+$', ended.output, re.MULTILINE)


def all_there(ended: Ended) -> Optional[str]:
    came = lines(ended)
    return None if came and all(ack == f'={sent}' for _, sent, ack, _ in came) else f'sent and acknowledged: {came}'


def figures(ended: Ended) -> str:
    return ', '.join(f'{size} {microseconds} us' for size, _, _, microseconds in (lines(ended)[0], lines(ended)[-1]))

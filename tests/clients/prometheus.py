"""Prometheus, from Debian, scrapes `nerve metrics` while two pairs of programs run; a query has to sum their bytes
to what they sent. Without the package prometheus the case says so and is passed over."""
import json
import os
import pathlib
import re
import shutil
import socket
import time
import urllib.parse
import urllib.request
from typing import Iterator, Optional

from case import Case, Stage, Verdict
from process import wait_until_listening

SIZE = 65536
ITERATIONS = {'shm': 100_000, 'udp': 60_000}  # some seconds of each
MTU = 4096
PAIRS = 2
DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # whatever proxy this machine wants


def cases(second: bool, long: bool) -> Iterator[Case]:
    yield Case('prometheus scrapes two ib_send_bw', act=scrape, seconds=240)
    yield Case('prometheus-node-exporter in a namespace sees ib_send_bw', act=export, seconds=120)


def free_port() -> int:
    with socket.socket() as one:
        one.bind(('127.0.0.1', 0))
        return one.getsockname()[1]


class Prometheus:
    """A server that scrapes one target every second."""

    def __init__(self, stage: Stage, target: int):
        self.port = free_port()
        config = stage.scratch / f'prometheus-{self.port}.yml'
        config.write_text('global: {scrape_interval: 1s, scrape_timeout: 1s}\n'
                          'scrape_configs:\n- job_name: nerve\n  static_configs:\n'
                          f'  - targets: ["127.0.0.1:{target}"]\n')
        self.program = stage.start(
            ('prometheus', f'--config.file={config}', f'--storage.tsdb.path={stage.scratch}/tsdb-{self.port}',
             f'--web.listen-address=127.0.0.1:{self.port}', '--log.level=warn'), 'prometheus')

    def ask(self, query: str) -> Optional[float]:
        """The one number that the query has now; None while there is none."""
        url = f'http://127.0.0.1:{self.port}/api/v1/query?' + urllib.parse.urlencode({'query': query})
        try:
            with DIRECT.open(url, timeout=5) as answer:
                result = json.load(answer)['data']['result']
        except OSError:
            return None
        return float(result[0]['value'][1]) if result else None


def nerve_of(stage: Stage) -> pathlib.Path:
    return pathlib.Path(stage.env['LD_LIBRARY_PATH']).parent / 'src/cli/nerve'


def lacks(stage: Stage, package: str) -> Optional[Verdict]:
    """What is not there to run the case with."""
    if shutil.which(package) is None:
        return Verdict(None, f'passed over: {package} is not installed; sudo apt-get install {package}')
    if not os.access(nerve_of(stage), os.X_OK):
        return Verdict(None, f'passed over: this user may not run {nerve_of(stage)}')
    return None


def scrape(stage: Stage, _: Case) -> Verdict:
    if missing := lacks(stage, 'prometheus'):
        return missing
    nerve, target = nerve_of(stage), free_port()
    metrics = stage.start((str(nerve), 'metrics', '--listen', f'127.0.0.1:{target}'), 'metrics')
    if not wait_until_listening(metrics, target, 10):
        return Verdict('nerve metrics does not listen')
    prometheus = Prometheus(stage, target)
    if not wait_until_listening(prometheus.program, prometheus.port, 30):
        return Verdict(f'prometheus does not listen: {prometheus.program.output()[-200:]}')
    until = time.monotonic() + 30
    while prometheus.ask('up') != 1:  # it has scraped once
        if time.monotonic() > until:
            return Verdict('prometheus does not scrape')
        time.sleep(0.1)
    return compare(stage, prometheus)


def compare(stage: Stage, prometheus: Prometheus) -> Verdict:
    iterations = ITERATIONS[stage.env['NERVE_TRANSPORT']]
    words = ('-d', 'nerve0', '-s', str(SIZE), '-n', str(iterations), '-F')
    servers, clients = [], []
    for number in range(PAIRS):
        port = free_port()
        command = ('ib_send_bw', '-p', str(port), *words)
        servers.append(stage.start(command, f'server{number}'))
        if not wait_until_listening(servers[-1], port, 20):
            return Verdict('ib_send_bw does not listen')
        clients.append(stage.start((*command, '127.0.0.1'), f'client{number}'))
    pids = '|'.join(str(program.pid) for program in servers + clients)
    ours = f'{{pid=~"{pids}"}}'
    for program in (*clients, *servers):
        if trouble := program.wait(stage.remaining()).trouble():
            return Verdict(f'ib_send_bw: {trouble}')
    sent = PAIRS * iterations * SIZE
    total = f'sum(nerve_path_bytes_total{ours})'
    until = time.monotonic() + 20  # the last scrape, and one before it
    while (counted := prometheus.ask(total) or 0) < sent and time.monotonic() < until:
        time.sleep(0.2)
    seen = int(prometheus.ask(f'sum(max_over_time(nerve_process_running{ours}[10m]))') or 0)
    if seen < 2 * PAIRS:
        return Verdict(f'it saw {seen} programs run, not {2 * PAIRS}')
    again = (prometheus.ask(f'sum(nerve_retransmitted_total{ours})') or 0) * MTU
    if not sent <= counted <= sent + again:
        return Verdict(f'{total} is {counted:.0f}; sent were {sent}, and resent at most {again:.0f}')
    device = prometheus.ask('node_infiniband_port_data_transmitted_bytes_total{device="nerve0"}') or 0
    if device < counted:
        return Verdict(f'the device has sent {device:.0f}, less than two of its programs: {counted:.0f}')
    return Verdict(None, f'{seen} programs, {counted / 1e9:.2f} GB')


def export(stage: Stage, _: Case) -> Verdict:
    """A static program: it reads files that `nerve run` mounts, and writes once a second."""
    if missing := lacks(stage, 'prometheus-node-exporter'):
        return missing
    nerve, target = nerve_of(stage), free_port()
    exporter = stage.start((str(nerve), 'run', '--offer', 'namespace', '--', 'prometheus-node-exporter',
                            '--collector.disable-defaults', '--collector.infiniband',
                            f'--web.listen-address=127.0.0.1:{target}'), 'exporter', LD_PRELOAD='')
    if not wait_until_listening(exporter, target, 20):
        output = exporter.wait(0.1).output
        if 'user namespace' in output:
            return Verdict(None, 'passed over: this machine has no user namespaces')
        return Verdict(f'node_exporter does not listen: {output[-200:]}')
    before = exported(target)
    iterations = ITERATIONS[stage.env['NERVE_TRANSPORT']] // 4
    command = ('ib_send_bw', '-p', 'PORT', '-d', 'nerve0', '-s', str(SIZE), '-n', str(iterations), '-F')
    server = stage.start(command, 'server')
    if not wait_until_listening(server, stage.port, 20):
        return Verdict('ib_send_bw does not listen')
    for program in (stage.start((*command, '127.0.0.1'), 'client'), server):
        if trouble := program.wait(stage.remaining()).trouble():
            return Verdict(f'ib_send_bw: {trouble}')
    sent, until = iterations * SIZE, time.monotonic() + 10
    while (more := exported(target) - before) < sent and time.monotonic() < until:
        time.sleep(0.2)
    if more < sent:
        return Verdict(f'node_exporter saw {more} bytes, sent were {sent}')
    return Verdict(None, f'{more / 1e9:.2f} GB')


def exported(port: int) -> int:
    """Bytes that the device has sent, says node_exporter."""
    with DIRECT.open(f'http://127.0.0.1:{port}/metrics', timeout=5) as answer:
        text = answer.read().decode()
    found = re.search(r'^node_infiniband_port_data_transmitted_bytes_total'
                      r'\{device="nerve0",port="1"\} (\S+)$', text, re.MULTILINE)
    return int(float(found[1])) if found else 0

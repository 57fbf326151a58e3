"""MPI: Open MPI and MPICH, both over UCX, with programs of ours (mpi/) on 2 to 8 ranks, on one host and on two.

Each rank prints a digest of everything that it received. A case passes if the digests are those of a run over TCP, and if
every rank reports that Nerve carried packets of it.
"""
import dataclasses
import functools
import pathlib
import re
import subprocess
import sys
import threading
import time
from typing import Iterator, Optional

from case import LOSS, Case, Stage, Verdict

PROGRAMS = ('hello', 'ring', 'allreduce', 'alltoall', 'onesided')
COMPILERS = {'openmpi': 'mpicc.openmpi', 'mpich': 'mpicc.mpich'}
HOSTS = '10.9.0.1:2,10.9.0.2:2'  # as two_hosts.sh creates them, with two ranks on each

# Read before the runner changes to a user that may not be able to read it.
_HERE = pathlib.Path(__file__).parent
_FILES = {file.name: file.read_text() for file in (*(_HERE / 'mpi').iterdir(), *_HERE.glob('*_host*.sh'))}
_lock = threading.Lock()  # for data shared by cases: built programs, and results over TCP
_over_tcp = {}


@dataclasses.dataclass(frozen=True)
class Run:
    library: str
    program: str
    ranks: int
    transport: str = 'rc_v'
    two_hosts: bool = False
    loss: bool = False

    def name(self) -> str:
        where = ' on two hosts' if self.two_hosts else ''
        return f'{self.library} {self.transport} {self.program} -np {self.ranks}{where}{f", {LOSS}" if self.loss else ""}'


def cases(second: bool, long: bool) -> Iterator[Case]:
    for program in PROGRAMS:
        for ranks in (2, 4, 8):
            yield case(Run('openmpi', program, ranks))
        for ranks in (2, 4, 8) if long else (2, 4):  # these do not yield while they wait
            yield case(Run('mpich', program, ranks))
    for library in COMPILERS:
        for program in ('ring', 'allreduce', 'onesided'):
            yield case(Run(library, program, 2, 'ud_v'))
    if hosts_can_be_made():
        for program in PROGRAMS:
            yield case(Run('openmpi', program, 4, two_hosts=True))
        yield case(Run('mpich', 'alltoall', 4, two_hosts=True))
        yield case(Run('mpich', 'allreduce', 4, 'ud_v', two_hosts=True))
    for library in COMPILERS:
        yield case(Run(library, 'allreduce', 2, loss=True))
        yield case(Run(library, 'figures', 2))


def case(run: Run) -> Case:
    env = {'UCX_TLS': f'{run.transport},self', 'UCX_NET_DEVICES': 'nerve0:1', 'NERVE_SUMMARY': 'on'}
    if run.loss:
        env |= {'NERVE_FAULT': LOSS, 'UCX_RC_TIMEOUT': '100ms'}
    return Case(run.name(), act=lambda stage, _: play(stage, run), env=env, seconds=120)


def play(stage: Stage, run: Run) -> Verdict:
    with _lock:
        trouble = build(stage, run)
        expected = None if trouble else over_tcp(stage, run)
    if trouble or len(digests(expected)) != run.ranks:
        return Verdict(trouble or 'over TCP it did not get to its end')
    env = dict(stage.env)
    if run.two_hosts:
        env['NERVE_DEVICES'] = 'nerve0=cable0'
        if env['NERVE_TRANSPORT'] == 'shm':
            env['NERVE_TRANSPORT'] = 'auto'  # shared memory where possible
    done = stage.finish(command(run, stage.scratch, env), 'nerve', **env, MPIR_CVAR_NOLOCAL='1')
    trouble = (done.trouble() or compare(digests(done.output), digests(expected)) or
               unused(run, done.output, 'udp' if run.two_hosts else env['NERVE_TRANSPORT']))
    return Verdict(trouble, '' if trouble else figures(done.output, expected))


def command(run: Run, scratch: pathlib.Path, env: Optional[dict] = None) -> tuple:
    """With the environment that ranks on another host need; or none, for TCP."""
    program, agent = str(binary(scratch, run)), str(scratch / 'mpi' / 'at_host.sh')
    if run.library == 'mpich':
        hosts = ('-launcher', 'rsh', '-launcher-exec', agent, '-hosts', HOSTS) if run.two_hosts and env else ()
        line = ('mpiexec.mpich', '-n', str(run.ranks), *hosts, program)
    else:
        way = settings(pml='ucx', osc='ucx') if env else settings(pml='ob1', btl='tcp,self', btl_tcp_if_include='lo')
        hosts = ('--host', HOSTS, *settings(plm_rsh_agent=agent),
                 *(word for name in env if name.startswith(('LD_', 'NERVE_', 'UCX_')) for word in ('-x', name))
                 ) if run.two_hosts and env else ()
        line = ('mpirun.openmpi', '-np', str(run.ranks), '--oversubscribe', *settings(mpi_yield_when_idle='1'),
                *way, *hosts, program)
    return (str(scratch / 'mpi' / 'two_hosts.sh'), *line) if run.two_hosts and env else line


def settings(**values: str) -> tuple:
    return tuple(word for name, value in values.items() for word in ('--mca', name, value))


def binary(scratch: pathlib.Path, run: Run) -> pathlib.Path:
    return scratch / 'mpi' / f'{run.program}.{run.library}'


def build(stage: Stage, run: Run) -> Optional[str]:
    folder = stage.scratch / 'mpi'
    if not folder.exists():
        folder.mkdir()
        for name, text in _FILES.items():
            (folder / name).write_text(text)
            (folder / name).chmod(0o755)
    if binary(stage.scratch, run).exists():
        return None
    return stage.finish((COMPILERS[run.library], '-O2', '-o', str(binary(stage.scratch, run)),
                         str(folder / f'{run.program}.c')), 'build', LD_PRELOAD='', LD_LIBRARY_PATH='').trouble()


def over_tcp(stage: Stage, run: Run) -> str:
    """The output of a run without Nerve, on one host: the placement of ranks does not affect their results.

    It is ended once every rank has printed its digest: MPICH over UCX's TCP does not always return from MPI_Finalize.
    """
    key = (run.library, run.program, run.ranks)
    if key not in _over_tcp:
        program = stage.start(command(run, stage.scratch), 'tcp', LD_PRELOAD='', LD_LIBRARY_PATH='', UCX_TLS='tcp,self',
                              UCX_NET_DEVICES='lo', MPIR_CVAR_NOLOCAL='1', UCX_WARN_UNUSED_ENV_VARS='n')
        while program.running() and stage.remaining() > 0 and len(digests(program.output())) < run.ranks:
            time.sleep(0.05)
        _over_tcp[key] = program.wait(0.5).output
    return _over_tcp[key]


def digests(output: str) -> set:
    return set(re.findall(r'rank \d+ of \d+ digest [0-9a-f]{16}', output))


def compare(ours: set, theirs: set) -> Optional[str]:
    return None if ours == theirs else f'not what TCP brought: {", ".join(sorted(ours ^ theirs))}'


def unused(run: Run, output: str, way: str) -> Optional[str]:
    """Fails if the messages were not carried by Nerve, or not over the requested transport."""
    told = re.findall(r'nerve: pid \d+ \S+: shm (0|[^)]+\)), udp (0|[^)]+\)), .*, (.+) retransmitted', output)
    carried = [{'shm': shm != '0', 'udp': udp != '0'} for shm, udp, _ in told]
    if len(told) != run.ranks or not all(any(one.values()) for one in carried):
        return f'{sum(any(one.values()) for one in carried)} of {run.ranks} ranks sent packets'
    if not any(one[way] for one in carried):
        return f'no packet went by {way}'
    return 'nothing was retransmitted' if run.loss and all(again == '0' for _, _, again in told) else None


def figures(ours: str, theirs: str) -> str:
    told = [re.search(r'^figures (.*)$', one, re.MULTILINE) for one in (ours, theirs)]
    return f'{told[0][1]}; TCP: {told[1][1]}' if all(told) else ''


@functools.cache
def hosts_can_be_made() -> bool:
    line = ('unshare', '--user', '--map-current-user', '--keep-caps', '--net', '--uts', 'true')
    tried = subprocess.run(line, capture_output=True, check=False)
    if tried.returncode != 0:
        print('mpi: no user namespaces here, so the cases on two hosts are left out', file=sys.stderr)
    return tried.returncode == 0

"""Gloo over its ibverbs transport: Debian's library under a small program of ours, one process for each rank, with
every result compared; then the same over Gloo's TCP transport, to compare times."""
import pathlib
import re
import subprocess
import tempfile
from typing import Iterator, Sequence

from case import Case, Stage, Verdict
from process import last_words

# Read now, because the user that the runner becomes may not be able to read the tree.
SOURCE = (pathlib.Path(__file__).resolve().parent / 'gloo' / 'collectives.cc').read_bytes()
PROGRAM = 'collectives'
COUNTS = (1, 1000, 1 << 18)  # floats
TOLD = ('allreduce_ring_chunked', 'allreduce_halving_doubling')  # in the note, with the largest count


def prepare(scratch: pathlib.Path) -> None:
    subprocess.run(('g++', '-std=c++20', '-O1', '-x', 'c++', '-', '-o', scratch / PROGRAM, '-lgloo'), input=SOURCE,
                   check=True)


def cases(second: bool, long: bool) -> Iterator[Case]:
    for ranks in (2, 4):
        for device in ('nerve0', 'nerve1') if second and ranks == 2 else ('nerve0',):
            yield Case(f'gloo {ranks} ranks {device}', act=lambda stage, _, n=ranks, d=device: play(stage, n, d, long))


def play(stage: Stage, ranks: int, device: str, long: bool) -> Verdict:
    counts = (*COUNTS, 1 << 22) if long else COUNTS
    times = {}
    for transport, name in (('ibverbs', device), ('tcp', 'lo')):
        trouble, output = run_ranks(stage, (transport, name), ranks, counts)
        if trouble:
            return Verdict(f'{transport}: {trouble}')
        times[transport] = dict(re.findall(rf'^(\w+) {4 * counts[-1]} (\d+) us$', output, re.MULTILINE))
    size = f'{4 * counts[-1] >> 20} MB'
    return Verdict(None, '; '.join(f'{name} {size} {times["ibverbs"][name]} us, tcp {times["tcp"][name]}'
                                   for name in TOLD))


def run_ranks(stage: Stage, transport: Sequence[str], ranks: int, counts: Sequence[int]):
    """What went wrong, if anything, and the output of rank 0."""
    store = tempfile.mkdtemp(dir=stage.scratch)
    programs = [stage.start((f'./{PROGRAM}', *transport, str(rank), str(ranks), store, *map(str, counts)),
                            f'{transport[0]}-{rank}') for rank in range(ranks)]
    ended = [program.wait(stage.remaining()) for program in programs]
    for rank, one in enumerate(ended):
        if one.trouble() or not one.output.endswith('all right\n'):
            return f'rank {rank}: {one.trouble() or last_words(one.output)}', ''
    return None, ended[0].output

#!/usr/bin/env python3
"""Goal: `mpirun nerve sim` gives the result of one process, and ends with an error when something is
wrong; `mpirun nerve sweep` gives that of `nerve sweep`, also when a rank dies; `mpirun nerve learn` finds
the policy of `nerve learn`. Method: real mpirun.

    mpi_test.py NERVE_SIM [unittest option]...
"""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import typing
import unittest

HERE = pathlib.Path(__file__).parent
MPIRUN = shutil.which('mpirun.openmpi') or 'mpirun'
SMALL = '''name = "small"
[servers]
count = 8
gpus = 1
[fabric]
topology = "leaf-spine"
nic_rate = "100 Gb/s"
nics_per_leaf = 4
spines = 2
[nic]
congestion = "dcqcn"
[[job]]
kind = "all-to-all"
size = "1 MB"
'''
NOT_IN_THE_HASH = ('wall_seconds', 'memory_bytes', 'derived')


def environment() -> dict:
    return {**os.environ, 'OMPI_ALLOW_RUN_AS_ROOT': '1', 'OMPI_ALLOW_RUN_AS_ROOT_CONFIRM': '1'}


def ranks_of(mpirun: int) -> dict:
    """The processes that this mpirun has started, by rank."""
    found = {}
    for child in pathlib.Path(f'/proc/{mpirun}/task/{mpirun}/children').read_text(encoding='ascii').split():
        try:
            variables = pathlib.Path(f'/proc/{child}/environ').read_bytes().split(b'\0')
        except OSError:
            continue
        for one in variables:
            if one.startswith(b'OMPI_COMM_WORLD_RANK='):
                found[int(one.split(b'=')[1])] = int(child)
    return found


class Mpi(unittest.TestCase):
    program = ''

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix='nerve-mpi-'))
        self.addCleanup(shutil.rmtree, self.folder)
        self.scenario = self.write('small.toml', SMALL)

    def write(self, name: str, text: str) -> str:
        (self.folder / name).write_text(text, encoding='utf-8')
        return str(self.folder / name)

    def start(self, *words: str) -> subprocess.Popen:
        return subprocess.Popen(words, cwd=self.folder, env=environment(), stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True)

    def run_for(self, *words: str) -> tuple:
        with self.start(*words) as process:
            return self.said_by(process, 200), process.returncode

    def kill_rank(self, mpirun: subprocess.Popen, rank: int, after: typing.Callable[[], bool]):
        end = time.monotonic() + 60
        while rank not in (ranks := ranks_of(mpirun.pid)) or not after():
            self.assertLess(time.monotonic(), end, 'mpirun has started no such rank, or it does nothing')
            time.sleep(0.02)
        os.kill(ranks[rank], signal.SIGKILL)

    def said_by(self, process: subprocess.Popen, seconds: float) -> str:
        try:
            return process.communicate(timeout=seconds)[0]
        except subprocess.TimeoutExpired:
            process.terminate()  # mpirun ends its ranks
            self.fail(f'still running after {seconds} s: {process.communicate()[0]}')

    def result(self, *words: str) -> dict:
        said, code = self.run_for(*words, '--quiet', '--out', 'out')
        self.assertEqual(code, 0, said)
        result = json.loads((self.folder / 'out/result.json').read_text(encoding='utf-8'))
        return {key: value for key, value in result.items() if key not in NOT_IN_THE_HASH}

    def mpirun(self, ranks: int, *words: str) -> list:
        return [MPIRUN, '--oversubscribe', '-n', str(ranks), *words]


class Sim(Mpi):
    def test_gives_the_result_of_one_process(self):
        alone = self.result(self.program, 'sim', self.scenario, '--cores', '1')
        for ranks, cores in ((2, 1), (3, 1), (2, 2)):
            many = self.result(*self.mpirun(ranks, self.program, 'sim', self.scenario, '--cores', str(cores)))
            self.assertEqual(many, alone, f'{ranks} ranks, {cores} cores')

    def test_refuses_different_scenarios(self):
        other = self.write('other.toml', SMALL + 'start = "3 us"\n')
        said, code = self.run_for(MPIRUN, '--oversubscribe', '-n', '1', self.program, 'sim', self.scenario,
                                  ':', '-n', '1', self.program, 'sim', other)
        self.assertNotEqual(code, 0)
        self.assertIn('rank 1 has another scenario', said)

    def test_ends_with_an_error_when_a_rank_dies(self):
        long = self.write('long.toml', SMALL.replace('1 MB', '4 GB'))
        running = time.monotonic() + 3
        with self.start(*self.mpirun(2, self.program, 'sim', long, '--quiet', '--anyway')) as mpirun:
            self.kill_rank(mpirun, 1, after=lambda: time.monotonic() > running)
            said = self.said_by(mpirun, 60)
        self.assertNotEqual(mpirun.returncode, 0)
        self.assertNotIn('hash', said)

    def test_refuses_a_run_that_would_not_notice_a_death(self):
        said, code = self.run_for(MPIRUN, '--oversubscribe', '--enable-recovery', '-n', '2', self.program, 'sim',
                                  self.scenario)
        self.assertNotIn('hash', said)
        self.assertIn('leave it out', said, code)

    def test_without_its_module_is_an_error(self):
        alone = shutil.copy(self.program, self.folder / 'nerve-sim')
        said, code = self.run_for(*self.mpirun(2, str(alone), 'sim', self.scenario))
        self.assertNotEqual(code, 0)
        self.assertIn('libopenmpi-dev', said)
        self.assertNotIn('hash', said)

    def test_runs_alone_what_cannot_be_divided(self):
        said, code = self.run_for(*self.mpirun(2, self.program, 'sim', self.scenario, '--set',
                                               'nic.transport=tcp', '--quiet'))
        self.assertEqual(code, 0, said)
        self.assertIn('because TCP hosts run in one part; rank 0 runs it alone', said)
        self.assertEqual(said.count('hash '), 1)

    @unittest.skipUnless(os.geteuid() == 0 and shutil.which('ip') and os.access('/proc/self/ns/net', os.R_OK),
                         'needs root and network namespaces')
    def test_runs_in_two_network_namespaces(self):
        if subprocess.run(['unshare', '--net', 'true'], capture_output=True, check=False).returncode != 0:
            self.skipTest('network namespaces are not allowed here')
        alone = self.result(self.program, 'sim', self.scenario)
        many = self.result(str(HERE / 'two_namespaces.sh'), self.program, self.scenario)
        self.assertEqual(many, alone)


class Sweep(Mpi):
    vary = ('--vary', 'seed=1,2,3,4,5,6', '--vary', 'fabric.routing=ecmp,spray')

    def figures(self, *words: str) -> list:
        said, code = self.run_for(*words, '--out', 'out', '--quiet')
        self.assertEqual(code, 0, said)
        return self.figures_in(self.folder / 'out')

    @staticmethod
    def figures_in(folder: pathlib.Path) -> list:
        return [json.loads(one.read_text(encoding='utf-8'))['hash'] for one in sorted(folder.glob('*/result.json'))]

    def test_gives_the_results_of_one_process(self):
        alone = self.figures(self.program, 'sweep', self.scenario, *self.vary)
        self.assertEqual(len(alone), 12)
        shutil.rmtree(self.folder / 'out')
        many = self.figures(*self.mpirun(3, self.program, 'sweep', self.scenario, *self.vary))
        self.assertEqual(many, alone)

    def test_does_the_runs_of_a_rank_that_dies_again(self):
        slow = self.write('slow.toml', SMALL.replace('1 MB', '40 MB'))
        alone = self.figures(self.program, 'sweep', slow, *self.vary)
        shutil.rmtree(self.folder / 'out')
        words = [MPIRUN, '--oversubscribe', '--enable-recovery', '-n', '3', self.program, 'sweep', slow, *self.vary]
        with self.start(*words, '--out', 'out', '--quiet') as mpirun:
            self.kill_rank(mpirun, 1, after=lambda: any((self.folder / 'out').glob('*/result.json')))
            said = self.said_by(mpirun, 200)
        self.assertEqual(self.figures_in(self.folder / 'out'), alone, said)

    def test_is_not_held_up_by_a_rank_that_dies_while_it_sends(self):
        door = pathlib.Path(self.program).parent / 'libnerve-mpi.so'
        said, _ = self.run_for(MPIRUN, '--oversubscribe', '--enable-recovery', '-n', '3', sys.executable, '-B',
                               str(HERE / 'killed_sender.py'), str(door))
        self.assertIn('rank 0 has b of rank 2', said)
        self.assertNotIn('has a of', said)  # else this has tried nothing

    def test_resumes(self):
        words = [self.program, 'sweep', self.scenario, *self.vary]
        alone = self.figures(*words)
        results = sorted((self.folder / 'out').glob('*/result.json'))
        for one in results[:3]:
            one.unlink()
        before = [one.stat().st_mtime_ns for one in results[3:]]
        self.assertEqual(self.figures(*self.mpirun(2, *words, '--resume')), alone)
        self.assertEqual([one.stat().st_mtime_ns for one in results[3:]], before)
        # Another scenario: nothing is kept.
        self.write('small.toml', SMALL + 'start = "3 us"\n')
        self.assertNotEqual(self.figures(*words, '--resume'), alone)


class Learn(Mpi):
    def setUp(self):
        super().setUp()
        self.training = self.write('training.toml', '[search]\nrule_generations = 1\nrule_population = 8\n'
                                   'generations = 2\npairs = 2\n[[class]]\nname = "small"\n'
                                   'scenario = "small.toml"\ncases = [["seed=1"], ["seed=2"], ["job.0.size=100 KB"]]\n')

    def found(self, *words: str) -> tuple:
        said, code = self.run_for(*words, '--out', 'out', '--quiet')
        self.assertEqual(code, 0, said)
        return tuple((self.folder / 'out' / name).read_text(encoding='utf-8') for name in ('policy.toml', 'state.json'))

    def test_finds_the_policy_that_one_process_finds(self):
        alone = self.found(self.program, 'learn', self.training)
        shutil.rmtree(self.folder / 'out')
        self.assertEqual(self.found(*self.mpirun(3, self.program, 'learn', self.training)), alone)
        shutil.rmtree(self.folder / 'out')
        shorter = pathlib.Path(self.training).read_text(encoding='utf-8').replace('generations = 2', 'generations = 1')
        self.found(*self.mpirun(2, self.program, 'learn', self.write('shorter.toml', shorter)))
        self.assertEqual(self.found(*self.mpirun(2, self.program, 'learn', self.training, '--resume'))[1], alone[1])

    def test_judges_as_one_process_does(self):
        words = (self.program, 'learn', self.training, '--judge', '--quiet')
        self.assertEqual(self.run_for(*self.mpirun(2, *words)), self.run_for(*words))

    def test_prints_what_is_wrong_once(self):
        said, code = self.run_for(*self.mpirun(2, self.program, 'learn', self.write('bad.toml', 'seeds = 1\n')))
        self.assertNotEqual(code, 0)
        self.assertEqual(said.count('bad.toml:1'), 1, said)


if __name__ == '__main__':
    Mpi.program = str(pathlib.Path(sys.argv.pop(1)).resolve())
    unittest.main()

"""Goal: the Python module moves the right data with numpy, torch, DLPack and arrays in GPU memory,
reports errors as sentences, and trains a model with torch.distributed, if this Python has numpy and
torch.

    ranks_test.py NERVE     NERVE: the program `nerve`; the module is on PYTHONPATH
"""
import ctypes
import os
import signal
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

RANKS = 3
KILLED = -signal.SIGKILL
HERE = os.path.dirname(os.path.abspath(__file__))


def run_ranks(work, ranks, transport, killed=None):
    """Runs HERE/work.py in that many processes, of which one may be killed; what went wrong, or an
    empty string."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "RANKS": str(ranks), "FOLDER": folder + "/group",
                       "TRANSPORT": transport, "NERVEAI_TRANSPORT": transport,
                       "OMP_NUM_THREADS": "1"}
        command = [NERVE, "run", "--", sys.executable, os.path.join(HERE, work)]
        processes = [subprocess.Popen(command, env={**environment, "RANK": str(rank)},
                                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
                     for rank in range(ranks)]
        outputs = [process.communicate(timeout=100)[0] for process in processes]
    return "".join(f"rank {rank}: {output}" for rank, (process, output)
                   in enumerate(zip(processes, outputs))
                   if process.returncode != (KILLED if rank == killed else 0))


def has_library(name):
    try:
        ctypes.CDLL(name)
    except OSError:
        return False
    return True


def has(module):
    return subprocess.run([sys.executable, "-c", f"import {module}"],
                          stderr=subprocess.DEVNULL).returncode == 0


class Python(unittest.TestCase):
    maxDiff = None

    def test_arrays_move_between_ranks(self):
        if not has("numpy"):
            self.skipTest("no numpy")
        for transport in ("rdma", "tcp"):
            self.assertEqual(run_ranks("arrays.py", RANKS, transport), "")

    def test_gpu_arrays_move_between_ranks(self):
        """FAKE_CUDA: the folder of the stand-in for the CUDA driver."""
        with unittest.mock.patch.dict(os.environ, LD_LIBRARY_PATH=os.environ["FAKE_CUDA"],
                                      _NERVE_GPU_COPIER_NAME=str(os.getpid())):
            for transport in ("rdma", "tcp"):
                self.assertEqual(run_ranks("gpu_arrays.py", RANKS, transport), "")

    def test_ranks_meet_by_rdma_cm(self):
        if not has_library("librdmacm.so.1"):
            self.skipTest("no librdmacm")
        os.environ["MEETING"] = f"rdma://127.0.0.1:{20_000 + os.getpid() % 20_000}"
        self.assertEqual(run_ranks("meeting.py", RANKS, "rdma", killed=1), "")

    def test_a_model_is_trained(self):
        if not has("torch"):
            self.skipTest("no torch")
        for transport in ("rdma", "tcp"):
            self.assertEqual(run_ranks("training.py", 2, transport), "")

    def test_a_death_in_training_is_named(self):
        if not has("torch"):
            self.skipTest("no torch")
        for transport, hook in (("rdma", "0"), ("rdma", "1"), ("tcp", "0")):
            os.environ["HOOK"] = hook
            self.assertEqual(run_ranks("dying.py", RANKS, transport, killed=1), "")


if __name__ == "__main__":
    NERVE = sys.argv.pop(1)
    unittest.main()

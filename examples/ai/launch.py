"""Starts the processes of a job on one transport and collects what they report.

run() starts `nerve run --transport shm|udp -- python3 launch.py FOLDER` (for TCP, without `nerve
run`). That process, the world, imports torch once and calls the function that the job names, which
forks the ranks. Everything goes through files in FOLDER: job.json (the job), result.json (its
result) and progress (a number, for the bar).
"""
from __future__ import annotations

import importlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from typing import Any, Callable

TRANSPORTS = ("shm", "udp", "tcp")
HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
BUILD = pathlib.Path(os.environ.get("NERVE_BUILD", ROOT / "build/release"))
NERVE = BUILD / "src/cli/nerve"


class Failed(Exception):
    """A job that did not end as it should; the text is for the user."""


def _environment(transport: str) -> dict[str, str]:
    paths = [str(BUILD / "python"), str(HERE), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths)),
            "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1",
            "NERVEAI_TRANSPORT": "tcp" if transport == "tcp" else "rdma"}


def _command(transport: str, fault: str | None, folder: str) -> list[str]:
    program = [sys.executable, str(HERE / "launch.py"), folder]
    if transport == "tcp":
        return program
    options = ["--transport", transport, "--device", "nerve0=lo"]
    if fault:
        options += ["--fault", fault]
    return [str(NERVE), "run", *options, "--", *program]


def run(work: str, spec: dict[str, Any], transport: str, progress: Progress,
        fault: str | None = None, limit: float = 300) -> dict[str, Any]:
    """Runs `work` ("module:function") in a world on this transport; what the function returned."""
    with tempfile.TemporaryDirectory(prefix="nerve-ai-") as folder:
        base = pathlib.Path(folder)
        (base / "job.json").write_text(json.dumps({"work": work, "spec": spec}))
        with open(base / "log", "w+") as log:
            world = subprocess.Popen(_command(transport, fault, folder), stdout=log, stderr=log,
                                     env=_environment(transport), start_new_session=True)
            try:
                end = time.monotonic() + limit
                while world.poll() is None:
                    if time.monotonic() > end:
                        raise Failed(f"{transport}: no result after {limit:.0f} s\n"
                                     + _tail(base / "log"))
                    progress.show(_number(base / "progress"))
                    time.sleep(0.05)
            finally:
                _end_session(world)
        if not (base / "result.json").exists():
            raise Failed(f"{transport}: the job ended with status {world.returncode}\n"
                         + _tail(base / "log"))
        result = json.loads((base / "result.json").read_text())
        if "reason" in result:
            raise Failed("\n".join([f"{transport}: {result['reason']}", *_warnings(base / "log")]))
        return result


def _end_session(world: subprocess.Popen) -> None:
    """Ends the world and its ranks, which share its session, also when the world was killed."""
    try:
        os.killpg(world.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass
    world.wait()


def _tail(path: pathlib.Path) -> str:
    return "\n".join(path.read_text(errors="replace").splitlines()[-25:])


def _warnings(path: pathlib.Path) -> list[str]:
    """What Nerve printed, each line once: it may be the cause of an error."""
    lines = path.read_text(errors="replace").splitlines()
    return list(dict.fromkeys(line for line in lines if line.startswith("nerve: ")))[:5]


def _number(path: pathlib.Path) -> int:
    try:
        return int(path.read_text() or 0)
    except (OSError, ValueError):
        return 0


class Progress:
    """A bar on a terminal; elsewhere a line when a part begins and ends."""

    def __init__(self, label: str, total: int):
        self._label, self._total, self._start = label, max(1, total), time.monotonic()
        self._bar = sys.stderr.isatty() and not os.environ.get("CI")
        self._last = -1
        if not self._bar:
            print(f"nerve ai: {label} ...", file=sys.stderr, flush=True)

    def show(self, done: int) -> None:
        if not self._bar or done == self._last:
            return
        self._last = done
        filled = min(30, done * 30 // self._total)
        sys.stderr.write(f"\r\033[K{self._label:<28} [{'#' * filled:<30}] {done}/{self._total}")
        sys.stderr.flush()

    def end(self) -> None:
        seconds = time.monotonic() - self._start
        text = f"{self._label:<28} {seconds:5.1f} s"
        print(f"\r\033[K{text}" if self._bar else f"nerve ai: {text}", file=sys.stderr, flush=True)


# --- inside the world ----------------------------------------------------------------------------

class Rank:
    """A forked process that runs `work` and leaves its result in a file."""

    def __init__(self, number: int, result: pathlib.Path, work: Callable[[], Any]):
        self.number, self._result = number, result
        result.unlink(missing_ok=True)
        sys.stdout.flush()
        sys.stderr.flush()
        self.pid = os.fork()
        if self.pid == 0:
            self._run(work)

    def _run(self, work: Callable[[], Any]) -> None:
        status = 1
        try:
            write_json(self._result, work())
            status = 0
        except BaseException as error:  # a fork must never return into the code of its parent
            traceback.print_exc()
            write_json(self._result, {"reason": f"{type(error).__name__}: {error}"})
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)

    def wait(self) -> dict[str, Any]:
        """Its result; {"killed": signal} or {"reason": text} if it has none."""
        _, status = os.waitpid(self.pid, 0)
        if os.WIFSIGNALED(status):
            return {"killed": os.WTERMSIG(status)}
        if not self._result.exists():
            return {"reason": f"exit status {os.WEXITSTATUS(status)}"}
        return json.loads(self._result.read_text())


def reason(result: dict[str, Any]) -> str | None:
    """Why a process has no result; None if it has one."""
    if not isinstance(result, dict):
        return None
    return f"killed by signal {result['killed']}" if "killed" in result else result.get("reason")


def write_json(path: pathlib.Path, value: Any) -> None:
    """The file is complete or absent, also if this process dies."""
    new = path.with_suffix(".new")
    new.write_text(json.dumps(value))
    new.replace(path)


def show_progress(folder: pathlib.Path, number: int) -> None:
    (folder / "progress").write_text(str(number))


def _world(folder: pathlib.Path) -> None:
    import torch
    torch.set_num_threads(1)
    job = json.loads((folder / "job.json").read_text())
    module, function = job["work"].split(":")
    work = getattr(importlib.import_module(module), function)
    try:
        result = work(folder, job["spec"])
    except Failed as error:
        result = {"reason": str(error)}
    write_json(folder / "result.json", result)


if __name__ == "__main__":
    sys.modules["launch"] = sys.modules["__main__"]  # one class Failed for the jobs and the world
    _world(pathlib.Path(sys.argv[1]))

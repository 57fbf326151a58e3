"""Fabric scenarios from measured jobs, and what the simulator predicts for them.

A scenario has the measured model, sizes and compute rate, on the network of a data centre: what was
measured here on a few ranks, at the scale that cannot be measured here.
"""
from __future__ import annotations

import json
import math
import pathlib
import subprocess
import tempfile
from typing import Any

import launch
from report import seconds

GPUS = 8          # per server, one NIC each
RATE = "400 Gb/s"
LEAST_TFLOPS = 0.001


def _fabric(ranks: int, question: str, command: str) -> str:
    gpus = GPUS if ranks % GPUS == 0 else 1
    return f"""# {question}
# Written from a run of `{command}`.

description = "{question}"

[servers]
count = {ranks // gpus}
gpus = {gpus}

[fabric]
topology = "leaf-spine"
nic_rate = "{RATE}"
"""


def train_text(result: dict[str, Any], ranks: int) -> str:
    """One training step. `tflops` is the rate that one process alone achieved here: ranks that
    share cores compute slower."""
    job = result["job"]
    shape = job["shape"]
    tokens = job["batch"] * job["length"]
    compute = result["one"]["seconds"] / (job["steps"] * job["ranks"])
    rate = 6 * result["parameters"] * tokens / compute / 1e12
    # The simulator's least rate is 0.001; below it, more sequences give the same compute time.
    more = max(1, math.ceil(LEAST_TFLOPS / rate))
    algorithm = "auto" if ranks <= 512 else "tree" if ranks & (ranks - 1) else "halving-doubling"
    return _fabric(ranks, "A step of a measured training job", result["command"]) + f"""
# One process computed the batch of a rank in {compute * 1e3:.1f} ms.
# Its rate and its sequences are multiplied by {more}.
[[job]]
kind = "training"
name = "train"
steps = 1
ranks = {ranks}
sequences_per_batch = {job["batch"] * more}
tflops = {rate * more:.6f}
algorithm = "{algorithm}"
bucket = "{job["bucket"] // 1024} KiB"
shard_optimizer = {str(job["sharded"]).lower()}

[job.model]
parameters = {float(result["parameters"]):.6e}
layers = {shape["layers"]}
hidden = {shape["hidden"]}
sequence = {job["length"]}
precision = "fp32"
"""


def infer_text(result: dict[str, Any], ranks: int) -> str:
    """KV caches of the measured mean size from one half of the ranks to the other."""
    return _fabric(ranks, "KV caches of measured requests, at half load", result["command"]) + f"""
[[job]]
kind = "kv-cache"
name = "infer"
ranks = {ranks}
size = "{max(1, round(result["kv_bytes_per_request"]))} B"
load = 0.5
requests = {min(4 * ranks, 4096)}
"""


def train(result: dict[str, Any], file: str | None, ranks: int | None) -> dict[str, Any]:
    return _simulate(train_text, result, file, ranks, result["job"]["ranks"])


def infer(result: dict[str, Any], file: str | None, ranks: int | None) -> dict[str, Any]:
    return _simulate(infer_text, result, file, ranks, max(2, result["job"]["workers"]))


def _simulate(text_of, result, file, ranks, here) -> dict[str, Any]:
    """Writes the scenario; runs the simulator if a number of ranks was given."""
    text = text_of(result, ranks or here)
    if file:
        pathlib.Path(file).write_text(text)
    if not ranks:
        return {}
    progress = launch.Progress(f"simulate {ranks} ranks", 1)
    with tempfile.TemporaryDirectory(prefix="nerve-ai-") as folder:
        path = pathlib.Path(folder) / "job.toml"
        path.write_text(text)
        done = subprocess.run([str(launch.BUILD / "src/cli/nerve-sim"), "sim", str(path), "--out",
                               folder], capture_output=True, text=True, timeout=300)
        found = list(pathlib.Path(folder).rglob("result.json"))
        if done.returncode != 0 or not found:
            raise launch.Failed(f"the simulator ended with status {done.returncode}: "
                                + done.stderr.strip()[-500:])
        simulated = json.loads(found[0].read_text())
    progress.end()
    return {"ranks": ranks, "rate": RATE, **_figures(simulated)}


def _figures(simulated: dict[str, Any]) -> dict[str, Any]:
    """Times in seconds; those of flows for the KV caches, those of a step for training."""
    job = simulated["derived"]["jobs"][0]
    flows = job["flows"]
    return {"hash": simulated["hash"], "step": job["step_mean_ps"] / 1e12,
            "bound": simulated["jobs"][0]["bound_ps"] / 1e12, "idle_share": job["idle_share"],
            "flows": flows["ended"], "flow_mean": flows["completion_ps"]["mean"] / 1e12,
            "flow_p99": flows["completion_ps"]["p99"] / 1e12, "slowdown": flows["slowdown"]["mean"]}


def sentence(prediction: dict[str, Any]) -> str:
    where = f"fabric, {prediction['ranks']} ranks with {prediction['rate']} each (simulated): "
    if prediction["flows"]:
        return where + (f"a KV cache takes {seconds(prediction['flow_mean'])}, p99 "
                        f"{seconds(prediction['flow_p99'])}, {prediction['slowdown']:.2f} times "
                        "the time of an empty network")
    exposed = prediction["step"] - prediction["bound"]
    return where + (f"a step takes {seconds(prediction['step'])}, of which "
                    f"{seconds(prediction['bound'])} computing and {seconds(exposed)} waiting for "
                    "the network")

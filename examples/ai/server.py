"""The router: starts the workers, gives them requests as they arrive, and collects the tokens.

It is the only process that knows everything about a request, so a request survives the death of its
workers: what was generated becomes a part of the prompt, and another worker continues. Prompts of a
prefill worker that died go to another one; if none is left, decode workers compute them.
"""
from __future__ import annotations

import os
import pathlib
import select
import signal
import time
from typing import Any

import data
import launch
from channel import Channel
from scheduler import Dispatcher, Job

now = time.monotonic


def requests_of(spec: dict[str, Any]) -> list[data.Request]:
    return data.requests(spec["seed"], spec["requests"], spec["rate"],
                         spec["shape"]["vocabulary"], spec["prompt"], spec["answer"])


class Router:
    def __init__(self, folder: pathlib.Path, spec: dict[str, Any]):
        self._folder, self._spec = folder, spec
        both = spec["mode"] == "recompute"
        self._prefills = 0 if both else spec["prefill"]  # at the start
        self._decodes = spec["prefill"] + spec["decode"] if both else spec["decode"]
        self._dispatcher = Dispatcher(self._prefills, self._decodes, spec["decode_blocks"])
        self._channels: dict[tuple[str, int], Channel] = {}
        self._workers: dict[tuple[str, int], launch.Rank] = {}
        self._times: dict[int, list[float]] = {}   # of the tokens of each request
        self._arrived: dict[int, float] = {}
        self._moved: set[int] = set()              # requests that started again after a death
        self._results: dict[str, list] = {"prefill": [], "decode": []}
        self._killed: list[str] = []
        self._decode_to_kill = spec["kill"] == "decode"
        self._left = spec["requests"]

    def run(self) -> dict[str, Any]:
        self._start_workers()
        for (kind, number), channel in list(self._channels.items()):
            try:
                channel.receive()  # it is ready
            except EOFError:
                self._died(kind, number)
        jobs = [(request.arrival, Job(request.number, list(request.prompt), request.answer))
                for request in requests_of(self._spec)]
        answers = {job.number: job for _, job in jobs}
        started = now()
        self._serve([(started + arrival, job) for arrival, job in jobs])
        seconds = now() - started
        self._stop()
        return {"tokens": [answers[n].generated for n in sorted(answers)], "seconds": seconds,
                "ttft": [self._times[n][0] - self._arrived[n] for n in sorted(answers)],
                "gaps": [b - a for n in sorted(answers)
                         for a, b in zip(self._times[n], self._times[n][1:])],
                "moved": len(self._moved), "killed": self._killed, **self._results}

    # --- workers
    def _start_workers(self) -> None:
        import workers
        controls = {(p, d): Channel.both() for p in range(self._prefills)
                    for d in range(self._decodes)}
        ends = {}
        for kind, count in (("prefill", self._prefills), ("decode", self._decodes)):
            for number in range(count):
                self._channels[kind, number], ends[kind, number] = Channel.both()
        for kind, number in ends:
            if kind == "prefill":
                mine = {d: end for (p, d), (end, _) in controls.items() if p == number}
                make = workers.PrefillWorker
            else:
                mine = {p: end for (p, d), (_, end) in controls.items() if d == number}
                make = workers.DecodeWorker

            def work(kind=kind, number=number, make=make, mine=mine):
                # The death of a process closes its sockets only if no other process has them.
                for channel in [*self._channels.values(),
                                *(end for key, end in ends.items() if key != (kind, number)),
                                *(end for pair in controls.values() for end in pair
                                  if end not in mine.values())]:
                    channel.close()
                return make(self._folder, self._spec, number, ends[kind, number], mine).run()
            self._workers[kind, number] = launch.Rank(
                number, self._folder / f"{kind}-{number}.json", work)
        for channel in [*ends.values(), *(end for pair in controls.values() for end in pair)]:
            channel.close()

    def _stop(self) -> None:
        for kind, number in self._channels:
            self._send(kind, number, do="stop")
        for (kind, number), worker in self._workers.items():
            result = worker.wait()
            if why := launch.reason(result):
                raise launch.Failed(f"{kind} worker {number}: {why}")
            self._results[kind].append(result)

    # --- requests
    def _serve(self, arrivals: list[tuple[float, Job]]) -> None:
        while self._left:
            while arrivals and arrivals[0][0] <= now():
                at, job = arrivals.pop(0)
                self._arrived[job.number], self._times[job.number] = at, []
                self._dispatcher.arrive(job)
            while job := self._dispatcher.next():
                self._dispatch(job)
            self._kill_if_asked()
            pause = max(0.0, arrivals[0][0] - now()) if arrivals else None
            ready, _, _ = select.select(list(self._channels.values()), [], [], pause)
            for (kind, number), channel in list(self._channels.items()):
                if channel in ready:
                    try:
                        self._handle(channel.receive())
                    except EOFError:
                        self._died(kind, number)

    def _dispatch(self, job: Job) -> None:
        left = job.answer - len(job.generated)
        message = {"id": job.number, "attempt": job.attempt, "tokens": job.tokens(), "left": left}
        self._send("decode", job.decode, do="compute" if job.prefill is None else "expect",
                   **message, **{"from": job.prefill})

    def _send(self, kind: str, number: int, **message: Any) -> None:
        """Nothing if the worker is dead: its requests start again, if they have not already."""
        try:
            if channel := self._channels.get((kind, number)):
                channel.send(**message)
        except (BrokenPipeError, ConnectionResetError):
            pass  # its end is noticed when its channel is read

    def _handle(self, message: dict[str, Any]) -> None:
        if "step" in message:
            for number, attempt, token in message["step"]:
                if job := self._current(number, attempt):
                    self._token(job, token, message["at"])
            return
        kind = next(kind for kind in ("table", "first", "finished", "lost") if kind in message)
        job = self._current(message[kind], message["attempt"])
        if job is None:
            return  # the request has started again since
        if kind == "table":
            self._send("prefill", job.prefill, do="prefill", id=job.number, attempt=job.attempt,
                       tokens=job.tokens(), to=job.decode, table=message["blocks"])
        elif kind == "first":
            if job.prefill is not None:
                self._send("decode", job.decode, do="first", id=job.number, attempt=job.attempt,
                           token=message["token"], at=message["at"])
            self._dispatcher.prefilled(job)
            self._token(job, message["token"], message["at"])
        elif kind == "lost":
            self._dispatcher.lost(job)
            self._started_again(job)
        else:
            self._dispatcher.finished(job)
            self._finished()

    def _finished(self) -> None:
        self._left -= 1
        launch.show_progress(self._folder, self._spec["requests"] - self._left)

    def _current(self, number: int, attempt: int) -> Job | None:
        job = self._dispatcher.running.get(number)
        return job if job and job.attempt == attempt else None

    def _token(self, job: Job, token: int, at: float) -> None:
        job.generated.append(token)
        self._times[job.number].append(at)

    # --- deaths
    def _kill_if_asked(self) -> None:
        """Kills decode worker 0 in the middle of several answers, after a third of all requests. A
        prefill worker kills itself, in the middle of a prompt."""
        if not self._decode_to_kill or self._left > max(1, self._spec["requests"] * 2 // 3):
            return
        if any(job.decode == 0 and 1 < len(job.generated) < job.answer
               for job in self._dispatcher.running.values()):
            self._decode_to_kill = False
            os.kill(self._workers["decode", 0].pid, signal.SIGKILL)

    def _died(self, kind: str, number: int) -> None:
        """The job survives a worker that was killed, and not one that ended with an error."""
        del self._channels[kind, number]
        result = self._workers.pop((kind, number)).wait()
        if result.get("killed") != signal.SIGKILL:
            raise launch.Failed(f"{kind} worker {number}: {launch.reason(result)}")
        self._killed.append(f"{kind} {number}")
        if kind == "prefill":  # decode workers report the requests whose blocks are missing
            self._dispatcher.prefill_died(number)
            return
        for job in self._dispatcher.decode_died(number):
            self._started_again(job)
        if not any(kind == "decode" for kind, _ in self._channels):
            raise launch.Failed("all decode workers were killed; no worker is left to answer")

    def _started_again(self, job: Job) -> None:
        if job.done():
            self._finished()  # it lacked only the message that says so
        else:
            self._moved.add(job.number)


def serve(folder: pathlib.Path, spec: dict[str, Any]) -> dict[str, Any]:
    return Router(folder, spec).run()


def reference(folder: pathlib.Path, spec: dict[str, Any]) -> dict[str, Any]:
    """Every request alone, in one process; two processes share the work."""
    import compute
    requests = requests_of(spec)

    def half(first: int) -> list:
        model, out = compute.model_of(spec), []
        for request in requests[first::2]:
            prompt = list(request.prompt)
            tokens, margin = compute.generate(model, prompt, request.answer)
            rounding = compute.rounding(model, prompt, tokens) if len(out) < 4 else 0.0
            out.append((tokens, margin, rounding))
            if first == 0:
                launch.show_progress(folder, 2 * len(out))
        return out
    halves = [launch.Rank(n, folder / f"half-{n}.json", lambda n=n: half(n)) for n in range(2)]
    results = [one.wait() for one in halves]
    for why in filter(None, map(launch.reason, results)):
        raise launch.Failed(f"one process: {why}")
    merged = [results[n % 2][n // 2] for n in range(len(requests))]
    return {"tokens": [one[0] for one in merged], "margin": min(one[1] for one in merged),
            "rounding": max(one[2] for one in merged)}

"""How most cases run: a server, then a client; or a client alone."""
import time
from typing import Sequence

from case import Case, Stage, Verdict
from process import Ended, Program, wait_until_listening

_TRIES, _PAUSE = 7, 0.5


def play(stage: Stage, case: Case) -> Verdict:
    def about_client(done: Ended) -> Verdict:
        trouble = done.trouble() or case.check_client(done)
        return Verdict(trouble, case.note(done) if case.note and not trouble else '')

    if not case.server:
        return about_client(stage.finish(case.client, 'client'))
    server = stage.start(case.server, 'server')
    if case.by_cm:
        done = until_let_in(stage, server, case.client)
    elif not wait_until_listening(server, stage.port, min(10, case.seconds)):
        return Verdict(f'server: {server.wait(0.1).trouble() or "did not listen"}')
    else:
        done = stage.finish(case.client, 'client')
    verdict = about_client(done)
    if case.lasting or verdict.trouble:
        return verdict
    served = server.wait(stage.remaining())
    trouble = served.trouble() or case.check_server(served)
    return Verdict(f'server: {trouble}') if trouble else verdict


def until_let_in(stage: Stage, server: Program, client: Sequence[str], content: Sequence[int] = (0,)) -> Ended:
    """Whether a server listens at an rdma_cm port is not visible from outside: its client retries."""
    for _ in range(_TRIES):
        time.sleep(_PAUSE)
        done = stage.finish(client, 'client')
        if done.status in content or not server.running() or stage.remaining() < 0:
            break
    return done

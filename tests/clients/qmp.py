"""Talks to a QEMU through its machine protocol: one command, one answer."""
import json
import pathlib
import socket
import time
from typing import Any

from process import Program


class Refused(Exception):
    """QEMU refused; the text is its own."""


class Qmp:
    def __init__(self, path: pathlib.Path, qemu: Program, seconds: float):
        """Waits until the program listens there."""
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(seconds)
        end = time.monotonic() + seconds
        while self._socket.connect_ex(str(path)) != 0:
            if not qemu.running() or time.monotonic() > end:
                raise Refused(qemu.wait(0.1).trouble() or 'ended')
            time.sleep(0.02)
        self._lines = self._socket.makefile('r', encoding='utf-8')
        self._lines.readline()  # a greeting
        self('qmp_capabilities')

    def __call__(self, command: str, **arguments: Any) -> Any:
        named = {name.replace('_', '-'): value for name, value in arguments.items()}
        self._socket.sendall(json.dumps({'execute': command, 'arguments': named}).encode())
        for line in self._lines:
            answer = json.loads(line)
            if 'error' in answer:
                raise Refused(f'{command}: {answer["error"]["desc"]}')
            if 'return' in answer:  # otherwise it is an event
                return answer['return']
        raise Refused(f'{command}: no answer')

    def close(self) -> None:
        self._lines.close()
        self._socket.close()

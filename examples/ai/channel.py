"""Messages between the router and its workers: JSON over a Unix socket, one packet each."""
from __future__ import annotations

import json
import socket
from typing import Any


class Channel:
    LONGEST = 1 << 17

    def __init__(self, end: socket.socket):
        self._socket = end

    @staticmethod
    def both() -> tuple[Channel, Channel]:
        ends = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        for end in ends:
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 << 20)
        return Channel(ends[0]), Channel(ends[1])

    def fileno(self) -> int:
        return self._socket.fileno()

    def send(self, **message: Any) -> None:
        self._socket.send(json.dumps(message).encode())

    def receive(self, wait: bool = True) -> dict[str, Any] | None:
        """A message; None if there is none yet (without wait). EOFError: the peer is gone."""
        try:
            packet = self._socket.recv(self.LONGEST, 0 if wait else socket.MSG_DONTWAIT)
        except BlockingIOError:
            return None
        except ConnectionResetError:
            packet = b""
        if not packet:
            raise EOFError
        return json.loads(packet)

    def ends_within(self, seconds: float) -> bool:
        """Discards messages until the peer is gone; False if none came for this long instead."""
        self._socket.settimeout(seconds)
        try:
            while True:
                self.receive()
        except EOFError:
            return True
        except TimeoutError:
            return False

    def close(self) -> None:
        self._socket.close()

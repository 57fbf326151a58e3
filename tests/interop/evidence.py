"""Causes of a failure other than Nerve. A failed case is repeated once only if there is such
evidence, and the line before it says which."""
import socket
import struct
import threading
import time
from typing import Optional

STALL = 0.4  # seconds; ibv_rc_pingpong, whose timers cannot be set, gives up after 0.5


class Pulse(threading.Thread):
    """Pings the guest's kernel twenty times a second: a guest that shares its CPUs with others
    may pause for longer than a connection waits for it."""

    def __init__(self, address: str):
        super().__init__(daemon=True)
        self._beats = [time.monotonic()]
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
        self._socket.settimeout(0.05)
        self._address = address
        self.start()

    def run(self) -> None:
        echo = struct.pack('!BBHHH', 8, 0, 0xf7ff, 0, 0)  # with its checksum
        while True:
            try:
                self._socket.sendto(echo, (self._address, 0))
                while self._socket.recv(256)[20] != 0:  # not a reply but our own request
                    pass
                self._beats.append(time.monotonic())
            except OSError:
                continue  # no reply in time, or the network is going away
            time.sleep(0.05)

    def longest_gap(self, since: float) -> float:
        beats = [since, *(beat for beat in self._beats if beat > since), time.monotonic()]
        return max(later - earlier for earlier, later in zip(beats, beats[1:]))


def blame(pulse: Pulse, since: float) -> Optional[str]:
    gap = pulse.longest_gap(since)
    return f'the guest stood still for {gap:.1f} s' if gap > STALL else None

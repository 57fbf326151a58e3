"""The protocol of agents and controllers (src/cli/controller_session.h), written a second time."""
import hashlib
import hmac
import json
import os
import pathlib
import re
import socket
import struct

AGENT, CONTROLLER = 1, 2
GREETING, MAC = 40, 32


class Refused(Exception):
    """The peer has closed the connection, or sent what it must not send."""


def read_key(file: pathlib.Path) -> bytes:
    return bytes.fromhex(re.search(r'psk = "([0-9a-f]{64})"', file.read_text(encoding='utf-8'))[1])


def _mac(key: bytes, data: bytes) -> bytes:
    return hmac.new(key, data, hashlib.sha256).digest()


def _expand(key: bytes, label: str) -> bytes:
    return _mac(key, label.encode() + b'\1')


def greeting(role: int) -> bytes:
    return b'NRVC' + bytes([1, role, 0, 0]) + os.urandom(32)


class Session:
    """One end of a session on a connected socket."""

    def __init__(self, connection: socket.socket, key: bytes, role: int):
        self.connection = connection
        self.buffer = b''
        own = greeting(role)
        connection.sendall(own)
        self._at_least(GREETING)
        peer = self._take(GREETING)
        both = own + peer if role == AGENT else peer + own
        secret = _mac(_expand(key, 'nerve controller'), both)
        keys = [_expand(secret, 'nerve controller: from the agent'), _expand(secret, 'nerve controller: to the agent')]
        self.out_key, self.in_key = keys if role == AGENT else reversed(keys)
        self.out_sequence = self.in_sequence = 0
        self._send_frame(b'')
        self.proved = False

    def _at_least(self, size: int) -> None:
        """What has come stays in the buffer, also when the socket's time is over."""
        while len(self.buffer) < size:
            some = self.connection.recv(1 << 16)
            if not some:
                raise Refused('closed')
            self.buffer += some

    def _take(self, size: int) -> bytes:
        data, self.buffer = self.buffer[:size], self.buffer[size:]
        return data

    def _send_frame(self, body: bytes) -> None:
        length = struct.pack('>I', len(body))
        mac = _mac(self.out_key, struct.pack('>Q', self.out_sequence) + length + body)
        self.out_sequence += 1
        self.connection.sendall(length + body + mac)

    def _receive_frame(self) -> bytes:
        self._at_least(4)
        size = struct.unpack('>I', self.buffer[:4])[0]
        self._at_least(4 + size + MAC)
        frame, mac = self._take(4 + size), self._take(MAC)
        if mac != _mac(self.in_key, struct.pack('>Q', self.in_sequence) + frame):
            raise Refused('the MAC is wrong')
        self.in_sequence += 1
        return frame[4:]

    def send(self, message) -> None:
        self._send_frame(message if isinstance(message, bytes) else json.dumps(message).encode())

    def receive(self):
        if not self.proved and self._receive_frame() != b'':
            raise Refused('no proof')
        self.proved = True
        return json.loads(self._receive_frame())

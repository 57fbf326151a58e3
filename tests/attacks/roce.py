"""RoCEv2 packets with a right ICRC, as a process without privileges can send them over IPv4."""
import socket
import struct
import zlib

RC_SEND_ONLY, RC_ACK, UD_SEND_ONLY = 0x04, 0x11, 0x64


def bth(opcode: int, qpn: int, psn: int) -> bytes:
    return struct.pack('>BBHII', opcode, 0, 0xffff, qpn, 1 << 31 | psn & 0xffffff)


class Sender:
    """Sends from an unconnected socket that never fragments: the kernel writes identification 0."""

    def __init__(self, source: str, destination: str, port: int):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        ip_mtu_discover, ip_pmtudisc_do = 10, 2
        self.socket.setsockopt(socket.IPPROTO_IP, ip_mtu_discover, ip_pmtudisc_do)
        self.socket.bind((source, 0))
        self.source, self.destination, self.port = source, destination, port

    def icrc(self, transport: bytes) -> bytes:
        """Over the packet with its changeable fields set to ones (IBTA annex A17)."""
        length = len(transport) + 4 + 8
        ip = struct.pack('>BBHHHBBH4s4s', 0x45, 0xff, length + 20, 0, 0x4000, 0xff, 17, 0xffff,
                         socket.inet_aton(self.source), socket.inet_aton(self.destination))
        udp = struct.pack('>HHHH', self.socket.getsockname()[1], self.port, length, 0xffff)
        masked = transport[:4] + b'\xff' + transport[5:]
        return struct.pack('<I', zlib.crc32(b'\xff' * 8 + ip + udp + masked))

    def send(self, transport: bytes, good: bool = True) -> None:
        check = self.icrc(transport)
        if not good:
            check = bytes(byte ^ 0x5a for byte in check)
        try:
            self.socket.sendto(transport + check, (self.destination, self.port))
        except OSError:
            pass  # the buffer is full

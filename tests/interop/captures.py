"""Captures of the traffic: those that Nerve wrote itself, and those of the cables."""
import pathlib
import re
import subprocess
import time
from typing import Iterator, Optional


class Decoder:
    """`nerve decode --check`: every packet of a capture must be decodable, with a good ICRC."""

    def __init__(self, build: pathlib.Path):
        self._program = build / 'src/cli/nerve'

    def check(self, capture: pathlib.Path) -> Optional[str]:
        """None if everything is right, otherwise what is wrong."""
        done = subprocess.run((self._program, 'decode', '--check', capture), capture_output=True, text=True,
                              check=False)
        said = done.stdout.strip() or done.stderr.strip()
        found = re.search(r': (\d+) packets, (\d+) icrc good, 0 bad$', said)
        if done.returncode != 0 or not found or found[1] != found[2] or found[1] == '0':
            return f'capture: {said}'
        return None


class Wire:
    """tcpdump on a cable, from the first case to the last."""

    def __init__(self, interface: str, file: pathlib.Path):
        self.interface, self.file = interface, file
        self._program = subprocess.Popen(
            ('tcpdump', '-i', interface, '-w', file, '-s', '0', '-B', '32768', '-Z', 'root', 'udp port 4791'),
            stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        while not file.exists() and self._program.poll() is None:
            time.sleep(0.05)

    def stop(self) -> None:
        time.sleep(1)  # packets on their way to the file
        self._program.terminate()
        self._program.communicate()


def verdicts(build: pathlib.Path, wire: Wire) -> Iterator[tuple[str, Optional[str]]]:
    yield f'the cable {wire.interface}: every ICRC good', Decoder(build).check(wire.file)
    yield f'the cable {wire.interface}: tshark reads every packet', tshark(wire.file)


def tshark(capture: pathlib.Path) -> Optional[str]:
    """Every packet must be RoCEv2 and none malformed, except payloads that tshark takes for another protocol."""
    def count(only: str) -> int:
        done = subprocess.run(('tshark', '-n', '-r', capture, '-Y', only, '-T', 'fields', '-e', 'frame.number'),
                              capture_output=True, text=True, check=True)
        return len(done.stdout.split())

    try:
        every, known, malformed = count('frame'), count('infiniband.bth'), count(
            '_ws.malformed and not frame.protocols contains "infiniband:"')
    except subprocess.CalledProcessError as error:
        return f'tshark: {error.stderr.strip()}'
    if every == 0 or known != every or malformed:
        return f'{every} packets, {known} of them InfiniBand to tshark, {malformed} malformed'
    return None

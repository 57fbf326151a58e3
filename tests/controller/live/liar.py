"""A controller that has the key and orders nonsense: ADDRESS PORT KEY."""
import pathlib
import random
import socket
import sys
import threading
import time

import protocol

NONSENSE = [
    b'', b'{', b'[]', b'null', b'[' * 100_000, b'{"probes":1,"flows":2}',
    b'{"probes":[],"flows":[{"qpn":99999999,"peer":-1,"port":1,"rate_limit":0}]}',
]


def orders(report: dict, chance: random.Random) -> dict:
    flows = report['flows']
    told = [{'qpn': chance.choice([flow['qpn'], flow['qpn'] ^ 1, chance.randrange(1 << 24)]),
             'peer': chance.choice([flow['peer'], chance.randrange(1 << 24)]),
             'port': chance.choice([0, chance.randrange(0xc000, 0x10000)]), 'rate_limit': chance.choice([0, 10**9, 2**63])}
            for flow in flows for _ in range(4)]
    addresses = [flow['destination'] for flow in flows] + ['192.0.2.77', '2001:db8::7']
    probes = [{'source': flow['source'], 'destination': chance.choice(addresses),
               'ports': [chance.randrange(0xc000, 0x10000) for _ in range(16)]} for flow in flows]
    return {'probes': probes, 'flows': told, 'unknown': [[]]}


def serve(connection: socket.socket, key: bytes, seed: int) -> None:
    chance = random.Random(seed)
    count = 0
    try:
        session = protocol.Session(connection, key, protocol.CONTROLLER)
        print('session', flush=True)
        connection.settimeout(0.05)
        report = {'flows': []}
        for step in range(100):
            try:
                report = session.receive()
            except TimeoutError:
                pass
            if report['flows']:
                session.send(orders(report, chance))
                count += 4 * len(report['flows'])
            time.sleep(0.02)
            if step == 99:
                session.send(chance.choice(NONSENSE))
                time.sleep(0.2)
    except (protocol.Refused, OSError):
        pass
    print('orders', count, flush=True)
    connection.close()


def main() -> None:
    address, port, file = sys.argv[1:]
    key = protocol.read_key(pathlib.Path(file))
    with socket.create_server((address, int(port))) as listener:
        print('listening', flush=True)
        for seed in range(1 << 30):
            connection, _ = listener.accept()
            threading.Thread(target=serve, args=(connection, key, seed), daemon=True).start()


main()

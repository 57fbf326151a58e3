"""A hostile network, and other users of the machine: their packets are dropped and counted, their requests refused."""
import os
import re
import subprocess
import sys

import place as places
from peers import Pair, Program, names, now_ms, wait_for
from place import Place, Skip, Trouble

# Asks one of our processes for its counters, as `nerve stat` does.
ASK = r'''
import os, socket, struct, sys
with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
    s.settimeout(5)
    s.connect("\0" + sys.argv[1])
    s.send(struct.pack(">IIII", 0x4e727665, 3, int(sys.argv[2]), 0))
    answer, fds, _, _ = socket.recv_fds(s, 16384, 64)
    sys.stdout.write(f"fds {len(fds)}\n" + answer[8:].decode())
'''


def ask(place: Place, name: str, kind: int, user=None):
    as_whom = place.as_user() if user is None else {'user': user, 'group': user, 'extra_groups': []}
    done = subprocess.run([sys.executable, '-c', ASK, name, str(kind)], capture_output=True, text=True, timeout=20,
                          check=False, cwd='/', **as_whom)
    return done.stdout


def counters(place: Place) -> dict:
    """The sum over all processes."""
    total = {}
    for name in sorted(set(names())):
        for key, value in re.findall(r'^(\w+) (\d+)$', ask(place, name, 3), re.M):
            total[key] = total.get(key, 0) + int(value)
    return total


def qpns(pair: Pair):
    return [re.search(r'ready qpn=(\d+)', peer.text())[1] for peer in pair.both()]


def flood(place: Place) -> str:
    pair = Pair(place, 'udp', timeout=14, retry=7, wait='event', largest=4096, patience_ms=30000).wait_ready()
    begin, rounds = now_ms(), pair.rounds()
    pair.wait_rounds(1)
    while now_ms() - begin < 2000:
        pair.wait_rounds(1)
    quiet = (pair.rounds() - rounds) / (now_ms() - begin)
    sender = Program(place, [place.program('nerve_hostile_sender'), '4791', '4', str(place.seed), *qpns(pair)],
                     place.environment('udp'), 'hostile')
    begin, rounds = now_ms(), pair.rounds()
    sender.wait(20)
    under_fire = (pair.rounds() - rounds) / (now_ms() - begin)
    seen = counters(place)
    pair.finish()
    sent = int(re.search(r'sent (\d+)', sender.text())[1])
    for counter in ('udp_bad_icrc', 'udp_malformed'):
        if not seen.get(counter):
            raise Trouble(f'{counter} is {seen.get(counter)} after {sent} hostile packets')
    dropped = sum(seen.get(name, 0) for name in ('udp_bad_icrc', 'udp_malformed', 'udp_overflowed', 'dropped_no_qp',
                                                  'dropped_malformed', 'packets_unreachable', 'dropped_bad_state'))
    if under_fire * 50 < quiet:
        raise Trouble(f'{under_fire * 1000:.0f} rounds/s under {sent} hostile packets, {quiet * 1000:.0f} without')
    return (f'{sent} packets in 4 s, {dropped} counted as dropped; {under_fire * 1000:.0f} rounds/s, '
            f'{quiet * 1000:.0f} before')


def other_user(place: Place) -> str:
    """A foreign process may connect to our names, but gets nothing: no answer, no descriptor, no memory."""
    places.need_root()
    stranger = 65533
    pair = Pair(place, 'auto', timeout=17, retry=7, wait='event').wait_ready()
    for name in names():
        for kind in (1, 2, 3, 4):
            got = ask(place, name, kind, stranger)
            if got.strip() not in ('', 'fds 0'):
                raise Trouble(f'{name} answers a stranger: {got!r}')
    if 'pid ' not in ask(place, names()[0], 3):
        raise Trouble('and it does not answer its own user')
    look = r'''
import ctypes, os, sys
pid, found = int(sys.argv[1]), []
try:
    for fd in os.listdir(f"/proc/{pid}/fd"):
        os.close(os.open(f"/proc/{pid}/fd/{fd}", os.O_RDWR)); found.append("fd " + fd)
except OSError: pass
try:
    open(f"/proc/{pid}/mem", "rb").read(1); found.append("mem")
except OSError: pass
try:
    if os.listdir(f"/proc/{pid}/map_files"): found.append("map_files")
except OSError: pass
class Part(ctypes.Structure): _fields_ = [("base", ctypes.c_void_p), ("size", ctypes.c_size_t)]
into = ctypes.create_string_buffer(8)
here, there = Part(ctypes.addressof(into), 8), Part(0x400000, 8)
libc = ctypes.CDLL(None, use_errno=True)
for call in (libc.process_vm_readv, libc.process_vm_writev):
    if call(pid, ctypes.byref(here), 1, ctypes.byref(there), 1, 0) >= 0 or ctypes.get_errno() != 1:
        found.append(f"{call.__name__} errno {ctypes.get_errno()}")
print(", ".join(found))
'''
    for peer in pair.both():
        done = subprocess.run([sys.executable, '-c', look, str(peer.process.pid)], capture_output=True, text=True,
                              timeout=20, check=True, user=stranger, group=stranger, extra_groups=[], cwd='/')
        if done.stdout.strip():
            raise Trouble(f'a stranger reached {done.stdout.strip()}')
    return f'{pair.finish()} rounds meanwhile'


def squatter(place: Place) -> str:
    """A foreign process holds names that ours would take: ours take others."""
    places.need_root()
    if place.user is None:
        raise Skip('needs a second user')
    hold = r'''
import socket, sys, time
held = []
for slot in range(1, 1024):
    if slot % 7 == 0: continue
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET); s.bind(f"\0nerve/{sys.argv[1]}/{slot}"); s.listen(); held.append(s)
print("holding", flush=True)
time.sleep(60)
'''
    stranger = Program(place, [sys.executable, '-c', hold, str(place.user)], dict(os.environ), 'squatter',
                       user=65533, group=65533, extra_groups=[])
    wait_for(lambda: 'holding' in stranger.text(), 20, 'the squatter')
    pair = Pair(place, 'auto', rounds=100, timeout=17, retry=7, wait='event').wait_ready()
    rounds = pair.lead.expect_ok(30)
    pair.follow.expect_ok(30)
    stranger.kill()
    return f'{rounds} rounds beside 877 names that a stranger holds'


def cases():
    yield 'flood of hostile packets', flood
    yield "another user's process", other_user
    yield "another user who holds our names", squatter

#!/usr/bin/env python3
"""Goal: a rank that is killed while it sends holds up nobody. Method: under mpirun, rank 1 begins to send
a long message and kills itself, rank 2 sends one later; rank 0 prints who it has heard of.

    mpirun --enable-recovery -n 3 killed_sender.py LIBNERVE_MPI
"""
import ctypes
import os
import signal
import sys
import time

LONG = 4 << 20


class Message(ctypes.Structure):
    _fields_ = [('bytes', ctypes.c_char_p), ('length', ctypes.c_uint64)]


ROOM = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_uint64)


class Door:
    def __init__(self, library: str):
        self.calls = ctypes.CDLL(library, mode=ctypes.RTLD_GLOBAL)
        rank, count = ctypes.c_int(), ctypes.c_int()
        assert self.calls.nerve_mpi_begin(ctypes.byref(rank), ctypes.byref(count)) == 1
        self.rank = rank.value
        self.buffer = ctypes.create_string_buffer(LONG)

    def send(self, to: int, letter: bytes) -> None:
        assert self.calls.nerve_mpi_send(to, Message(letter * LONG, LONG)) == 1

    def hear_of(self, rank: int) -> bool:
        """Prints each message until one has come of this rank. False if that takes half a minute."""
        sender = ctypes.c_int(-1)
        room = ROOM(lambda context, rank, length: ctypes.addressof(self.buffer) if length == LONG else None)
        end = time.monotonic() + 30
        while sender.value != rank and time.monotonic() < end:
            if self.calls.nerve_mpi_poll(room, None, ctypes.byref(sender)) != 1:
                time.sleep(0.01)
                continue
            letter = self.buffer.raw[:1]
            assert self.buffer.raw == letter * LONG
            print(f'rank {self.rank} has {letter.decode()} of rank {sender.value}', flush=True)
        return sender.value == rank


def main() -> None:
    door = Door(sys.argv[1])
    if door.rank == 1:
        door.send(0, b'a')
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(1)  # rank 1 is dead before its message is read
    if door.rank == 2:
        door.send(0, b'b')
        door.hear_of(0)
    elif door.hear_of(2):
        door.send(2, b'c')
        time.sleep(1)  # while rank 2 reads it
    os._exit(0)  # MPI_Finalize() would wait for the dead


main()

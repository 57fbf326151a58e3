"""Stock programs under memory checkers: our code reads and writes nothing out of bounds, after free or uninitialised,
and leaks nothing.

The address sanitizer is in a library built with it (preset asan), loaded under programs built without
it. Valgrind runs the library as shipped, and also sees leaks of the programs themselves: a leak counts if
the first frame after the allocator is in our library, and the block is not one that the program should have freed.
"""
import os
import pathlib
import re
import shutil
import subprocess
from typing import List

from peers import Program, wait_for
from place import Place, Skip, Trouble

# One of our files, as valgrind prints it; without debugging information, the library.
OURS = re.compile(r'\b(?:base|wire|nic|link|host|verbs)/[\w/]+\.(?:cc|h):\d+|libibverbs\.so')
# perftest does not free the list of devices.
LEFT_BY_PROGRAMS = re.compile(r'\bibv_get_device_list\b')

PERFTEST = '-F -d nerve0 -x 0 -p 18515 -u 19'
PINGPONG = '-d nerve0 -g 0 -p 18515'
# Few rounds: under load, each round of two programs that wait for each other by polling takes tens
# of milliseconds.
PROGRAMS = (f'ib_send_bw {PERFTEST} -n 100', f'ib_send_bw {PERFTEST} -n 50 -b -e -c UD -s 1024',
            f'ib_write_bw {PERFTEST} -n 50 -q 4', f'ib_read_lat {PERFTEST} -n 20 -s 5000', f'ib_atomic_lat {PERFTEST} -n 20',
            f'ibv_rc_pingpong {PINGPONG} -n 50 -e', f'ibv_ud_pingpong {PINGPONG} -n 50 -s 1024',
            f'ibv_srq_pingpong {PINGPONG} -n 50')
UNDER_VALGRIND = (f'ib_send_bw {PERFTEST} -n 50', f'ibv_rc_pingpong {PINGPONG} -n 50 -e')


def listening(port: int) -> bool:
    """In state 0A of the kernel's tables of TCP sockets."""
    lines = [line.split() for table in ('tcp', 'tcp6') for line in pathlib.Path(f'/proc/net/{table}').read_text().splitlines()]
    return any(len(line) > 3 and line[1].endswith(f':{port:04X}') and line[3] == '0A' for line in lines)


def run_both(place: Place, line: str, env: dict, wrapper: List[str], seconds: float) -> List[Program]:
    command = line.split()
    if shutil.which(command[0]) is None:
        raise Skip(f'no {command[0]} here')
    server = Program(place, [*wrapper, *command], env, command[0])
    wait_for(lambda: listening(18515) or not server.running(), seconds, f'{command[0]} listens: {server.log}')
    client = Program(place, [*wrapper, *command, '127.0.0.1'], env, command[0])
    for program in (client, server):
        program.wait(seconds)
    return [server, client]


def check(programs: List[Program], reports) -> None:
    for program in programs:
        said = program.errors() + program.text()
        if found := reports(said):
            raise Trouble(f'{found[0]}; {program.log}.*')
        if program.process.returncode != 0:
            raise Trouble(f'exit status {program.process.returncode}; {program.log}.*')


def blocks(text: str, title: str) -> List[str]:
    """The paragraphs that begin with the title."""
    return re.findall(rf'^==\d+== {title}.*(?:\n==\d+== {{3,}}\S.*)*', text, re.M)


def frames(block: str) -> List[str]:
    return [line for line in block.splitlines()[1:] if re.search(r'(?:at|by) 0x', line)]


def is_our_leak(block: str) -> bool:
    inner = [line for line in frames(block) if not re.search(r'vgpreload|operator new|\b[mc]alloc\b|memalign|/c\+\+/', line)]
    return bool(inner) and bool(OURS.search(inner[0])) and not LEFT_BY_PROGRAMS.search(inner[0])


def is_our_error(block: str) -> bool:
    return any(OURS.search(frame) for frame in frames(block))


def sanitizer_reports(text: str) -> List[str]:
    return re.findall(r'^.*(?:ERROR: AddressSanitizer|runtime error:).*$', text, re.M)


def under_asan(place: Place, transport: str, line: str) -> str:
    library = place.scratch / 'asan'
    if not library.exists():
        raise Skip('no library with the address sanitizer; ./nerve build --preset asan')
    preload = subprocess.run(['gcc', '-print-file-name=libasan.so'], capture_output=True, text=True, check=True).stdout.strip()
    env = place.environment(transport) | {
        'LD_LIBRARY_PATH': str(library), 'LD_PRELOAD': os.path.realpath(preload),
        # The sanitizer's leak check takes minutes on some machines, whatever the program; valgrind
        # checks for leaks too.
        'ASAN_OPTIONS': 'detect_leaks=0:exitcode=66:detect_stack_use_after_return=1',
        'UBSAN_OPTIONS': 'print_stacktrace=1:halt_on_error=1:exitcode=66'}
    check(run_both(place, line, env, [], 120), sanitizer_reports)
    return ''


def valgrind_reports(text: str) -> List[str]:
    errors = blocks(text, r'(?:Invalid |Conditional jump|Use of uninit|Syscall param|Source and dest|Mismatched|Jump to)')
    lost = blocks(text, r'[\d,]+ (?:\([^)]*\) )?bytes in [\d,]+ blocks are definitely lost')
    found = [block for block in errors if is_our_error(block)] + [block for block in lost if is_our_leak(block)]
    return [block.splitlines()[0] for block in found]


def under_valgrind(place: Place, transport: str, line: str) -> str:
    if shutil.which('valgrind') is None:
        raise Skip('no valgrind here')
    wrapper = ['valgrind', '--fair-sched=yes', '--leak-check=full', '--show-leak-kinds=definite', '--num-callers=30',
               '--fullpath-after=src/']
    programs = run_both(place, line, place.environment(transport), wrapper, 150)
    check(programs, valgrind_reports)
    unknown = re.search(r'unhandled .* (syscall.*)', programs[1].errors())
    return f'valgrind does not know {unknown[1]}' if unknown else ''


def short(line: str) -> str:
    return ' '.join(word for word in line.replace(PERFTEST, '').replace(PINGPONG, '').split())


def cases():
    for transport in ('shm', 'udp'):
        for line in PROGRAMS:
            yield f'asan: {short(line)}, {transport}', lambda p, t=transport, c=line: under_asan(p, t, c)
    for transport in ('shm', 'udp'):
        for line in UNDER_VALGRIND:
            yield f'valgrind: {short(line)}, {transport}', lambda p, t=transport, c=line: under_valgrind(p, t, c)

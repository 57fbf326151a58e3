"""Programs that are attacked, and their attackers."""
import pathlib
import re
import sys

from peers import Program, names, wait_for
from place import Place, Trouble

HERE = pathlib.Path(__file__).parent
STRANGER = 65533

# Opens a device and does nothing.
IDLE = r'''
import ctypes, time
verbs = ctypes.CDLL("libibverbs.so.1", use_errno=True)
verbs.ibv_get_device_list.restype = ctypes.POINTER(ctypes.c_void_p)
verbs.ibv_open_device.restype = ctypes.c_void_p
devices = verbs.ibv_get_device_list(None)
print("open" if verbs.ibv_open_device(ctypes.c_void_p(devices[0])) else "no device", flush=True)
time.sleep(120)
'''


def idle(place: Place, transport: str = 'auto', wrapper=(), **settings) -> Program:
    program = Program(place, [*wrapper, sys.executable, '-c', IDLE], place.environment(transport, **settings), 'idle')
    wait_for(lambda: program.text() or not program.running(), 20, 'a device')
    if 'open' not in program.text():
        raise Trouble(f'no device opens: {program.text()!r} {program.errors()!r}; {program.log}.*')
    return program


def attack(place: Place, *words, user: int = STRANGER) -> Program:
    """Starts attacker.py as another user, who may not read our files."""
    texts = {name: (HERE / f'{name}.py').read_text() for name in ('roce', 'attacker')}
    code = ('import sys, types; roce = sys.modules["roce"] = types.ModuleType("roce"); '
            f'exec({texts["roce"]!r}, vars(roce)); exec({texts["attacker"]!r})')
    environment = {'PATH': '/usr/bin:/bin', 'LC_ALL': 'C'}
    return Program(place, [sys.executable, '-c', code, *map(str, words)], environment, words[0], user=user, group=user,
                   extra_groups=[])


def number(program: Program, word: str) -> int:
    found = re.search(rf'{word} (\d+)', program.text())
    if not found:
        raise Trouble(f'the attacker says {program.text()!r} {program.errors()!r}')
    return int(found[1])


def slots() -> list:
    return [name for name in names() if re.fullmatch(r'nerve/\d+/\d+', name)]


def cpu_seconds(program: Program) -> float:
    words = pathlib.Path(f'/proc/{program.process.pid}/stat').read_text().rsplit(')', 1)[1].split()
    return (int(words[11]) + int(words[12])) / 100

#!/usr/bin/env python3
"""clang_tidy.py JOBS: runs clang-tidy on src/, with many files combined into one.

Most of its time is spent on headers, which are then parsed once per combined file. The folders of a
layer are combined; if that is not possible, because names collide, each half of them; and in a folder
whose files cannot be combined, those are combined that the build combines.

A combined file that was clean is not read again until it, a header, its command or the checks change:
~/.cache/nerve/clang-tidy/ has an empty file for each.
"""
import collections
import hashlib
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

ROOT = pathlib.Path(__file__).resolve().parent.parent
DATABASE = ROOT / "build/release/compile_commands.json"
OWN = ROOT / "build/release/clang-tidy"  # the combined files and their compile database
CLEAN = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "nerve/clang-tidy"


def files_of(entry):
    """The compiled file, or the files that a unity file includes."""
    file = pathlib.Path(entry["file"])
    if file.parent.name != "Unity":
        return [file]
    return [pathlib.Path(name) for name in re.findall(r'#include "(.*)"', file.read_text())]


def read_commands():
    """The compile command of each file of src/, adapted to clang, by folder."""
    folders = collections.defaultdict(list)
    for entry in json.loads(DATABASE.read_text()):
        if "NERVE_PLANTED_BUGS" in entry["command"]:
            continue
        # Removes options that only GCC knows.
        command = re.sub(r" -include \S+/cmake_pch\.hxx| -Wno-subobject-linkage", "",
                         entry["command"])
        for file in files_of(entry):
            if file.is_relative_to(ROOT / "src"):
                folders[file.parent].append({**entry, "file": str(file), "unit": entry["file"],
                                             "command": command.replace(entry["file"], str(file))})
    expected = len(list((ROOT / "src").rglob("*.cc")))
    found = sum(len(entries) for entries in folders.values())
    if found < expected:
        sys.exit(f"clang_tidy.py: {DATABASE} has {found} of {expected} files of src/")
    return folders


def join(name, entries):
    """A file that includes all these files, with the compile command of the first."""
    if len(entries) == 1:
        return entries[0]
    file = OWN / f"{name}.cc"
    file.write_text("".join(
        f'#include "{entry["file"]}"  // NOLINT(bugprone-suspicious-include)\n'
        for entry in entries))
    first = entries[0]
    command = first["command"].replace(first["file"], str(file))
    return {**first, "file": str(file), "command": command + " -Wno-shadow"}  # names of the other files


def run(entry, *options):
    done = subprocess.run(
        ["clang-tidy", "-p", OWN, "--quiet", "--extra-arg=-Wno-ignored-optimization-argument",
         *options, entry["file"]], capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return ""
    return done.stdout or done.stderr or f"clang-tidy failed with status {done.returncode}: {entry['file']}\n"


def clang(joint, *options):
    """clang++ with the command of this file, which has to compile with these options."""
    command = [word for word in shlex.split(joint["command"]) if not word.startswith("-flto")]
    if "ccache" in command[0]:
        command = command[1:]
    del command[command.index("-o"):command.index("-o") + 2]
    return subprocess.run(["clang++", *command[1:], *options, "-w"], cwd=joint["directory"],
                          capture_output=True, check=False)


def combines(joint):
    """True if the combined file compiles."""
    return clang(joint, "-fsyntax-only").returncode == 0


def fingerprint(joint):
    """Of everything that a finding could depend on; the same for every clone of this tree."""
    def here(text):
        return text.replace(str(ROOT), "")
    version = subprocess.run(["clang-tidy", "--version"], capture_output=True, text=True, check=True)
    read = clang(joint, "-M").stdout.decode().replace("\\\n", " ").split(": ", 1)[1].split()
    sums = hashlib.sha256(here(version.stdout + joint["command"]).encode())
    for name in [ROOT / ".clang-tidy", __file__, *sorted(set(read))]:
        file = pathlib.Path(joint["directory"], name)
        content = file.read_bytes()
        if file.parent == OWN:
            content = here(content.decode()).encode()
        sums.update(f"{here(str(name))} {len(content)}\n".encode() + content)
    return sums.hexdigest()


def units_of(folders):
    """What to check of folders, each a path with its entries: few combined files."""
    entries = [entry for _, own in folders for entry in own]
    name = "_".join(folders[0][0].relative_to(ROOT).parts) + f"_{len(folders)}"
    joint = join(name, entries)
    if len(entries) == 1 or combines(joint):
        return [(joint, len(entries))]
    if len(folders) > 1:
        half = len(folders) // 2
        return units_of(folders[:half]) + units_of(folders[half:])
    units = collections.defaultdict(list)
    for entry in entries:
        units[entry["unit"]].append(entry)
    return [(join(f"{name}_{number}", unit), len(unit))
            for number, unit in enumerate(units.values())]


def judge(joint):
    """The findings in a file; empty if it is clean."""
    clean = CLEAN / fingerprint(joint)
    if clean.exists():
        return ""
    # The files that a combined file includes look like headers.
    combined = pathlib.Path(joint["file"]).parent == OWN
    found = run(joint, *["--checks=-google-global-names-in-headers"] * combined)
    if not found:
        clean.touch()
    return found


def main():
    layers = collections.defaultdict(list)
    for folder, entries in sorted(read_commands().items()):
        layers[folder.relative_to(ROOT / "src").parts[0]].append((folder, entries))
    OWN.mkdir(exist_ok=True)
    CLEAN.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(int(sys.argv[1])) as pool:
        work = sum(pool.map(units_of, layers.values()), [])
        work.sort(key=lambda item: -item[1])  # the longest first
        joints = [joint for joint, _ in work]
        keys = ("directory", "command", "file")  # clang refuses others
        (OWN / "compile_commands.json").write_text(
            json.dumps([{key: joint[key] for key in keys} for joint in joints]))
        found = "".join(pool.map(judge, joints))
    print(found, end="")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

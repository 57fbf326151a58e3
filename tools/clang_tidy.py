#!/usr/bin/env python3
"""clang_tidy.py JOBS: runs clang-tidy on src/, with many files combined into one.

Most of its time is spent on headers, which are then parsed once per combined file. The folders of a
layer are combined; if that is not possible, because names collide, each half of them; and in a folder
whose files cannot be combined, those are combined that the build combines.
"""
import collections
import json
import pathlib
import re
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

ROOT = pathlib.Path(__file__).resolve().parent.parent
DATABASE = ROOT / "build/release/compile_commands.json"
OWN = ROOT / "build/release/clang-tidy"  # the combined files and their compile database


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


def combines(joint):
    """True if the combined file compiles."""
    command = [word for word in shlex.split(joint["command"]) if not word.startswith("-flto")]
    if "ccache" in command[0]:
        command = command[1:]
    done = subprocess.run(["clang++", *command[1:], "-fsyntax-only", "-w"], cwd=joint["directory"],
                          capture_output=True, check=False)
    return done.returncode == 0


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
    # The files that a combined file includes look like headers.
    combined = pathlib.Path(joint["file"]).parent == OWN
    return run(joint, *["--checks=-google-global-names-in-headers"] * combined)


def main():
    layers = collections.defaultdict(list)
    for folder, entries in sorted(read_commands().items()):
        layers[folder.relative_to(ROOT / "src").parts[0]].append((folder, entries))
    OWN.mkdir(exist_ok=True)
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

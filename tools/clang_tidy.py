#!/usr/bin/env python3
"""clang_tidy.py JOBS: runs clang-tidy on src/, with the files of each folder combined into one.

Most of its time is spent on headers, which are then parsed once per folder instead of once per file.
If the files of a folder cannot be combined, because their names collide, each is checked separately.
"""
import collections
import json
import pathlib
import re
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
                folders[file.parent].append({**entry, "file": str(file),
                                             "command": command.replace(entry["file"], str(file))})
    expected = len(list((ROOT / "src").rglob("*.cc")))
    found = sum(len(entries) for entries in folders.values())
    if found < expected:
        sys.exit(f"clang_tidy.py: {DATABASE} has {found} of {expected} files of src/")
    return folders


def join(folder, entries):
    """A file that includes all files of a folder, with the compile command of the first."""
    file = OWN / ("_".join(folder.relative_to(ROOT).parts) + ".cc")
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


def judge(joint, entries):
    """The findings in the files of a folder; empty if they are clean."""
    # For the combined file, the files of the folder look like headers.
    found = run(joint, "--checks=-google-global-names-in-headers")
    if "clang-diagnostic-error" in found:
        found = "".join(run(entry) for entry in entries)
    return found


def main():
    folders = read_commands()
    OWN.mkdir(exist_ok=True)
    work = [(join(folder, entries), entries) for folder, entries in folders.items()]
    (OWN / "compile_commands.json").write_text(
        json.dumps([entry for joint, entries in work for entry in [joint, *entries]]))
    work.sort(key=lambda item: -len(item[1]))  # the longest first
    with ThreadPoolExecutor(int(sys.argv[1])) as pool:
        found = "".join(pool.map(lambda item: judge(*item), work))
    print(found, end="")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

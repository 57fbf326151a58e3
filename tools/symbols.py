#!/usr/bin/env python3
"""Verifies that the core does no I/O: every undefined symbol of its libraries must be on a list. An
include can be overlooked, but a function cannot be called without its symbol.

    tools/symbols.py [--nm NM] [--allow FILE] LIBRARY.a...

The libraries may use each other's symbols freely.
"""
import argparse
import pathlib
import re
import subprocess
import sys

# The switch of src/base/planted.h, which must not exist in a shipped library.
FORBIDDEN = re.compile(r"nerve::active_bug")

ALLOWED = pathlib.Path(__file__).with_name("allowed_symbols.txt")


def read_rules(path):
    """Lines `PATTERN  OBJECT  reason`: objects whose name matches OBJECT may use symbols that match
    PATTERN. Both are regular expressions for the full name; `.` for OBJECT means any."""
    rules = []
    for n, line in enumerate(path.read_text().splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        fields = re.split(r"\s{2,}", line.strip(), maxsplit=2)
        if len(fields) != 3:
            raise SystemExit(f"{path}:{n}: expected a pattern, an object and a reason, separated by two spaces")
        pattern, objects, _ = fields
        rules.append((re.compile(pattern), re.compile(".*" if objects == "." else objects)))
    return rules


def read_symbols(nm, library):
    """(defined names, [(object, undefined mangled name)]) of an archive."""
    output = subprocess.run([nm, "--no-demangle", "--format=posix", library], check=True,
                            capture_output=True, text=True).stdout
    defined, needed, current = set(), [], ""
    for line in output.splitlines():
        if match := re.fullmatch(r".*\[(.+)\]:", line):
            current = match[1]
            continue
        fields = line.split()
        if len(fields) < 2:
            continue
        name, kind = fields[0], fields[1]
        if kind in ("U", "w", "v"):
            needed.append((current, name))
        else:
            defined.add(name)
    return defined, needed


def demangle(names):
    names = list(names)
    output = subprocess.run(["c++filt"], input="\n".join(names), check=True, capture_output=True,
                            text=True).stdout
    return dict(zip(names, output.splitlines()))


def check(nm, allow, libraries):
    rules = read_rules(allow)
    defined, needed = set(), []
    for library in libraries:
        ours, theirs = read_symbols(nm, library)
        defined |= ours
        needed += [(pathlib.Path(library).name, *item) for item in theirs]
    missing = sorted({item for item in needed if item[2] not in defined})
    plain = demangle(defined | {name for _, _, name in missing})
    planted = [f"{plain[name]}: a planted bug in a shipped library"
               for name in sorted(defined) if FORBIDDEN.fullmatch(plain[name])]
    return planted + [f"{library}({item}): uses `{plain[name]}`, which the core may not; avoid it, or "
            f"add it to {allow.name} with a reason"
            for library, item, name in missing
            if not any(pattern.fullmatch(plain[name]) and objects.fullmatch(item)
                       for pattern, objects in rules)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--nm", default="nm")
    parser.add_argument("--allow", type=pathlib.Path, default=ALLOWED)
    parser.add_argument("libraries", nargs="+")
    arguments = parser.parse_args()
    complaints = check(arguments.nm, arguments.allow, arguments.libraries)
    for complaint in complaints:
        print(complaint)
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())

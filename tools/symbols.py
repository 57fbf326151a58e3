#!/usr/bin/env python3
"""Proves that the core does no I/O: every symbol that its libraries take from elsewhere must be on
a list. An include can be overlooked; a symbol that is not there cannot be called.

    tools/symbols.py [--nm NM] [--allow FILE] LIBRARY.a...

The libraries may use each other's symbols freely.
"""
import argparse
import pathlib
import re
import subprocess
import sys

# The switch of src/base/planted.h: in a library that people run there is nothing to switch.
FORBIDDEN = re.compile(r"nerve::active_bug")

ALLOWED = pathlib.Path(__file__).with_name("allowed_symbols.txt")


def read_rules(path):
    """Lines `PATTERN  OBJECT  reason`: a symbol matching PATTERN may be used by objects whose name
    matches OBJECT. Both match whole, as regular expressions; `.` for OBJECT means any."""
    rules = []
    for n, line in enumerate(path.read_text().splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        fields = re.split(r"\s{2,}", line.strip(), maxsplit=2)
        if len(fields) != 3:
            raise SystemExit(f"{path}:{n}: need a pattern, an object and a reason, two spaces apart")
        pattern, objects, _ = fields
        rules.append((re.compile(pattern), re.compile(".*" if objects == "." else objects)))
    return rules


def read_symbols(nm, library):
    """(defined names, [(object, mangled name it needs)]) of an archive."""
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
    planted = [f"{plain[name]}: a planted bug in a library that people run"
               for name in sorted(defined) if FORBIDDEN.fullmatch(plain[name])]
    return planted + [f"{library}({item}): takes `{plain[name]}` from outside; the core may not, or "
            f"{allow.name} must say why"
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

#!/usr/bin/env python3
"""The versioned symbols that libibverbs.so.1 exports, against the committed list.

    symbols_test.py READELF LIBRARY LIST

A name that goes missing keeps programs from loading; one that appears is a promise.
"""
import subprocess
import sys


def exported(readelf, library):
    out = subprocess.run([readelf, "--dyn-syms", "-W", library], check=True, text=True,
                         capture_output=True).stdout
    rows = (line.split() for line in out.splitlines())
    return {row[7] for row in rows if len(row) > 7 and row[6] != "UND" and "@" in row[7]}


def main():
    readelf, library, path = sys.argv[1:]
    with open(path, encoding="utf-8") as file:
        wanted = set(file.read().split())
    found = exported(readelf, library)
    for name in sorted(wanted - found):
        print(f"missing: {name}")
    for name in sorted(found - wanted):
        print(f"not in {path}: {name}")
    return found != wanted


if __name__ == "__main__":
    sys.exit(main())

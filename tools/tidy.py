#!/usr/bin/env python3
"""The rules of the tree that a compiler cannot check: who includes whom, words the core may not
say, sizes, leftovers. Prints `path:line: what is wrong; what to do` and exits 1 if anything is.

    tools/tidy.py [ROOT]            all rules
    tools/tidy.py --sizes [ROOT]    also name the files that come near the limit
"""
import argparse
import pathlib
import re
import sys

# Layer -> the layers it may include, besides itself. ARCHITECTURE.md draws the picture.
MAY_INCLUDE = {
    "base": set(),
    "wire": {"base"},
    "nic": {"base", "wire"},
    "link": {"base", "wire"},
    "host": {"base", "wire", "nic", "link"},
    "offer": {"base", "wire", "nic", "link", "host"},
    "preload": {"offer", "rdmacm"},
    "rdmacm": {"base", "wire", "nic", "host"},
    "verbs": {"base", "wire", "nic", "host", "offer", "rdmacm"},
    "sim": {"base", "wire", "nic", "ai"},
    "ai": {"base"},
    "cli": {"base", "wire", "host", "offer", "sim", "ai"},
}

SANS_IO = {"base", "wire", "nic"}  # no I/O, no clock, no threads, no exceptions

BANNED_HEADERS = [  # pattern of what stands between < and >, what to use instead
    (r"(sys|netinet|arpa|net|linux|asm|rdma|infiniband)/.*", "a driver in link/ or host/"),
    (r"(unistd|fcntl|poll|signal|dlfcn|netdb|ifaddrs|dirent|termios)\.h|csignal",
     "a driver in link/ or host/"),
    (r"thread|mutex|shared_mutex|condition_variable|future|semaphore|latch|barrier|stop_token"
     r"|pthread\.h|sched\.h|threads\.h", "nothing: the caller owns the threads"),
    (r"iostream|ostream|istream|fstream|sstream|iomanip|filesystem|syncstream|print",
     "a value that the caller prints"),
    (r"ctime|time\.h", "the `now` argument (base/time.h)"),
    (r"random", "base/prng.h"),
    (r"exception|stdexcept", "base/result.h"),
]
BANNED_WORDS = [
    (r"\b\w+_clock\b|\bclock_gettime\b|\bgettimeofday\b|\btime\((nullptr|NULL|0)?\)",
     "the `now` argument"),
    (r"\bs?rand(om)?\(|\bdrand48\(|\brandom_device\b|\bmt19937|\b\w+_distribution\b",
     "base/prng.h"),
    (r"\bgetenv\b", "an argument: configuration is read in host/"),
    (r"\bthread_local\b|\bstd::j?thread\b|\bstd::\w*mutex\b|\bvolatile\b",
     "nothing: the caller owns the threads"),
    (r"\bstd::c(out|err|log)\b|(?<![nf])printf\(|\bputs\(", "a value that the caller prints"),
    (r"\bthrow\b|\btry\s*\{|\bcatch\s*\(", "base/result.h"),
    (r"\bhash<[^>]*\*>|\b(unordered_)?(map|set)<[^,>]*\*\s*[,>]",
     "a stable id as the key: addresses differ from run to run"),
]
# The one file of the core that may ask the machine what it is: which CRC instructions it has.
# The answer changes how fast a result comes, never what it is.
MAY_ASK_THE_MACHINE = {"src/base/cpu.cc"}

NEAR_LIMIT, LIMIT = 400, 500
TABLES = {  # path -> why it may be longer than LIMIT
}

CODE = {".h", ".cc"}
TEXT = CODE | {".py", ".sh", ".md", ".txt", ".cmake", ".json", ".toml", ".yml",
               ".js", ".mjs", ".css", ".html"}
NO_SUFFIX_TEXT = {"nerve", "run", ".clang-format", ".clang-tidy", ".gitignore"}
SKIP_FOLDERS = {".git", "build", "out", "__pycache__"}

LEFTOVER = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b")
DEAD_CODE = re.compile(
    r"^\s*//+\s*("
    r"#\s*(include|if|endif|define)\b"
    r"|(if|for|while|switch)\s*\(.*\)\s*\{?$"
    r"|(return|break|continue|goto|delete)\b[^.]*;$"
    r"|[\w:\->.]+\(.*\);$"  # a call
    r"|[\w:<>*&\[\]\->.]+( [\w:<>*&\[\]]+){0,2}( [-+*/|&^]?= .*|\+\+|--);$"  # an assignment
    r"|\}(\s*else\s*\{)?;?$"
    r")")


def blank(text):
    """The code alone: comments and the insides of literals become spaces, lines stay in place."""
    pattern = r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\''

    def spaces(match):
        found = match[0]
        if found.startswith("'") and match.start() and text[match.start() - 1].isalnum():
            return found  # a digit separator: 1'000'000
        return re.sub(r"[^\n]", " ", found)

    return re.sub(pattern, spaces, text, flags=re.DOTALL)


class Tree:
    def __init__(self, root):
        self.root = pathlib.Path(root)
        self.complaints = []

    def complain(self, path, line, text):
        self.complaints.append(f"{path}:{line}: {text}")

    def files(self):
        for path in sorted(self.root.rglob("*")):
            name = path.relative_to(self.root)
            if SKIP_FOLDERS.intersection(name.parts) or not path.is_file():
                continue
            if name.parts[0] == "results":  # of simulations that were run here
                continue
            if path.suffix in TEXT or path.name in NO_SUFFIX_TEXT:
                yield name

    def check(self):
        for name in self.files():
            data = (self.root / name).read_bytes()
            try:
                text = data.decode()
            except UnicodeDecodeError:
                self.complain(name, 1, "is not UTF-8")
                continue
            self.check_text(name, text)
            if name.suffix in CODE:
                self.check_code(name, text)
            if name.parts[0] == "src" and name.suffix in CODE:
                self.check_layer(name, text)
        return self.complaints

    def check_text(self, name, text):
        lines = text.split("\n")
        if text and lines[-1] != "":
            self.complain(name, len(lines), "the last line has no end")
        for n, line in enumerate(lines, 1):
            if line != line.rstrip():
                self.complain(name, n, "white space at the end of the line")
        size = len(lines) - 1
        if size > LIMIT and name.suffix != ".md" and str(name) not in TABLES:
            self.complain(name, size, f"{size} lines, the limit is {LIMIT}; split it "
                          "(a table may be listed in tools/tidy.py)")

    def check_code(self, name, text):
        if name.stem in {"util", "utils", "misc", "common", "helpers"}:
            self.complain(name, 1, "a name that says nothing; name it after what it holds")
        lines = text.splitlines()
        for n, line in enumerate(lines, 1):
            if match := LEFTOVER.search(line):
                self.complain(name, n, f"{match[0]}; do it, or tell the gap in docs/coverage.md")
            if DEAD_CODE.match(line):
                self.complain(name, n, "code in a comment; delete it, history keeps it")
            if "\t" in line:
                self.complain(name, n, "a tab; run ./nerve format")
        if name.suffix == ".h":
            if not text.startswith("//"):
                self.complain(name, 1, "a header opens by saying what it is, in a comment")
            code = [line.strip() for line in blank(text).splitlines() if line.strip()]
            if not code or code[0] != "#pragma once":
                self.complain(name, 1, "the first line after the comment must be #pragma once")
            if re.search(r"^\s*using\s+namespace\b", blank(text), re.MULTILINE):
                self.complain(name, 1, "`using namespace` in a header reaches everyone")

    def check_layer(self, name, text):
        layer = name.parts[1]
        if layer not in MAY_INCLUDE:
            self.complain(name, 1, f"no layer is called {layer}/; add it to tools/tidy.py")
            return
        for n, line in enumerate(text.splitlines(), 1):
            if match := re.match(r'\s*#\s*include\s*([<"])([^>"]+)[>"]', line):
                self.check_include(name, n, layer, quoted=match[1] == '"', what=match[2])
        if layer not in SANS_IO or name.as_posix() in MAY_ASK_THE_MACHINE:
            return
        for n, line in enumerate(blank(text).splitlines(), 1):
            if re.match(r"\s*#\s*include\b", line):
                continue
            for pattern, instead in BANNED_WORDS:
                if match := re.search(pattern, line):
                    self.complain(name, n, f"`{match[0]}` is banned in {layer}/; use {instead}")

    def check_include(self, name, n, layer, quoted, what):
        first = what.split("/")[0]
        if quoted and first not in MAY_INCLUDE:
            self.complain(name, n, f'"{what}": write the path from src/')
        elif not quoted and first in MAY_INCLUDE and "/" in what:
            self.complain(name, n, f"<{what}>: our own headers are included with quotes")
        elif quoted and first != layer and first not in MAY_INCLUDE[layer]:
            self.complain(name, n, f"{layer}/ may not include {first}/")
        if quoted or layer not in SANS_IO or name.as_posix() in MAY_ASK_THE_MACHINE:
            return
        for pattern, instead in BANNED_HEADERS:
            if re.fullmatch(pattern, what):
                self.complain(name, n, f"<{what}> is banned in {layer}/; use {instead}")

    def near_the_limit(self):
        for name in self.files():
            size = len((self.root / name).read_bytes().splitlines())
            if NEAR_LIMIT < size and name.suffix != ".md":
                yield f"{name}: {size} lines (ask why at {NEAR_LIMIT}, split at {LIMIT})"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--sizes", action="store_true", help="name files that come near the limit")
    parser.add_argument("root", nargs="?", default=pathlib.Path(__file__).parent.parent)
    arguments = parser.parse_args()
    tree = Tree(arguments.root)
    for complaint in tree.check():
        print(complaint)
    if arguments.sizes:
        print("\n".join(tree.near_the_limit()))
    return 1 if tree.complaints else 0


if __name__ == "__main__":
    sys.exit(main())

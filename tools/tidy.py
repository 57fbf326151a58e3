#!/usr/bin/env python3
"""Checks the rules of the tree that a compiler cannot check: allowed includes, banned names in the
core, file sizes, leftovers. Prints `path:line: problem; what to do` and exits 1 if there are any.

    tools/tidy.py [ROOT]            all rules
    tools/tidy.py --sizes [ROOT]    also list files that are close to the size limit
"""
import argparse
import pathlib
import re
import sys

# Layer -> the layers it may include, besides itself; see ARCHITECTURE.md.
MAY_INCLUDE = {
    "base": set(),
    "wire": {"base"},
    "nic": {"base", "wire"},
    "seal": {"base", "wire"},
    "link": {"base", "wire", "seal"},
    "cuda": set(),
    "host": {"base", "wire", "seal", "nic", "link", "cuda"},
    "copier": {"base", "link", "cuda", "host"},
    "sysfs": {"base", "wire", "nic", "link", "host"},
    "preload": {"sysfs", "rdmacm"},
    "rdmacm": {"base", "wire", "nic", "host"},
    "verbs": {"base", "wire", "nic", "cuda", "host", "sysfs", "rdmacm"},
    "sim": {"base", "wire", "nic", "ai"},
    "ai": {"base", "cuda"},
    "mpi": set(),
    "controller": {"base", "wire"},
    "cli": {"base", "wire", "seal", "nic", "host", "sysfs", "sim", "ai", "mpi", "controller"},
}

# The same inside nic/ and sim/: folder -> the folders of the same layer, or single headers, that it
# may include, besides itself. A folder comes after the ones it includes, so there is no cycle. Files
# directly in the layer belong to the folder that TOP_FILES names, "" by default.
FOLDERS = {
    "nic": {
        # Plain values; config.h also names what flow control is configured with.
        "": {"nic/flow_control/egress_gate.h", "nic/flow_control/parameters.h"},
        "flow_control": {""},
        "dma_engine": {""},
        "cq_manager": {""},
        "ethernet": {"", "cq_manager"},
        "qp_context": {"", "flow_control", "dma_engine", "cq_manager"},
        "connection": {"", "ethernet", "qp_context"},
        "wqe_engine": {"", "dma_engine", "cq_manager", "ethernet", "qp_context"},
        "rx_handler": {"", "dma_engine", "ethernet", "connection", "qp_context", "wqe_engine"},
        "qp_manager": {"", "dma_engine", "cq_manager", "ethernet", "qp_context", "wqe_engine",
                       "rx_handler"},
    },
    "sim": {
        "core": set(),
        "scenario": set(),
        "fabric": {"core", "scenario"},
        "topology": {"core", "scenario", "fabric"},
        "fluid": {"core", "scenario", "fabric"},
        "control": {"core", "scenario", "fabric"},
        "host": {"core", "scenario", "fabric", "fluid", "control"},
        "results": {"core", "scenario", "fabric", "host"},
        "why": {"scenario", "results", "sim/host/path_times.h"},
        "plan": {"scenario", "fabric", "topology", "results"},
        "workload": {"scenario", "sim/host/messenger.h", "sim/results/job_result.h"},
    },
}
# None: it may include every folder, and no folder may include it. nic.h is the engine as a whole;
# simulation.h and foresight.h, the event loop that drives the NICs, belong to host/; every other
# file directly in sim/ sets up a run.
TOP_FILES = {"nic/nic": None, "nic/nic_modules": None, "sim/simulation": "host", "sim/foresight": "host",
             "sim/part": "host", "sim/division": "host", "sim/groups": "host",
             "sim/crew": "host",
             "sim/ranks": "host", "sim/border": "host", "sim/mirror": "host", "sim/": None}

SANS_IO = {"base", "wire", "seal", "nic"}  # no I/O, no clock, no threads, no exceptions

BANNED_HEADERS = [  # pattern of the name between < and >, what to use instead
    (r"(sys|netinet|arpa|net|linux|asm|rdma|infiniband)/.*", "a driver in link/ or host/"),
    (r"(unistd|fcntl|poll|signal|dlfcn|netdb|ifaddrs|dirent|termios)\.h|csignal",
     "a driver in link/ or host/"),
    (r"thread|mutex|shared_mutex|condition_variable|future|semaphore|latch|barrier|stop_token"
     r"|pthread\.h|sched\.h|threads\.h", "no threads: the caller owns them"),
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
     "no threads: the caller owns them"),
    (r"\bstd::c(out|err|log)\b|(?<![nf])printf\(|\bputs\(", "a value that the caller prints"),
    (r"\bthrow\b|\btry\s*\{|\bcatch\s*\(", "base/result.h"),
    (r"\bhash<[^>]*\*>|\b(unordered_)?(map|set)<[^,>]*\*\s*[,>]",
     "a stable id as the key: addresses differ from run to run"),
]
# The one file of the core that may query the CPU, for its CRC instructions. The answer affects speed,
# never results.
MAY_QUERY_THE_CPU = {"src/base/cpu.cc"}

NEAR_LIMIT, LIMIT = 400, 500
WIDTH = 100  # of prose
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


def folder_of(path):
    """The folder of its layer that a file belongs to; None for one that may include them all."""
    layer, *rest = path.parts
    if len(rest) > 1:
        return rest[0]
    return TOP_FILES.get(f"{layer}/{path.stem}", TOP_FILES.get(f"{layer}/", ""))


def blank(text):
    """The code only: comments and the contents of literals become spaces, line numbers stay."""
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
            if name.parts[0] == "results":  # of simulations
                continue
            if path.suffix in TEXT or path.name in NO_SUFFIX_TEXT:
                yield name

    def check(self):
        for name in self.files():
            data = (self.root / name).read_bytes()
            try:
                text = data.decode()
            except UnicodeDecodeError:
                self.complain(name, 1, "the file is not UTF-8")
                continue
            self.check_text(name, text)
            if name.suffix == ".md":
                self.check_prose(name, text)
            if name.suffix in CODE:
                self.check_code(name, text)
            if name.parts[0] == "src" and name.suffix in CODE:
                self.check_layer(name, text)
        return self.complaints

    def check_text(self, name, text):
        lines = text.split("\n")
        if text and lines[-1] != "":
            self.complain(name, len(lines), "the last line has no newline")
        for n, line in enumerate(lines, 1):
            if line != line.rstrip():
                self.complain(name, n, "trailing white space")
        size = len(lines) - 1
        if size > LIMIT and name.suffix != ".md" and str(name) not in TABLES:
            self.complain(name, size, f"{size} lines, the limit is {LIMIT}; split the "
                          "file (or list it in tools/tidy.py if it is a table)")

    def check_prose(self, name, text):
        """Tables, code, links and comments may be wider."""
        fenced = False
        for n, line in enumerate(text.split("\n"), 1):
            fenced ^= line.startswith("```")
            if (len(line) > WIDTH and not fenced
                    and not re.match(r"\||<!--|#", line) and "](" not in line):
                self.complain(name, n, f"{len(line)} columns; wrap prose at {WIDTH}")

    def check_code(self, name, text):
        if name.stem in {"util", "utils", "misc", "common", "helpers"}:
            self.complain(name, 1, "a meaningless file name; name the file after its contents")
        lines = text.splitlines()
        for n, line in enumerate(lines, 1):
            if match := LEFTOVER.search(line):
                self.complain(name, n, f"{match[0]}; do it, or list the gap in docs/coverage.md")
            if DEAD_CODE.match(line):
                self.complain(name, n, "commented-out code; delete it")
            if "\t" in line:
                self.complain(name, n, "tab character; run ./nerve format")
        if name.suffix == ".h":
            if not text.startswith("//"):
                self.complain(name, 1, "a header must begin with a comment that describes it")
            code = [line.strip() for line in blank(text).splitlines() if line.strip()]
            if not code or code[0] != "#pragma once":
                self.complain(name, 1, "the first line after the comment must be #pragma once")
            if re.search(r"^\s*using\s+namespace\b", blank(text), re.MULTILINE):
                self.complain(name, 1, "`using namespace` in a header affects every includer")

    def check_layer(self, name, text):
        layer = name.parts[1]
        if layer not in MAY_INCLUDE:
            self.complain(name, 1, f"unknown layer {layer}/; add it to tools/tidy.py")
            return
        for n, line in enumerate(text.splitlines(), 1):
            if match := re.match(r'\s*#\s*include\s*([<"])([^>"]+)[>"]', line):
                self.check_include(name, n, layer, quoted=match[1] == '"', what=match[2])
        if layer not in SANS_IO or name.as_posix() in MAY_QUERY_THE_CPU:
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
            self.complain(name, n, f'"{what}": write the path relative to src/')
        elif not quoted and first in MAY_INCLUDE and "/" in what:
            self.complain(name, n, f"<{what}>: include our own headers with quotes")
        elif quoted and first != layer and first not in MAY_INCLUDE[layer]:
            self.complain(name, n, f"{layer}/ may not include {first}/")
        elif quoted and layer == first and layer in FOLDERS:
            self.check_folder(name, n, layer, what)
        if quoted or layer not in SANS_IO or name.as_posix() in MAY_QUERY_THE_CPU:
            return
        for pattern, instead in BANNED_HEADERS:
            if re.fullmatch(pattern, what):
                self.complain(name, n, f"<{what}> is banned in {layer}/; use {instead}")

    def check_folder(self, name, n, layer, what):
        folder = folder_of(name.relative_to("src"))
        target = folder_of(pathlib.PurePath(what))
        if folder is None or target == folder:
            return
        if folder not in FOLDERS[layer]:
            self.complain(name, n, f"unknown folder {layer}/{folder}/; add it to tools/tidy.py")
        elif not {target, what} & FOLDERS[layer][folder]:
            place = f"{layer}/{folder}/" if folder else f"{layer}/"
            self.complain(name, n, f"{place} may not include {what}")

    def near_the_limit(self):
        for name in self.files():
            size = len((self.root / name).read_bytes().splitlines())
            if NEAR_LIMIT < size and name.suffix != ".md":
                yield f"{name}: {size} lines (ask why at {NEAR_LIMIT}, split at {LIMIT})"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--sizes", action="store_true", help="list files that are close to the size limit")
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

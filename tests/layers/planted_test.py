#!/usr/bin/env python3
"""The rules of the tree are effective: each one is violated once, in a tree of one file, and the
violation must be reported at its line. Similar but valid code must pass."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import symbols  # noqa: E402
import tidy  # noqa: E402

HEADER = "// A header.\n#pragma once\n"

PLANTED = [  # path, contents, line of the complaint, words it must contain
    # allowed includes
    ("src/base/a.cc", '#include "wire/bth.h"\n', 1, "base/ may not include wire/"),
    ("src/wire/a.cc", '\n#include "nic/nic.h"\n', 2, "wire/ may not include nic/"),
    ("src/nic/qp_manager/a.cc", '#include "link/udp.h"\n', 1, "nic/ may not include link/"),
    ("src/nic/a.cc", '#include "host/host.h"\n', 1, "nic/ may not include host/"),
    ("src/nic/a.cc", '#include "sim/cable.h"\n', 1, "nic/ may not include sim/"),
    ("src/link/a.cc", '#include "nic/nic.h"\n', 1, "link/ may not include nic/"),
    ("src/sim/a.cc", '#include "link/udp.h"\n', 1, "sim/ may not include link/"),
    ("src/sim/a.cc", '#include "verbs/verbs.h"\n', 1, "sim/ may not include verbs/"),
    ("src/nic/cq_manager/a.cc", '#include "nic/qp_context/qp.h"\n', 1,
     "nic/cq_manager/ may not include nic/qp_context/qp.h"),
    ("src/nic/rx_handler/a.cc", '#include "nic/qp_manager/qp_manager.h"\n', 1,
     "nic/rx_handler/ may not include nic/qp_manager/qp_manager.h"),
    ("src/nic/dma_engine/a.cc", '#include "nic/nic.h"\n', 1,
     "nic/dma_engine/ may not include nic/nic.h"),
    ("src/nic/config.h", HEADER + '#include "nic/dma_engine/dma_engine.h"\n', 3,
     "nic/ may not include nic/dma_engine/dma_engine.h"),
    ("docs/a.md", "# A\n\n" + "word " * 20 + "end\n", 3, "103 columns; wrap prose at 100"),
    ("src/sim/scenario/a.cc", '#include "sim/fabric/fabric.h"\n', 1,
     "sim/scenario/ may not include sim/fabric/fabric.h"),
    ("src/sim/core/a.h", HEADER + '#include "sim/fabric/port.h"\n', 3,
     "sim/core/ may not include sim/fabric/port.h"),
    ("src/sim/fabric/a.cc", '#include "sim/simulation.h"\n', 1,
     "sim/fabric/ may not include sim/simulation.h"),
    ("src/sim/host/a.cc", '#include "sim/workload/job.h"\n', 1,
     "sim/host/ may not include sim/workload/job.h"),
    ("src/sim/simulation.cc", '#include "sim/results/recorder.h"\n', 1,
     "sim/host/ may not include sim/results/recorder.h"),
    ("src/sim/workload/collective/a.cc", '#include "sim/host/cluster.h"\n', 1,
     "sim/workload/ may not include sim/host/cluster.h"),
    ("src/sim/results/a.cc", '#include "sim/run.h"\n', 1,
     "sim/results/ may not include sim/run.h"),
    ("src/sim/misplaced/a.cc", '#include "sim/core/ids.h"\n', 1,
     "unknown folder sim/misplaced/"),
    ("src/ai/a.cc", '#include "nic/nic.h"\n', 1, "ai/ may not include nic/"),
    ("src/ai/a.cc", '#include "host/gpu/gpu_range.h"\n', 1, "ai/ may not include host/"),
    ("src/cuda/a.cc", '#include "host/diagnostics/log.h"\n', 1, "cuda/ may not include host/"),
    ("src/cli/a.cc", '#include "link/udp.h"\n', 1, "cli/ may not include link/"),
    ("src/nic/a.cc", '#include "../link/udp.h"\n', 1, "the path relative to src/"),
    ("src/nic/a.cc", '#include "qp.h"\n', 1, "the path relative to src/"),
    ("src/nic/a.cc", "#include <wire/bth.h>\n", 1, "with quotes"),
    ("src/misplaced/a.cc", "int a;\n", 1, "unknown layer misplaced/"),
    # headers that are banned in the core
    ("src/base/a.cc", "#include <sys/socket.h>\n", 1, "<sys/socket.h> is banned"),
    ("src/wire/a.cc", "#include <unistd.h>\n", 1, "<unistd.h> is banned"),
    ("src/nic/a.cc", "#include <thread>\n", 1, "<thread> is banned"),
    ("src/nic/a.cc", "#  include <mutex>\n", 1, "<mutex> is banned"),
    ("src/nic/a.cc", "#include <random>\n", 1, "base/prng.h"),
    ("src/nic/a.cc", "#include <ctime>\n", 1, "`now`"),
    ("src/wire/a.cc", "#include <iostream>\n", 1, "<iostream> is banned"),
    ("src/nic/a.cc", "#include <infiniband/verbs.h>\n", 1, "is banned"),
    # names that are banned in the core
    ("src/nic/a.cc", "auto t = std::chrono::steady_clock::now();\n", 1, "`now`"),
    ("src/nic/a.cc", "int r = rand();\n", 1, "base/prng.h"),
    ("src/nic/a.cc", "std::uniform_int_distribution<int> d;\n", 1, "base/prng.h"),
    ("src/base/a.cc", 'auto* e = getenv("X");\n', 1, "an argument"),
    ("src/wire/a.cc", "void f() { throw 1; }\n", 1, "base/result.h"),
    ("src/wire/a.cc", "void f() {\n  try {\n  } catch (...) {\n  }\n}\n", 2, "base/result.h"),
    ("src/nic/a.cc", "thread_local int a;\n", 1, "the caller owns them"),
    ("src/nic/a.cc", "std::unordered_map<Qp*, int> a;\n", 1, "a stable id"),
    ("src/nic/a.cc", 'void f() { printf("hello"); }\n', 1, "the caller prints"),
    # style
    ("src/base/a.h", "// A header.\nint a;\n", 1, "#pragma once"),
    ("src/base/a.h", "#pragma once\nint a;\n", 1, "a comment that describes it"),
    ("src/base/a.h", HEADER + "using namespace std;\n", 1, "using namespace"),
    ("src/base/utils.h", HEADER, 1, "meaningless"),
    ("src/base/a.cc", "int a; \n", 1, "white space"),
    ("docs/a.md", "text\t\n", 1, "white space"),
    ("src/base/a.cc", "int a;", 1, "no newline"),
    ("src/base/a.cc", "\tint a;\n", 1, "tab character"),
    ("tests/base/a_test.cc", "// TO" "DO: more\n", 1, "docs/coverage.md"),
    ("src/nic/a.cc", "int a;\n" * 501, 501, "501 lines"),
    ("src/base/a.cc", "// a = f(b);\n", 1, "commented-out code"),
    ("src/base/a.cc", "  // return false;\n", 1, "commented-out code"),
    ("src/base/a.cc", "// if (a > b) {\n", 1, "commented-out code"),
    ("src/base/a.cc", "// }\n", 1, "commented-out code"),
    ("src/base/a.cc", '// #include "base/b.h"\n', 1, "commented-out code"),
]

VALID = [
    ("src/nic/a.cc", '#include "base/ids.h"\n#include "wire/bth.h"\n#include <cstdint>\n'),
    ("src/link/a.cc", '#include "wire/frame.h"\n#include <sys/socket.h>\n#include <thread>\n'),
    ("src/nic/wqe_engine/a.cc", '#include "nic/config.h"\n#include "nic/qp_context/qp.h"\n'),
    ("src/nic/nic.cc", '#include "nic/qp_manager/qp_manager.h"\n'),
    ("docs/a.md", "| " + "word " * 20 + "|\n```\n" + "word " * 30 + "end\n```\n"),
    ("src/sim/fabric/a.cc", '#include "sim/core/ids.h"\n#include "sim/fabric/b.h"\n'),
    ("src/sim/host/a.cc", '#include "sim/simulation.h"\n'),
    ("src/sim/workload/a.cc", '#include "sim/host/messenger.h"\n'),
    ("src/sim/run.cc", '#include "sim/workload/job.h"\n#include "sim/run_setup.h"\n'),
    ("src/ai/b.cc", '#include "cuda/driver.h"\n'),
    ("src/host/a.cc", "auto t = std::chrono::steady_clock::now();\n"),
    ("src/cli/a.cc", "#include <iostream>\n"),
    ("src/base/cpu.cc", "#include <sys/auxv.h>\n"),
    ("src/nic/a.cc", "// Never throw here; a try { would be wrong, and so would rand().\n"),
    ("src/nic/a.cc", 'const char* a = "throw rand() // getenv";\n'),
    ("src/nic/a.cc", "constexpr int a = 1'000'000; constexpr char b = '\"'; // throw \"\n"),
    ("src/nic/a.cc", "// before the deadline (see timer_heap.h);\n// then after it.\n"),
    ("src/nic/a.cc", "}  // namespace nerve\n"),
    ("src/nic/a.cc", "int b = 0;  // the retry timer fired\n"),
    ("src/base/a.h", HEADER + "int a;\n"),
    ("tests/nic/a_test.cc", "#include <random>\n"),
]


def complaints(path, contents):
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / path
        file.parent.mkdir(parents=True)
        file.write_text(contents)
        return tidy.Tree(folder).check()


class Rules(unittest.TestCase):
    def test_planted_violations_are_caught(self):
        for path, contents, line, words in PLANTED:
            with self.subTest(path=path, contents=contents[:60]):
                found = complaints(path, contents)
                self.assertTrue(
                    any(c.startswith(f"{path}:{line}: ") and words in c for c in found), found)

    def test_valid_code_passes(self):
        for path, contents in VALID:
            with self.subTest(path=path, contents=contents[:60]):
                self.assertEqual(complaints(path, contents), [])


class Folders(unittest.TestCase):
    def test_the_tables_have_no_cycle(self):
        for layer, folders in tidy.FOLDERS.items():
            seen = set()
            for folder, allowed in folders.items():
                for one in allowed if folder else set():
                    target = one if "/" not in one else tidy.folder_of(pathlib.PurePath(one))
                    self.assertIn(target, seen, f"{layer}/{folder} comes before {target}")
                seen.add(folder)


class Symbols(unittest.TestCase):
    """Compiles one object into a library and checks its undefined symbols."""

    def complaints(self, code, name="a.cc"):
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder) / name
            source.write_text(code)
            subprocess.run([os.environ.get("CXX", "c++"), "-std=c++20", "-O2", "-c", source,
                            "-o", f"{source}.o"], check=True)
            library = f"{folder}/libnerve_x.a"
            subprocess.run(["ar", "rcs", library, f"{source}.o"], check=True)
            return symbols.check("nm", symbols.ALLOWED, [library])

    def test_system_calls_are_caught(self):
        for call, name in [("time(nullptr)", "time"), ('getenv("A") != nullptr', "getenv"),
                           ("::close(1)", "close"), ("rand()", "rand"),
                           ("(std::puts(\"a\"), 1)", "puts")]:
            with self.subTest(call=call):
                found = self.complaints("#include <cstdio>\n#include <cstdlib>\n#include <ctime>\n"
                                        f"#include <unistd.h>\nlong f() {{ return {call}; }}\n")
                self.assertTrue(any(f"`{name}`" in c and "libnerve_x.a(a.cc.o)" in c
                                    for c in found), found)

    def test_a_rule_applies_to_its_object_only(self):
        code = "#include <sys/auxv.h>\nunsigned long f() { return getauxval(AT_HWCAP); }\n"
        self.assertEqual(self.complaints(code, "cpu.cc"), [])
        self.assertEqual(len(self.complaints(code, "other.cc")), 1)

    def test_planted_bugs_are_caught(self):
        found = self.complaints("namespace nerve { extern int active_bug; int active_bug = 0; }\n")
        self.assertTrue(any("planted bug" in c for c in found), found)

    def test_plain_code_passes(self):
        self.assertEqual(self.complaints("#include <vector>\nvoid f(std::vector<int>& v) "
                                         "{ v.push_back(1); v.reserve(v.size() * 2); }\n"), [])


if __name__ == "__main__":
    unittest.main()

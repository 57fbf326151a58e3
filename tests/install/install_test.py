#!/usr/bin/env python3
"""install_test.py BUILD: what `cmake --install` of this build puts under a prefix works after the prefix has moved,
without the build tree: the command, its libraries, the simulator, manual pages, completions, and the engine as a
library for programs of others."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
COMMANDS = 'demo run trace devices stat top metrics web doctor decode key controller sim sweep plan learn'.split()


def call(*command, **options):
    return subprocess.run([str(word) for word in command], text=True, timeout=300,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options)


def version():
    return re.search(r'project\(nerve VERSION ([0-9.]+)', (ROOT / 'CMakeLists.txt').read_text())[1]


class Installed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        first = cls.folder / 'first'
        done = call('cmake', '--install', BUILD, '--prefix', first)
        assert done.returncode == 0, done.stdout
        cls.prefix = cls.folder / 'moved'
        first.rename(cls.prefix)
        cls.nerve = cls.prefix / 'bin/nerve'

    def passes(self, *command, **options):
        done = call(*command, **options)
        self.assertEqual(done.returncode, 0, done.stdout)
        return done.stdout

    def test_version_tells_how_it_was_built(self):
        text = self.passes(self.nerve, '--version')
        self.assertRegex(text, rf'\Anerve {re.escape(version())}\n'
                         r'commit +(unknown|[0-9a-f]{12,}(-dirty)?)\n'
                         r'compiler +(GCC|Clang) [0-9.].* for (arm64|x86-64)\n'
                         r'features +shm, udp, rdma_cm, sim.*\n'
                         rf'library +{self.prefix}/lib/nerve/libibverbs.so.1\n'
                         r'simulator +nerve-sim, report pages with(out)? charts\n\Z')

    def test_programs_get_the_libraries_of_this_prefix(self):
        text = self.passes(self.nerve, 'run', '--', 'printenv', 'LD_LIBRARY_PATH', 'LD_PRELOAD',
                           env={'PATH': os.environ['PATH']})
        self.assertEqual(text, f'{self.prefix}/lib/nerve\n{self.prefix}/lib/nerve/libnerve-preload.so\n')
        if shutil.which('ibv_devinfo'):
            self.assertIn('nerve0', self.passes(self.nerve, 'run', '--device', 'nerve0=lo', '--', 'ibv_devinfo'))

    def test_the_simulator_finds_its_pages(self):
        with tempfile.TemporaryDirectory() as folder:
            self.passes(self.nerve, 'sim', ROOT / 'examples/scenarios/ring.toml', '--quiet', '--out', folder,
                        '--trace-gpus', '0,1')
            self.assertIn('nerve-trace-1', (pathlib.Path(folder) / 'trace.html').read_text())

    def test_only_libc_is_needed(self):
        for file in [self.nerve, *filter(pathlib.Path.is_file, (self.prefix / 'lib/nerve').iterdir())]:
            needed = re.findall(r'\(NEEDED\).*\[(.*)\]', self.passes('readelf', '-d', file))
            self.assertLessEqual(set(needed), {'libc.so.6', 'libm.so.6', 'ld-linux-aarch64.so.1',
                                               'ld-linux-x86-64.so.2'}, file)

    def test_simulates(self):
        scenario = self.prefix / 'share/doc/nerve/examples/scenarios/ring.toml'
        self.passes(self.nerve, 'sim', scenario, '--quiet', '--out', self.folder / 'run')
        self.assertTrue((self.folder / 'run/report.html').exists())

    def test_messages_do_not_speak_of_a_source_tree(self):
        broken = self.folder / 'broken'
        shutil.copytree(self.prefix / 'bin', broken / 'bin')
        for words in ['--version'], ['run', '--', 'true'], ['demo'], ['sim', 'x'], ['doctor'], ['nothing']:
            done = call(broken / 'bin/nerve', *words)
            self.assertNotEqual(done.returncode, 0, words)
            self.assertNotRegex(done.stdout, r'\./nerve|build it', words)
        self.assertIn('install Nerve again', call(broken / 'bin/nerve', 'run', '--', 'true').stdout)

    def test_a_path_that_the_loader_would_cut_is_refused(self):
        shutil.copytree(self.prefix, self.folder / 'a space')
        done = call(self.folder / 'a space/bin/nerve', 'run', '--', 'true')
        self.assertEqual(done.returncode, 126, done.stdout)
        self.assertIn('move nerve to a folder without them', done.stdout)

    def test_every_command_has_a_manual_page(self):
        pages = self.prefix / 'share/man/man1'
        listed = re.findall(r'^  (\w+) ', self.passes(self.nerve, '--help'), re.MULTILINE)
        self.assertEqual(set(listed), set(COMMANDS))
        main = (pages / 'nerve.1').read_text()
        for command in COMMANDS:
            self.assertIn(f'nerve\\-{command} (1)', main)
            page = (pages / f'nerve-{command}.1').read_text()
            self.assertIn(f'Usage: nerve {command}', page)
        if shutil.which('man') and shutil.which('groff'):
            for page in pages.iterdir():
                done = subprocess.run(['man', '--warnings', '-l', page], capture_output=True, text=True,
                                      env={**os.environ, 'MANWIDTH': '200', 'LC_ALL': 'C.UTF-8'})
                self.assertEqual((done.returncode, done.stderr), (0, ''), page)

    def test_completions(self):
        share = self.prefix / 'share'
        environment = {**os.environ, 'PATH': f'{self.prefix}/bin:{os.environ["PATH"]}'}
        shells = {('bash',): share / 'bash-completion/completions/nerve',
                  ('zsh', '-f'): share / 'zsh/vendor-completions/_nerve',
                  ('fish', '--no-config'): share / 'fish/vendor_completions.d/nerve.fish'}
        for shell, file in shells.items():
            self.assertTrue(file.exists(), file)
            if shutil.which(shell[0]):
                script = ROOT / f'tests/install/root/complete.{shell[0]}'
                self.passes(*shell, script, file, env=environment)

    def test_the_engine_by_pkg_config(self):
        environment = {**os.environ, 'PKG_CONFIG_PATH': str(self.prefix / 'lib/pkgconfig')}
        flags = self.passes('pkg-config', '--cflags', '--libs', 'nerve-engine', env=environment).split()
        source = self.prefix / 'share/doc/nerve-dev/examples/embed/two_engines.cc'
        doors = self.folder / 'doors.cc'
        doors.write_text('#include <nic/connection/connection_manager.h>\n#include <wire/packet.h>\n'
                         '#include <wire/pcap.h>\n')
        program = self.folder / 'two_engines'
        self.passes(os.environ.get('CXX', 'c++'), '-std=c++20', '-Wall', '-Wextra', source, doors, *flags,
                    '-o', program)
        self.assertRegex(self.passes(program), r'\AWRITE of 65536 bytes: complete after \d+ us and \d+ packets\n\Z')

    def test_the_engine_by_cmake(self):
        build = self.folder / 'cmake'
        self.passes('cmake', '-S', self.prefix / 'share/doc/nerve-dev/examples/embed', '-B', build, '-G', 'Ninja',
                    f'-DCMAKE_PREFIX_PATH={self.prefix}')
        self.passes('cmake', '--build', build)
        self.assertIn('complete', self.passes(build / 'two_engines'))

    def test_the_library_fits_any_linker(self):
        sections = self.passes('objdump', '-h', self.prefix / 'lib/libnerve_engine.a')
        self.assertNotRegex(sections, r'\.gnu\.lto|\.debug_info')


class Release(unittest.TestCase):
    def test_the_changelog_knows_the_version(self):
        headings = re.findall(r'^## (.+)$', (ROOT / 'CHANGELOG.md').read_text(), re.MULTILINE)
        released = [heading.split()[0] for heading in headings if heading != 'Unreleased']
        self.assertLessEqual(headings.count('Unreleased'), 1)
        if released:
            self.assertEqual(released[0], version(), 'CMakeLists.txt and CHANGELOG.md differ')


if __name__ == '__main__':
    unittest.main()

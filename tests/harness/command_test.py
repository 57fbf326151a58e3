#!/usr/bin/env python3
"""What ./nerve itself decides: when a tree is configured again, what a command waits for and says so, what runs
although nothing can be built, and how seeds are shown. In a tree that holds the script alone, with programs in
place of cmake, ctest and apt that write down how they were called."""
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
NOBODY = 65534

CMAKE = """#!/bin/sh
cd "$TREE"
echo "$*" >>called
case $1 in
  --preset)
    mkdir -p build/$2 && touch build/$2/build.ninja ;;
  --build)
    while [ -e slow ]; do sleep 0.05; done
    mkdir -p build/release/src/cli build/release/lib && touch build/release/.ninja_log
    for file in build/release/src/cli/nerve build/release/src/cli/nerve-sim build/release/lib/libibverbs.so.1; do
      [ -e $file ] || { printf '#!/bin/sh\\necho ran "$@"\\n' >$file; chmod +x $file; }
    done ;;
esac
"""
CTEST = """#!/bin/sh
echo "seeds $NERVE_SEEDS, timeout $*"
echo "failed Worlds.Live 417" >>"$NERVE_PROGRESS"
i=1
while [ $i -le 11 ]; do
  echo "seeds Worlds.Live ${i}000 20000 ${i}000" >>"$NERVE_PROGRESS"; i=$((i + 1)); sleep 1
done
echo "0% tests passed, 1 tests failed out of 1"
exit 8
"""
APT = """#!/bin/sh
echo "apt-get $*" >>"$TREE/called"
case "$*" in *--simulate*) exit ;; *install*) date +%s.%N >"$TREE/status"; touch "$TREE/installed" ;; esac
"""
SUDO = """#!/bin/sh
shift && exec "$@"
"""
DPKG_QUERY = """#!/bin/sh
[ ! -e "$TREE/installed" ] || for name; do echo "installed $name"; done
"""


class Command(unittest.TestCase):
    def setUp(self):
        self.tree = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.tree)
        self.tree.chmod(0o755)
        (self.tree / 'src').mkdir()
        (self.tree / 'programs').mkdir()
        (self.tree / 'status').write_text('')
        (self.tree / 'installed').touch()
        for name in ('nerve', 'CMakePresets.json'):
            shutil.copy(ROOT / name, self.tree / name)
        shutil.copytree(ROOT / 'tools', self.tree / 'tools')
        building = self.tree / 'tools/building.sh'
        building.write_text(building.read_text().replace('/var/lib/dpkg/status', f'{self.tree}/status'))
        for name, text in (('cmake', CMAKE), ('ctest', CTEST), ('apt-get', APT), ('dpkg-query', DPKG_QUERY),
                           ('sudo', SUDO)):
            (self.tree / 'programs' / name).write_text(text)
            (self.tree / 'programs' / name).chmod(0o755)
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith('NERVE_')} | {
            'PATH': f'{self.tree}/programs:{os.environ["PATH"]}', 'TREE': str(self.tree), 'NERVE_JOBS': '1'}

    def start(self, *words, **options) -> subprocess.Popen:
        return subprocess.Popen([self.tree / 'nerve', *words], env=self.environment, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)

    def nerve(self, *words, **options) -> tuple[int, str, str]:
        process = self.start(*words, **options)
        out, err = process.communicate(timeout=60)
        return process.returncode, out, err

    def called(self, what: str) -> int:
        calls = self.tree / 'called'
        return len(re.findall(what, calls.read_text(), re.MULTILINE)) if calls.exists() else 0

    def builds_slowly(self, *words) -> subprocess.Popen:
        """A command that holds its lock until `slow` is removed."""
        (self.tree / 'slow').touch()
        before = self.called('^--build')
        process = self.start(*words)
        while self.called('^--build') == before:
            time.sleep(0.02)
        return process

    def finish(self, process: subprocess.Popen) -> None:
        (self.tree / 'slow').unlink()
        process.communicate(timeout=60)

    def protect(self, folder: pathlib.Path) -> None:
        for path in (folder, *folder.iterdir()):
            mode = path.stat().st_mode
            self.addCleanup(path.chmod, mode)
            path.chmod(mode & ~0o222)

    def test_configures_once_while_nothing_changes(self):
        self.assertEqual(self.nerve('devices')[:2], (0, 'ran devices\n'))
        self.nerve('devices')
        self.assertEqual(self.called('^--preset release'), 1)

    def test_configures_again_after_a_package_was_installed(self):
        self.nerve('devices')
        (self.tree / 'installed').unlink()
        self.nerve('build')
        self.assertEqual(self.called('^apt-get .*install -y'), 1)
        self.assertEqual(self.called('^--preset release'), 2)
        (self.tree / 'status').write_text('by another program')
        self.nerve('build')
        self.assertEqual(self.called('^--preset release'), 3)

    def test_begins_anew_after_a_configuration_that_failed(self):
        (self.tree / 'build/release').mkdir(parents=True)
        self.nerve('devices')
        self.assertEqual(self.called('^--preset release --fresh'), 1)

    def test_runs_what_is_built_while_another_command_builds(self):
        self.nerve('run')
        other = self.builds_slowly('build')
        status, out, err = self.nerve('run', '--', 'x')
        self.finish(other)
        self.assertEqual((status, out), (0, 'ran run -- x\n'))
        self.assertEqual(err, f"nerve: './nerve build' (pid {other.pid}) builds in build/release; "
                              'running the previous build\n')

    def test_waits_where_nothing_is_built_and_names_the_command(self):
        other = self.builds_slowly('build')
        waits = self.start('run')
        line = waits.stderr.readline()
        self.assertEqual(line, f"nerve: waiting for './nerve build' (pid {other.pid}), which builds in build/release\n")
        self.finish(other)
        self.assertEqual(waits.communicate(timeout=60)[0], 'ran run\n')

    def test_waits_while_the_library_is_linked(self):
        self.nerve('run')
        (self.tree / 'build/release/lib/libibverbs.so.1').chmod(0o644)
        other = self.builds_slowly('build')
        waits = self.start('run')
        self.assertIn('waiting for', waits.stderr.readline())
        self.finish(other)
        waits.communicate(timeout=60)

    def test_two_presets_build_at_once(self):
        first = self.builds_slowly('build')
        second = self.builds_slowly('build', '--preset', 'asan')
        (self.tree / 'slow').unlink()
        self.assertNotIn('waiting', first.communicate(timeout=60)[1] + second.communicate(timeout=60)[1])

    def test_packages_are_installed_by_one_command_at_a_time(self):
        (self.tree / 'installed').unlink()
        lock = self.tree / 'build/install.lock'
        lock.parent.mkdir()
        lock.write_text("'./nerve lint' (pid 1)\n")
        with subprocess.Popen(['flock', lock, 'cat'], stdin=subprocess.PIPE) as holder:
            while subprocess.run(['flock', '-n', lock, 'true'], check=False).returncode == 0:
                time.sleep(0.02)
            waits = self.start('devices')
            self.assertEqual(waits.stderr.readline(),
                             "nerve: waiting for './nerve lint' (pid 1), which installs packages\n")
            (self.tree / 'installed').touch()
            holder.stdin.close()
        waits.communicate(timeout=60)
        self.assertEqual(self.called('^apt-get'), 0)  # the other command had installed them

    def test_runs_in_a_tree_of_another_user(self):
        self.nerve('run')
        other = {'user': NOBODY, 'group': NOBODY, 'extra_groups': []} if os.geteuid() == 0 else {}
        if not other:
            self.protect(self.tree / 'build/release')
        self.assertEqual(self.nerve('run', '--', 'x', **other), (0, 'ran run -- x\n', ''))
        (self.tree / 'src/new.cc').touch()
        self.assertIn('older than the sources', self.nerve('run', '--', 'x', **other)[2])
        status, _, err = self.nerve('build', **other)
        self.assertEqual(status, 1)
        self.assertIn('cannot write to', err)

    def test_shows_seeds_and_failures_while_they_run(self):
        status, out, err = self.nerve('test', '--seeds', '1001-21000', 'Worlds')
        self.assertEqual(status, 8)
        self.assertIn('nerve: seed 417 failed; replay: NERVE_SEED=417 ./nerve test Worlds.Live\n', err)
        self.assertRegex(err, r'nerve: Worlds.Live: \d+000 of 20000 seeds \(\d+ %\), 9\d\d a second, '
                              r'\d+ s left, 1 FAILED\n')
        self.assertIn('seeds 1001-21000, timeout', out)
        self.assertIn('1 of 1 tests FAILED', out)

    def test_refuses_seeds_that_are_none(self):
        for seeds in ('0', '9-3', '1-', 'many', '-5', '1-2-3'):
            self.assertEqual(self.nerve('test', '--seeds', seeds)[0], 2, seeds)


class PackageVersion(unittest.TestCase):
    """What version ./nerve package gives: of a release, and before and after it."""

    def setUp(self):
        self.tree = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.tree)
        (self.tree / 'CMakeLists.txt').write_text('project(nerve VERSION 1.2.0 LANGUAGES CXX)\n')

    def git(self, *words):
        subprocess.run(['git', '-c', 'user.name=n', '-c', 'user.email=n@n', *words], cwd=self.tree, check=True,
                       capture_output=True)

    def commit(self):
        self.git('add', '.')
        self.git('commit', '--allow-empty', '-m', 'x')

    def version(self):
        script = 'root=$1; source "$2/tools/packaging.sh"; package_version'
        environment = os.environ | {'GIT_CEILING_DIRECTORIES': str(self.tree.parent)}
        done = subprocess.run(['bash', '-euc', script, 'bash', self.tree, ROOT], env=environment, text=True,
                              capture_output=True, check=True)
        return done.stdout.strip()

    def test_names_the_commit_between_releases(self):
        self.assertEqual(self.version(), '1.2.0')  # an archive of the sources
        self.git('init', '-q')
        self.commit()
        self.assertRegex(self.version(), r'^1\.2\.0~git1\.[0-9a-f]{12}$')
        self.git('tag', 'v1.2.0')
        self.assertEqual(self.version(), '1.2.0')
        (self.tree / 'CMakeLists.txt').write_text('project(nerve VERSION 1.2.0 LANGUAGES CXX)\n\n')
        self.assertRegex(self.version(), r'^1\.2\.0\+git1\.[0-9a-f]{12}\.dirty$')
        self.commit()
        self.assertRegex(self.version(), r'^1\.2\.0\+git2\.[0-9a-f]{12}$')


if __name__ == '__main__':
    unittest.main()

"""The conformance suite of rdma-core, as shipped by Debian: no error and no failure."""
import gzip
import pathlib
import re
import shutil
from typing import Iterator, Optional

from case import Case
from process import Ended

SHIPPED = pathlib.Path('/usr/share/doc/rdma-core/tests')


def prepare(scratch: pathlib.Path) -> None:
    """Large documentation files are compressed."""
    folder = scratch / 'tests'
    shutil.copytree(SHIPPED, folder)
    for packed in folder.glob('*.gz'):
        packed.with_suffix('').write_bytes(gzip.decompress(packed.read_bytes()))
        packed.unlink()


def cases(second: bool, long: bool) -> Iterator[Case]:
    yield Case('pyverbs', ('/usr/bin/python3', '-B', 'tests/run_tests.py', '--dev', 'nerve0', '-v'), multicast=True,
               check_client=all_well, note=count, seconds=300)


def all_well(ended: Ended) -> Optional[str]:
    done = re.search(r'^OK( \(.*\))?$', ended.output, re.MULTILINE)
    return None if done else 'no OK at the end'


def count(ended: Ended) -> str:
    ran = re.search(r'^Ran (\d+) tests', ended.output, re.MULTILINE)
    skipped = re.search(r'skipped=(\d+)', ended.output)
    return f'{ran[1] if ran else 0} tests, {skipped[1] if skipped else 0} skipped'

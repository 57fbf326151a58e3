#!/usr/bin/env bash
# Makes a wheel of the built Python module: python/make_wheel.sh [FOLDER] (default: build/wheel).
# Needs `./nerve build` and Debian's python3-setuptools and python3-wheel.
set -euo pipefail

root=$(cd -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/.." && pwd)
folder=${1:-$root/build/wheel}
python=${NERVE_PYTHON:-/usr/bin/python3}
scratch=$(mktemp -d)
trap 'rm -rf -- "$scratch"' EXIT

cp -L -- "$root"/build/release/python/nerve/{*.py,_nerve*.so} "$scratch/" 2>/dev/null ||
  { echo "make_wheel: no module in build/release/python; run ./nerve build" >&2 && exit 1; }
mkdir -p -- "$folder" "$scratch/nerve" "$scratch/project"
mv -- "$scratch"/*.py "$scratch"/_nerve*.so "$scratch/nerve/"
cp -- "$root/python/setup.py" "$scratch/project/"
version=$(sed -n 's/^project(nerve VERSION \([0-9.]*\).*/\1/p' "$root/CMakeLists.txt")
cd -- "$scratch/project"
NERVE_BUILT_MODULE=../nerve NERVE_VERSION=$version \
  "$python" setup.py -q bdist_wheel -d "$folder" >/dev/null
ls -- "$folder"/*.whl

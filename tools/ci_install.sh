#!/usr/bin/env bash
# ci_install.sh [PACKAGE]: installs Nerve and perftest for the rest of a CI job. PACKAGE is a file or a
# URL; without it, the package is made from this source tree.
set -euo pipefail
tree=$(cd -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/.." && pwd)
package=${1:-} as_root=()
((EUID == 0)) || as_root=(sudo)
export DEBIAN_FRONTEND=noninteractive

case $package in
  '')
    "$tree/nerve" package
    package=$(compgen -G "$tree/build/packages/nerve_*.deb")
    ;;
  *://*)
    curl --fail --location --silent --show-error --output "${TMPDIR:-/tmp}/nerve.deb" "$package"
    package=${TMPDIR:-/tmp}/nerve.deb
    ;;
esac
"${as_root[@]}" apt-get update
"${as_root[@]}" apt-get install -y --no-install-recommends "$(realpath -- "$package")" ibverbs-utils perftest
nerve --version

#!/usr/bin/env bash
# lint.sh JOBS [format]: runs the checks of `./nerve lint`, or the formatter of `./nerve format`. All
# checks run even if one fails; the exit status is 1 if any failed.
set -euo pipefail
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
jobs=$1
cd -- "$root"

folders=()
for folder in src tests fuzz bench examples; do
  [[ ! -d $folder ]] || folders+=("$folder")
done
sources() { find "${folders[@]}" \( -name '*.h' -o -name '*.cc' \) -print0 | sort -z; }

if [[ ${2:-} == format ]]; then
  sources | xargs -0 -r clang-format -i
  exit
fi

bad=()
check() {
  local name=$1 start=$SECONDS
  if "${@:2}"; then
    echo "lint: $name: clean ($((SECONDS - start)) s)"
  else
    bad+=("$name")
  fi
}
check_format() {
  sources | xargs -0 -r -n 40 -P "$jobs" clang-format --dry-run --Werror || {
    echo "lint: ./nerve format fixes these" >&2
    return 1
  }
}
# Headers are checked through the files that include them.
check_clang_tidy() { python3 tools/clang_tidy.py "$jobs"; }
check_shell() {
  local scripts
  mapfile -t scripts < <(grep -lE '^#!.*\b(ba)?sh$' tests/install/root/*)
  shellcheck nerve .ci/run tools/*.sh tests/*/*.sh packaging/completions/nerve.bash "${scripts[@]}"
}
check_tree() { python3 tools/tidy.py; }

check format check_format
check shellcheck check_shell
check tree check_tree
check clang-tidy check_clang_tidy

((${#bad[@]} == 0)) || {
  echo "lint: FAILED: ${bad[*]}" >&2
  exit 1
}

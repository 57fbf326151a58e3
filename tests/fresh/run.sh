#!/usr/bin/env bash
# run.sh [OPTIONS] [forward|reverse]...: runs every sub-command of ./nerve on a bare Debian 12, each
# order in its own root. Each step installs its packages on top of those of earlier steps, so an order
# reveals a tree that is not reconfigured after an installation. Prints one line per step, then
# `N passed, N failed`.
set -euo pipefail
here=$(cd -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")" && pwd)
tree=$(cd -- "$here/../.." && pwd)
work=/var/tmp/nerve-fresh filter=. limit=7200 cache=${CCACHE_DIR:-}
# shellcheck source=/dev/null  # checked by itself
source "$here/root.sh"

usage() {
  cat <<END
usage: ./nerve test fresh [--work DIR] [--steps REGEX] [--keep] [--reuse] [forward|reverse]...

  forward      the sub-commands in the order of ./nerve --help
  reverse      the opposite order; default both
  --steps R    only the steps whose name matches this regular expression
  --work DIR   folder of the roots and logs; default $work
  --keep       keep the roots for inspection
  --reuse      continue in the roots left by --keep, with the current tree
  --list       print the steps without running them

Needs root, the package debootstrap, 8 GB of disk space and, on two cores, two hours. The root made
by debootstrap is kept for the next run. With CMAKE_CXX_COMPILER_LAUNCHER=ccache and CCACHE_DIR set,
the roots use that cache too.
END
}
die() {
  echo "test fresh: $*" >&2
  exit 1
}

# The selected steps: name, status, command.
steps() { grep -v '^#' "$here/steps.txt" | awk -v filter="$filter" '$1 ~ filter'; }

# All files that git does not ignore, with uncommitted changes.
files_of_tree() {
  git -C "$tree" -c safe.directory="$tree" ls-files -z --cached --others --exclude-standard \
    --deduplicate | while IFS= read -r -d '' file; do
    [[ ! -e $tree/$file ]] || printf '%s\0' "$file" # not deleted
  done
}

copy_tree() {
  mkdir -p "$1$tree"
  files_of_tree | tar -C "$tree" --null --no-recursion -cf - -T - | tar -C "$1$tree" -xf -
}

# prepare_root ORDER: makes a root with a copy of this tree at the same path.
prepare_root() {
  local root=$work/$1
  if [[ -n $reuse && -d $root ]]; then
    copy_tree "$root"
    return
  fi
  rm -rf -- "$work/$1.logs"
  mkdir -p "$work/$1.logs"
  make_root "$work/base" "$root" bookworm
  # For npm: its settings, and local certificate authorities, which are picked up when the package
  # ca-certificates is installed.
  [[ ! -e /etc/npmrc ]] || cp /etc/npmrc "$root/etc/npmrc"
  [[ ! -d /usr/local/share/ca-certificates ]] || cp -a /usr/local/share/ca-certificates "$root/usr/local/share/"
  copy_tree "$root"
  if [[ ${CMAKE_CXX_COMPILER_LAUNCHER:-} == ccache ]]; then
    inside "$root" "$tree" 'apt-get update && apt-get install -y --no-install-recommends ccache' \
      "${variables[@]}" &>"$work/$1.logs/ccache.log" || die "could not install ccache; log: $work/$1.logs/ccache.log"
  fi
}

# timeout puts a step into its own process group; the trap ends it with this script.
passed=0 failed=0 step=''
trap '[[ -z $step ]] || kill "$step"' EXIT
trap 'exit 130' INT TERM
run_order() {
  local order=$1 name wanted command log start status sort=(cat)
  [[ $order == forward ]] || sort=(tac)
  prepare_root "$order"
  while read -r name wanted command; do
    log=$work/$order.logs/$name.log start=$SECONDS status=0
    timeout "$limit" bash -c "$(declare -f inside); cache=\$1; inside \"\${@:2}\"" inside \
      "$cache" "$work/$order" "$tree" "$command" "${variables[@]}" &>"$log" </dev/null &
    step=$!
    wait "$step" || status=$?
    step=''
    if [[ $status =~ ^($wanted)$ ]]; then
      ((++passed))
      printf 'ok    %-7s  %-12s  %5d s\n' "$order" "$name" $((SECONDS - start))
    else
      ((++failed))
      printf 'FAIL  %-7s  %-12s  %5d s  status %d: %s; log: %s\n' \
        "$order" "$name" $((SECONDS - start)) "$status" "$command" "$log"
    fi
  done < <(steps | "${sort[@]}")
  [[ -n $keep ]] || rm -rf --one-file-system -- "${work:?}/$order"
}

keep='' reuse='' orders=()
while (($#)); do
  case $1 in
    forward | reverse) orders+=("$1") && shift ;;
    --work) work=$(realpath -m -- "${2:?--work needs a folder}") && shift 2 ;;
    --steps) filter=${2:?--steps needs a regular expression} && shift 2 ;;
    --keep) keep=1 && shift ;;
    --reuse) reuse=1 && shift ;;
    --list) steps && exit ;;
    -h | --help) usage && exit ;;
    *) die "unknown argument '$1'; try: ./nerve test fresh --help" ;;
  esac
done
((EUID == 0)) || die "needs root"
case $work/ in "$tree"/*) die "--work must be outside the tree" ;; esac
((${#orders[@]} > 0)) || orders=(forward reverse)
mkdir -p "$work"
make_base "$work/base" bookworm
variables=()
for name in NERVE_JOBS CMAKE_CXX_COMPILER_LAUNCHER http_proxy https_proxy "${!CCACHE_@}"; do
  [[ -z ${!name:-} ]] || variables+=("$name=${!name}")
done
for order in "${orders[@]}"; do run_order "$order"; done
echo "$passed passed, $failed failed"
((failed == 0))

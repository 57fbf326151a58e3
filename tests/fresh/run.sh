#!/usr/bin/env bash
# run.sh [OPTIONS] [forward|reverse]...: runs every sub-command of ./nerve on a bare Debian 12, each
# order in a root of its own, from the first package on. What a step installs, the steps before it
# did not have: an order finds a tree that was configured too early. One line for each step, then
# `N passed, N failed`.
set -euo pipefail
here=$(cd -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")" && pwd)
tree=$(cd -- "$here/../.." && pwd)
work=/var/tmp/nerve-fresh filter=. limit=7200

usage() {
  cat <<END
usage: ./nerve test fresh [--work DIR] [--steps REGEX] [--keep] [--reuse] [forward|reverse]...

  forward      the sub-commands in the order of ./nerve --help
  reverse      and backwards; both orders unless told
  --steps R    only the steps whose name matches this regular expression
  --work DIR   where the roots and the logs are; $work unless told
  --keep       leave the roots there, to look into
  --reuse      go on in the roots that --keep left, with the tree as it is now
  --list       print the steps and run nothing

Needs root, the package debootstrap, 8 GB of disk and, on two cores, two hours. The root that
debootstrap made is kept for the next run. With CMAKE_CXX_COMPILER_LAUNCHER=ccache and CCACHE_DIR set,
the roots use that cache too.
END
}
die() {
  echo "test fresh: $*" >&2
  exit 1
}

# The steps that were asked for: name, status, command.
steps() { grep -v '^#' "$here/steps.txt" | awk -v filter="$filter" '$1 ~ filter'; }

# The mirror and the proxy that this machine's apt uses; elsewhere debootstrap knows one.
make_base() {
  local mirror=() proxy=''
  [[ ! -e $work/base.done ]] || return 0
  if bookworm_host; then
    # shellcheck disable=SC2016  # apt expands it
    mapfile -t mirror < <(apt-get indextargets --format '$(REPO_URI)' 'Codename: bookworm' 2>/dev/null | sort -u | head -n 1)
    eval "$(apt-config shell proxy Acquire::http::Proxy)"
    [[ -z $proxy ]] || export http_proxy=$proxy
  fi
  rm -rf -- "$work/base"
  echo "test fresh: making a bare Debian 12 in $work/base"
  debootstrap --variant=minbase bookworm "$work/base" "${mirror[@]}" >"$work/debootstrap.log" 2>&1 ||
    die "debootstrap failed; its log: $work/debootstrap.log"
  touch "$work/base.done"
}
bookworm_host() { grep -qx 'VERSION_CODENAME=bookworm' /etc/os-release; }

# All but what git ignores, with changes that are not committed yet.
files_of_tree() {
  git -C "$tree" -c safe.directory="$tree" ls-files -z --cached --others --exclude-standard \
    --deduplicate | while IFS= read -r -d '' file; do
    [[ ! -e $tree/$file ]] || printf '%s\0' "$file" # not removed since
  done
}

copy_tree() {
  mkdir -p "$1$tree"
  files_of_tree | tar -C "$tree" --null --no-recursion -cf - -T - | tar -C "$1$tree" -xf -
}

# make_root ORDER: a copy of the bare root with this machine's apt settings and a copy of this tree,
# at the same path as here.
make_root() {
  local root=$work/$1
  if [[ -n $reuse && -d $root ]]; then
    copy_tree "$root"
    return
  fi
  rm -rf -- "$root" "$work/$1.logs"
  cp -a --reflink=auto "$work/base" "$root"
  mkdir -p "$work/$1.logs"
  if bookworm_host; then
    rm -rf -- "$root/etc/apt"
    cp -aL /etc/apt "$root/etc/apt"
  fi
  # For npm: its settings, and certificate authorities of this network. They are read when the package
  # ca-certificates is installed.
  [[ ! -e /etc/npmrc ]] || cp /etc/npmrc "$root/etc/npmrc"
  [[ ! -d /usr/local/share/ca-certificates ]] || cp -a /usr/local/share/ca-certificates "$root/usr/local/share/"
  cp -L /etc/resolv.conf /etc/hosts "$root/etc/"
  echo force-unsafe-io >"$root/etc/dpkg/dpkg.cfg.d/fresh" # nothing here outlives a power failure
  copy_tree "$root"
  if [[ ${CMAKE_CXX_COMPILER_LAUNCHER:-} == ccache ]]; then
    inside "$1" 'apt-get update && apt-get install -y --no-install-recommends ccache' \
      &>"$work/$1.logs/ccache.log" || die "could not install ccache; its log: $work/$1.logs/ccache.log"
  fi
}

# inside ORDER COMMAND: runs it in the tree of that root, by a shell with an environment as after
# login. Processes and mounts that it leaves end with it.
inside() {
  local root=$work/$1 name variables=(HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8)
  for name in NERVE_JOBS CMAKE_CXX_COMPILER_LAUNCHER http_proxy https_proxy "${!CCACHE_@}"; do
    [[ -z ${!name:-} ]] || variables+=("$name=${!name}")
  done
  # shellcheck disable=SC2016  # expanded by that shell
  unshare --mount --pid --fork --kill-child -- bash -c '
    set -e
    root=$1 tree=$2 command=$3 cache=$4
    mount -t proc proc "$root/proc"
    mount --rbind /sys "$root/sys"
    mount --rbind /dev "$root/dev"
    mount -t tmpfs tmpfs "$root/run"
    if [[ -n $cache ]]; then
      mkdir -p "$root$cache"
      mount --bind "$cache" "$root$cache"
    fi
    exec chroot "$root" env -i "${@:5}" bash -c "cd \"$tree\" && $command" </dev/null
  ' inside "$root" "$tree" "$2" "${CCACHE_DIR:-}" "${variables[@]}"
}

# A step is in a process group of its own, by timeout: it must not outlive this script.
passed=0 failed=0 step=''
trap '[[ -z $step ]] || kill "$step"' EXIT
trap 'exit 130' INT TERM
run_order() {
  local order=$1 name wanted command log start status sort=(cat)
  [[ $order == forward ]] || sort=(tac)
  make_root "$order"
  while read -r name wanted command; do
    log=$work/$order.logs/$name.log start=$SECONDS status=0
    timeout "$limit" bash -c "$(declare -f inside); $(declare -p work tree); inside \"\$@\"" inside \
      "$order" "$command" &>"$log" </dev/null &
    step=$!
    wait "$step" || status=$?
    step=''
    if [[ $status =~ ^($wanted)$ ]]; then
      ((++passed))
      printf 'ok    %-7s  %-12s  %5d s\n' "$order" "$name" $((SECONDS - start))
    else
      ((++failed))
      printf 'FAIL  %-7s  %-12s  %5d s  status %d: %s; its log: %s\n' \
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
    *) die "what is '$1'? try: ./nerve test fresh --help" ;;
  esac
done
((EUID == 0)) || die "needs root"
case $work/ in "$tree"/*) die "--work must be outside of the tree" ;; esac
((${#orders[@]} > 0)) || orders=(forward reverse)
mkdir -p "$work"
make_base
for order in "${orders[@]}"; do run_order "$order"; done
echo "$passed passed, $failed failed"
((failed == 0))

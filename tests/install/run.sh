#!/usr/bin/env bash
# run.sh [OPTIONS]: installs the packages of build/packages on a bare Debian without compiler or
# source, runs programs there as ordinary users, purges the packages and compares all files with those
# before. One line for each step, then `N passed, N failed`.
set -euo pipefail
here=$(cd -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")" && pwd)
tree=$(cd -- "$here/../.." && pwd)
work=/var/tmp/nerve-install suite=bookworm limit=600
# shellcheck source=/dev/null  # checked by itself
source "$here/../fresh/root.sh"

usage() {
  cat <<END
usage: ./nerve test install [--suite NAME] [--work DIR] [--keep]

  --suite NAME  the Debian to install on: bookworm (12) unless told, trixie (13)
  --work DIR    where the root and the logs are; $work unless told
  --keep        leave the root there, to look into
  --list        print the steps and run nothing

Needs root, the package debootstrap, 5 GB of disk, and 10 minutes. The root that debootstrap made is
kept for the next run.
END
}
die() {
  echo "test install: $*" >&2
  exit 1
}
steps() { grep -v '^#' "$here/steps.txt"; }

# as USER COMMAND: in the root; `users` is root with that network in which users run.
as() {
  local user=$1 command=$2
  case $user in
    root) inside "$root" / "$command" DEBIAN_FRONTEND=noninteractive ;;
    users) alone=1 inside "$root" / "$command" ;;
    *) # shellcheck disable=SC2016  # expanded there
      alone=1 inside "$root" / 'exec runuser -l "$STEP_USER" -c "$STEP"' STEP_USER="$user" STEP="$command"
      ;;
  esac
}

keep=''
while (($#)); do
  case $1 in
    --suite) suite=${2:?--suite needs a name} && shift 2 ;;
    --work) work=$(realpath -m -- "${2:?--work needs a folder}") && shift 2 ;;
    --keep) keep=1 && shift ;;
    --list) steps && exit ;;
    -h | --help) usage && exit ;;
    *) die "what is '$1'? try: ./nerve test install --help" ;;
  esac
done
((EUID == 0)) || die "needs root"
compgen -G "$tree/build/packages/nerve_*.deb" >/dev/null || die "no packages; run: ./nerve package"
root=$work/$suite logs=$work/$suite.logs
mkdir -p "$logs"
make_base "$work/base-$suite" "$suite"
make_root "$work/base-$suite" "$root" "$suite"
mkdir "$root/packages"
cp "$tree"/build/packages/* "$root/packages/"
tar -C "$work/base-$suite" -cf "$root/packages/base.tar" .
cp -r "$tree"/{Containerfile,.dockerignore,action.yml,examples} "$root/"
install -D "$tree/tools/ci_install.sh" "$root/tools/ci_install.sh"
install -m 755 "$here"/root/* "$root/usr/local/bin/"
for user in alice bob; do
  chroot "$root" useradd --create-home --shell /bin/bash "$user"
done

passed=0 failed=0
while read -r name user command; do
  log=$logs/$name.log start=$SECONDS status=0
  export -f as inside
  export root
  timeout "$limit" bash -c 'as "$@"' as "$user" "$command" &>"$log" </dev/null || status=$?
  if ((status == 0)); then
    ((++passed))
    printf 'ok    %-12s  %-5s  %4d s\n' "$name" "$user" $((SECONDS - start))
  else
    ((++failed))
    printf 'FAIL  %-12s  %-5s  %4d s  status %d: %s; its log: %s\n' \
      "$name" "$user" $((SECONDS - start)) "$status" "$command" "$log"
  fi
done < <(steps)
[[ -n $keep ]] || rm -rf --one-file-system -- "$root"
echo "$passed passed, $failed failed"
((failed == 0))

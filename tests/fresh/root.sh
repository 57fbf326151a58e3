# shellcheck shell=bash
# A bare Debian in a folder, and commands in it: for tests/fresh and tests/install. The caller sets
# `die`.

host_is() { grep -qx "VERSION_CODENAME=$1" /etc/os-release; }

# make_base FOLDER SUITE: what debootstrap makes, once. The mirror and the proxy are those of this
# machine's apt where it runs the same Debian; elsewhere debootstrap knows one.
make_base() {
  local base=$1 suite=$2 mirror=() proxy=''
  [[ ! -e $base.done ]] || return 0
  if host_is bookworm; then
    # shellcheck disable=SC2016  # apt expands it
    mapfile -t mirror < <(apt-get indextargets --format '$(REPO_URI)' 'Codename: bookworm' 2>/dev/null | sort -u | head -n 1)
    eval "$(apt-config shell proxy Acquire::http::Proxy)"
    [[ -z $proxy ]] || export http_proxy=$proxy
  fi
  rm -rf -- "$base"
  echo "making a bare Debian ($suite) in $base"
  debootstrap --variant=minbase "$suite" "$base" "${mirror[@]}" >"$base.log" 2>&1 ||
    die "debootstrap failed; its log: $base.log"
  touch "$base.done"
}

# make_root BASE ROOT SUITE: a copy of it with this machine's apt settings.
make_root() {
  local base=$1 root=$2 suite=$3
  rm -rf --one-file-system -- "$root"
  cp -a --reflink=auto "$base" "$root"
  if host_is "$suite"; then
    rm -rf -- "$root/etc/apt"
    cp -aL /etc/apt "$root/etc/apt"
  fi
  cp -L /etc/resolv.conf /etc/hosts "$root/etc/"
  echo force-unsafe-io >"$root/etc/dpkg/dpkg.cfg.d/fresh" # nothing here outlives a power failure
}

# inside ROOT FOLDER COMMAND [NAME=VALUE]...: runs it in that folder of the root, by a shell with an
# environment as after login. Processes and mounts that it leaves end with it. With `cache` set, that
# folder is in the root too; with `alone` set, the command has a network of its own. The root is that
# of a mount namespace: in a chroot the kernel refuses user namespaces, which containers need.
inside() {
  local root=$1 folder=$2 command=$3 namespaces=(--mount --pid)
  [[ -z ${alone:-} ]] || namespaces+=(--net)
  # shellcheck disable=SC2016  # expanded by that shell
  unshare "${namespaces[@]}" --fork --kill-child -- bash -c '
    set -e
    root=$1 folder=$2 command=$3 cache=$4 alone=$5
    [[ -z $alone ]] || ip link set lo up
    mount --bind "$root" "$root"
    cd "$root"
    mount -t proc proc proc
    mount -t sysfs sysfs sys
    mount -t cgroup2 cgroup2 sys/fs/cgroup
    mount --rbind /dev dev
    mount -t tmpfs tmpfs dev/shm
    mount -t tmpfs tmpfs run
    if [[ -n $cache ]]; then
      mkdir -p "$root$cache"
      mount --bind "$cache" "$root$cache"
    fi
    pivot_root . .
    umount --lazy .
    exec env -i HOME=/root PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 "${@:6}" \
      bash -c "cd \"$folder\" && $command" </dev/null
  ' inside "$root" "$folder" "$command" "${cache:-}" "${alone:-}" "${@:4}"
}

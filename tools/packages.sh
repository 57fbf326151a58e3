# shellcheck shell=bash disable=SC2154  # part of ./nerve, which sets root, say, die and lock
# Debian packages: what each command needs, and the installation of missing ones.

packages_for() {
  case $1 in
    build)
      printf '%s\n' build-essential cmake ninja-build pkg-config python3 libibverbs-dev \
        libgtest-dev libcli11-dev libfmt-dev nlohmann-json3-dev libtomlplusplus-dev \
        libssl-dev
      ;;
    script) printf '%s\n' python3 ;;
    page) command -v npm >/dev/null || printf '%s\n' nodejs npm ;; # npm from another source comes with node
    bench) printf '%s\n' libbenchmark-dev ;;
    mpi) printf '%s\n' openmpi-bin libopenmpi-dev ;;
    bench-ai) printf '%s\n' libgloo-dev openmpi-bin libopenmpi-dev ;;
    python) printf '%s\n' python3-dev python3-numpy pybind11-dev ;;
    bench-live) printf '%s\n' perftest ucx-utils libfabric-bin iperf3 ;;
    fuzz) printf '%s\n' clang libclang-rt-14-dev ;;
    controller) printf '%s\n' perftest iproute2 procps ;;
    bad-days) printf '%s\n' ibverbs-utils iproute2 librdmacm-dev perftest valgrind ;;
    clients)
      printf '%s\n' ibverbs-utils perftest qperf rdmacm-utils ucx-utils libucx-dev libfabric-bin fio libgloo-dev \
        openmpi-bin libopenmpi-dev mpich libmpich-dev tgt libiscsi-bin qemu-utils qemu-block-extra qemu-system-arm \
        python3-pyverbs rdma-core iproute2 util-linux iperf3 netcat-traditional openssl
      ;;
    ai) printf '%s\n' python3-torch python3-numpy python3-dev pybind11-dev ;;
    demo) printf '%s\n' ibverbs-utils perftest iperf3 qperf ;;
    interop)
      case $(dpkg --print-architecture) in
        amd64) echo qemu-system-x86 ;;
        *) echo qemu-system-arm ;;
      esac
      printf '%s\n' ibverbs-utils ibverbs-providers perftest rdmacm-utils librdmacm-dev iproute2 busybox dropbear-bin \
        openssh-client cpio kmod tcpdump tshark
      ;;
    hashes)
      # Where it is installed, the library of GoogleTest brings its sources.
      [[ $(dpkg --print-architecture) != amd64 ]] || printf '%s\n' g++-aarch64-linux-gnu qemu-user-static
      ;;
    fresh) printf '%s\n' debootstrap ;;
    package) printf '%s\n' dpkg-dev file ;;
    install) printf '%s\n' debootstrap iproute2 ;;
    lint) printf '%s\n' clang-format clang-tidy shellcheck ;;
  esac
}

# missing NEED...: the packages of these needs that are not installed.
missing() {
  local wanted installed name
  wanted=$(for name in "$@"; do packages_for "$name"; done)
  # shellcheck disable=SC2086  # one word for each package
  installed=$(dpkg-query -W -f='${db:Status-Status} ${Package}\n' $wanted 2>/dev/null || true)
  for name in $wanted; do
    grep -qx "installed $name" <<<"$installed" || echo "$name"
  done
}

# need NEED...: installs the missing packages of these needs. build() reconfigures after packages have
# changed, so that CMake finds them.
need() {
  local names
  (($# > 0)) && [[ -z ${NERVE_NO_INSTALL:-} ]] || return 0
  command -v dpkg-query >/dev/null || return 0 # not Debian: the build reports what is missing
  names=$(missing "$@")
  [[ -n $names ]] || return 0
  mkdir -p "$root/build" 2>/dev/null || true
  if [[ -w $root/build ]]; then
    lock 8 "$root/build/install.lock" "installs packages"
    names=$(missing "$@") # the command that held the lock may have installed some
  fi
  # shellcheck disable=SC2086  # one word for each package
  [[ -z $names ]] || install_packages $names 8>&- # a daemon started by a package must not inherit the lock
  exec 8>&-
}

# The process that holds dpkg's lock, as in "apt-get (pid 12)", or nothing. apt waits for it silently.
package_manager_at_work() {
  local inode pid
  inode=$(stat -c %i /var/lib/dpkg/lock-frontend 2>/dev/null) || return 0
  pid=$(awk -v inode=":$inode\$" '$2 == "POSIX" && $6 ~ inode { print $5; exit }' /proc/locks)
  [[ -z $pid ]] || echo "$(cat "/proc/$pid/comm" 2>/dev/null) (pid $pid)"
}

install_packages() {
  local as_root=() log=$root/build/install.log other
  local apt=(env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=600)
  if ((EUID != 0)); then
    if command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
      as_root=(sudo -n)
    elif command -v sudo >/dev/null && [[ -t 0 && -z ${CI:-} ]]; then
      as_root=(sudo) # a user can type a password
    else
      say "missing packages: $*"
      die "neither root nor sudo is available; run: sudo apt-get install -y $*"
    fi
  fi
  { : >"$log"; } 2>/dev/null || log=$(mktemp -t nerve-install-XXXXXX.log)
  say "installing $*"
  other=$(package_manager_at_work)
  [[ -z $other ]] || say "waiting for $other, which is installing packages"
  local get=("${as_root[@]}" "${apt[@]}")
  # Updates the package lists only if they are missing or outdated.
  "${apt[@]}" --simulate install "$@" &>>"$log" </dev/null ||
    "${get[@]}" update &>>"$log" </dev/null || true
  "${get[@]}" install -y --no-install-recommends "$@" &>>"$log" </dev/null && return
  { "${get[@]}" update && "${get[@]}" install -y --no-install-recommends "$@"; } \
    &>>"$log" </dev/null && return
  tail -n 20 "$log" >&2
  die "could not install the packages; try: sudo apt-get update && sudo apt-get install -y $*"
}

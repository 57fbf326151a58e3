#!/usr/bin/env bash
# A Linux kernel with Soft-RoCE (rdma_rxe) in a virtual machine, on a network of its own.
#
#   guest.sh prepare      fetch a kernel and pack the guest; quick when done before
#   guest.sh start        make the network namespace, boot, wait until commands can be run
#   guest.sh exec CMD...  run a command in the guest; its output and exit status are this one's
#   guest.sh stop         end the guest, remove the namespace
#   guest.sh clean        stop, and remove the cache
#
# The guest has no disk: it is Debian's kernel and one archive with the programs of *this* machine
# (perftest, ibverbs-utils, rdmacm-utils, iproute2), the libraries they need and guest-init. Its only cable is a
# tap in the namespace, so that no test packet can reach another network:
#
#   namespace   roce0: 198.51.100.1/24, 2001:db8:77::1/64, link-local    Nerve runs here
#   guest       eth0:  198.51.100.2/24, 2001:db8:77::2/64, link-local    rxe0 is on it
#
# NERVE_INTEROP_CACHE   where the kernel and the archive are kept; default: build/interop
# NERVE_INTEROP_KERNEL  the Debian package of the kernel, if not the default one
# NERVE_INTEROP_NETNS   the name of the namespace
# NERVE_INTEROP_MTU     of the cable; 4200 lets both ends speak of a path MTU of 4096
set -euo pipefail

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
cache=${NERVE_INTEROP_CACHE:-$here/../../build/interop}
netns=${NERVE_INTEROP_NETNS:-nerve-interop}
mtu=${NERVE_INTEROP_MTU:-4200}
readonly boot_seconds=180 guest_address=198.51.100.2

say() { printf 'interop: %s\n' "$*" >&2; }
die() {
  say "$@"
  exit 1
}

((EUID == 0)) || die "needs root: it makes a network namespace and a tap device"
mkdir -p "$cache"
cache=$(cd -- "$cache" && pwd)
pid_file=$cache/qemu.pid

architecture=$(dpkg --print-architecture)
case $architecture in
  arm64)
    qemu=qemu-system-aarch64 console=ttyAMA0 machine=(-machine virt)
    processor=cortex-a72
    ;;
  amd64)
    qemu=qemu-system-x86_64 console=ttyS0 machine=(-machine q35)
    processor=max
    ;;
  *) die "no recipe for a guest of architecture $architecture" ;;
esac
if [[ -w /dev/kvm ]]; then
  machine+=(-accel kvm -cpu host)
else
  machine+=(-accel tcg -cpu "$processor")
fi

# --- prepare -------------------------------------------------------------------------------------

kernel_package() {
  [[ -z ${NERVE_INTEROP_KERNEL:-} ]] || { echo "$NERVE_INTEROP_KERNEL" && return; }
  apt-cache depends "linux-image-$architecture" | sed -n 's/^ *Depends: \(linux-image-.*\)/\1/p' |
    head -n 1
}

prepare() {
  local package stamp=$cache/prepared
  package=$(kernel_package)
  [[ -n $package ]] || die "apt knows no kernel package; try: apt-get update"
  if [[ ! -d $cache/$package ]]; then
    say "fetching $package"
    rm -rf -- "$cache/fetch" && mkdir "$cache/fetch"
    (cd -- "$cache/fetch" && apt-get -qq download "$package" 2>apt.log) ||
      die "could not fetch $package: $(cat "$cache/fetch/apt.log")"
    dpkg-deb -x "$cache"/fetch/*.deb "$cache/fetch/unpacked"
    mv -- "$cache/fetch/unpacked" "$cache/$package"
    rm -rf -- "$cache/fetch"
  fi
  # Packed again if the kernel, these scripts, or the programs have changed.
  local wanted
  wanted=$(echo "$package" && sha256sum "$here/guest.sh" "$here/guest-init" &&
    dpkg-query -W perftest ibverbs-utils ibverbs-providers rdmacm-utils librdmacm1 iproute2 dropbear-bin libc6)
  [[ ! -e $stamp || $(<"$stamp") != "$wanted" ]] || return 0
  say "packing the guest"
  pack "$cache/$package"
  echo "$wanted" >"$stamp"
}

# The programs of the guest; busybox provides all others.
programs() {
  printf '%s\n' ibv_devinfo ibv_{rc,uc,ud,srq}_pingpong ib_{write,read,send}_{bw,lat} \
    ib_atomic_{bw,lat} rping ucmatose udaddy mckey cmtime rdma_{server,client} rstream riostream \
    rcopy ip tc rdma dropbear busybox
}

pack() {
  local kernel=$1 root=$cache/root program file version
  rm -rf -- "$root"
  mkdir -p "$root"/{bin,proc,sys,dev,tmp,run,etc/dropbear,root/.ssh}
  for program in $(programs); do
    put_program "$root" "$(command -v "$program" || die "no program $program here")"
  done
  [[ -e $root/bin/busybox ]] || ln -s "$(command -v busybox)" "$root/bin/busybox"
  # No program links libgcc_s, but every one that ends a thread loads it.
  for file in /usr/lib/*/libibverbs/librxe-*.so /lib/*/libgcc_s.so.1; do
    put_program "$root" "$file"
  done
  mkdir -p "$root/etc/libibverbs.d"
  cp /etc/libibverbs.d/rxe.driver "$root/etc/libibverbs.d/"

  version=$(ls "$kernel/lib/modules")
  put_modules "$root" "$kernel" "$version"
  cp "$kernel/boot/vmlinuz-$version" "$cache/vmlinuz"

  echo 'root:x:0:0:root:/root:/bin/sh' >"$root/etc/passwd"
  [[ -e $cache/key ]] || ssh-keygen -q -t ed25519 -N '' -C '' -f "$cache/key"
  cp "$cache/key.pub" "$root/root/.ssh/authorized_keys"
  chmod -R go-rwx "$root/root"
  cp "$here/guest-init" "$root/init"
  # Not compressed: an emulated guest takes longer to unpack than to read it.
  (cd -- "$root" && find . | cpio --quiet -o -H newc) >"$cache/initrd"
  rm -rf -- "$root"
}

# put_program ROOT FILE: copies the file and every library it needs, to the same paths.
put_program() {
  local root=$1 file=$2 needed
  for needed in "$file" $(LD_LIBRARY_PATH='' ldd "$file" 2>/dev/null | grep -o '/[^ ]*'); do
    [[ -e $root$needed ]] || install -D "$needed" "$root$needed"
  done
}

# put_modules ROOT KERNEL VERSION: the modules that the guest loads, and their dependencies.
# Soft-RoCE computes its ICRC with crc32_generic, which is not a declared dependency, and is built
# into later kernels.
put_modules() {
  local root=$1 kernel=$2 version=$3 module file
  depmod -b "$kernel" "$version"
  for module in virtio_pci virtio_net crc32_generic rdma_rxe ib_uverbs rdma_ucm sch_netem; do
    for file in $(modprobe -d "$kernel" -S "$version" --show-depends "$module" 2>/dev/null |
      sed -n 's/^insmod \([^ ]*\).*/\1/p'); do
      install -D -m 644 "$file" "$root/lib/modules/$version/${file#*"/$version/"}"
    done
  done
  cp "$kernel/lib/modules/$version"/modules.{builtin,builtin.modinfo,order} "$root/lib/modules/$version/"
  depmod -b "$root" "$version"
}

# --- start and stop ------------------------------------------------------------------------------

# The guest's process id, if it is alive and still the one that was started.
running() {
  local pid
  [[ -e $pid_file ]] || return 1
  pid=$(<"$pid_file")
  [[ $(tr '\0' ' ' 2>/dev/null <"/proc/$pid/cmdline") == *"$pid_file"* ]] && echo "$pid"
}

make_network() {
  if [[ -e /run/netns/$netns ]]; then
    [[ -z $(ip netns pids "$netns") ]] ||
      die "the namespace $netns is in use: another run is going on; if not: $0 stop"
    stop # left by a run that was killed
  fi
  ip netns add "$netns"
  ip -n "$netns" link set lo up
  ip -n "$netns" tuntap add dev roce0 mode tap
  # Addresses are usable at once, without duplicate address detection.
  ip netns exec "$netns" sysctl -qw net.ipv6.conf.roce0.accept_dad=0
  ip -n "$netns" link set roce0 mtu "$mtu" up
  ip -n "$netns" address add 198.51.100.1/24 dev roce0
  ip -n "$netns" address add 2001:db8:77::1/64 dev roce0 nodad
}

start() {
  [[ -e $cache/prepared ]] || die "run '$0 prepare' first"
  ! running >/dev/null || die "a guest is running; to end it: $0 stop"
  make_network
  # Without offloads on the cable every packet is segmented and checksummed where it is made, as on
  # a wire.
  local off=csum=off,gso=off,guest_csum=off,guest_tso4=off,guest_tso6=off,guest_ecn=off,guest_ufo=off
  off+=,host_tso4=off,host_tso6=off,host_ecn=off,host_ufo=off
  rm -f -- "$cache/console.log"
  ip netns exec "$netns" "$qemu" "${machine[@]}" -m 512 -nodefaults -no-reboot -display none \
    -serial "file:$cache/console.log" -kernel "$cache/vmlinuz" -initrd "$cache/initrd" \
    -append "console=$console quiet panic=-1 mitigations=off nerve.mtu=$mtu" \
    -netdev tap,id=cable,ifname=roce0,script=no,downscript=no,vhost=off \
    -device "virtio-net-pci,netdev=cable,mac=52:54:00:77:00:02,romfile=,$off" \
    -daemonize -pidfile "$pid_file" </dev/null || { stop && die "qemu did not start"; }
  # Higher priority than other work: the timers of its peers run whether the guest does or not. (It
  # has its own session, so the nice value of the process alone would have no effect.)
  (echo -10 >"/proc/$(<"$pid_file")/autogroup") 2>/dev/null || true
  local deadline=$((SECONDS + boot_seconds))
  until in_guest true 2>/dev/null; do
    running >/dev/null || die "the guest ended while it booted; its console: $cache/console.log"
    ((SECONDS < deadline)) || die "the guest does not answer; its console: $cache/console.log"
    sleep 0.2
  done
}

# One connection is kept open and shared: a handshake takes the guest most of a second.
ssh_options() {
  printf '%s\n' -o LogLevel=error -i "$cache/key" -o BatchMode=yes -o StrictHostKeyChecking=no \
    -o UserKnownHostsFile=/dev/null -o ConnectTimeout=5 -o ServerAliveInterval=15 \
    -o ControlMaster=auto -o ControlPersist=yes -o "ControlPath=/run/$netns.ssh"
}

in_guest() {
  local options
  mapfile -t options < <(ssh_options)
  ip netns exec "$netns" ssh "${options[@]}" "root@$guest_address" "$@"
}

stop() {
  local pid options
  mapfile -t options < <(ssh_options)
  ssh "${options[@]}" -O exit "root@$guest_address" 2>/dev/null || true
  if pid=$(running); then
    kill "$pid"
    while running >/dev/null; do sleep 0.1; done
  fi
  rm -f -- "$pid_file" "/run/$netns.ssh"
  [[ ! -e /run/netns/$netns ]] || ip netns delete "$netns"
}

case ${1:-} in
  prepare | start | stop) "$1" ;;
  exec) in_guest "${@:2}" ;;
  clean) stop && rm -rf -- "$cache" ;;
  *) sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}" && exit 2 ;;
esac

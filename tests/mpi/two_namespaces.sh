#!/usr/bin/env bash
# A simulation by two ranks in two network namespaces, as on two machines: each has a host name and
# a network of its own, and all that they say to each other crosses the cable between them (veth).
#
#   sudo tests/mpi/two_namespaces.sh NERVE_SIM SCENARIO.toml [option of nerve sim]...
#
# On real machines the same is:  mpirun --host one,two nerve sim SCENARIO.toml
# Needs openmpi-bin, iproute2 and util-linux. Removes the namespaces at the end.
set -euo pipefail

[[ $# -ge 2 ]] || { echo "usage: two_namespaces.sh NERVE_SIM SCENARIO.toml [option]..." >&2; exit 2; }
((EUID == 0)) || { echo "two_namespaces.sh: only root can make network namespaces; use sudo" >&2; exit 2; }
mpirun=$(command -v mpirun.openmpi || command -v mpirun) ||
  { echo "two_namespaces.sh: there is no mpirun; install openmpi-bin" >&2; exit 2; }

name=nerve$$
one=$name-1 two=$name-2
work=$(mktemp -d)
cleanup() {
  ip netns del "$one" 2>/dev/null || true
  ip netns del "$two" 2>/dev/null || true # its end of the cable goes with it
  rm -rf "$work"
}
trap cleanup EXIT

ip netns add "$one"
ip netns add "$two"
ip link add nerve0 netns "$one" type veth peer name nerve0 netns "$two"
for i in 1 2; do
  ip -n "$name-$i" address add "10.77.0.$i/24" dev nerve0
  ip -n "$name-$i" link set nerve0 up
  ip -n "$name-$i" link set lo up
done

# What mpirun calls in place of ssh, as: agent HOST COMMAND.
cat >"$work/agent" <<END
#!/bin/sh
shift
exec ip netns exec $two unshare --uts sh -c "hostname $two; \$*"
END
chmod +x "$work/agent"

bytes() { ip netns exec "$one" cat /sys/class/net/nerve0/statistics/tx_bytes; }
before=$(bytes)
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
ip netns exec "$one" unshare --uts sh -c "hostname $one"' && exec "$@"' sh \
  "$mpirun" --host 10.77.0.1,10.77.0.2 --mca plm_rsh_agent "$work/agent" --mca orte_tmpdir_base "$work" \
  --mca pml ob1 --mca btl tcp,self --mca btl_tcp_if_include 10.77.0.0/24 --mca oob_tcp_if_include 10.77.0.0/24 \
  "$1" sim "${@:2}"
echo "two_namespaces.sh: $(($(bytes) - before)) bytes crossed the cable from rank 0 to rank 1"

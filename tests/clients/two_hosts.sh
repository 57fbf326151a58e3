#!/bin/sh
# two_hosts.sh COMMAND...: runs it on one of two hosts connected by a cable. Any user may create
# them: they are namespaces within a user namespace. This host is called near and is 10.9.0.1, the
# other far and 10.9.0.2; the cable is cable0 on both. $FAR_HOST is a process of the other one;
# at_host.sh, next to this file, runs commands there.
set -eu

if [ "${1:-}" != --inside ]; then
  exec unshare --user --map-current-user --keep-caps --net --uts "$0" --inside "$@"
fi
shift

set_up='hostname NAME && ip link set lo up && ip address add ADDRESS/24 dev cable0 && ip link set cable0 up'
unshare --net --uts sleep infinity &
export FAR_HOST=$!
trap 'kill "$FAR_HOST"' EXIT
# Both namespaces are created in one call: once the second differs, the first does.
until [ "$(readlink "/proc/$FAR_HOST/ns/uts")" != "$(readlink /proc/self/ns/uts)" ]; do sleep 0.01; done
ip link add cable0 type veth peer name cable0 netns "$FAR_HOST"
sh -c "$(echo "$set_up" | sed 's/NAME/near/; s/ADDRESS/10.9.0.1/')"
"$(dirname "$0")/at_host.sh" far "$(echo "$set_up" | sed 's/NAME/far/; s/ADDRESS/10.9.0.2/')"
# A cable has a carrier some time after both its ends are up.
for host in near far; do
  "$(dirname "$0")/at_host.sh" $host 'until ip link show dev cable0 | grep -q "state UP"; do sleep 0.01; done'
done
"$@"

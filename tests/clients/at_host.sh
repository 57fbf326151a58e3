#!/bin/sh
# at_host.sh HOST COMMAND...: runs a command on one of the hosts that two_hosts.sh creates, like
# ssh. The words are joined and passed to a shell there.
set -eu

host=$1
shift
case $host in
  near | 10.9.0.1) exec sh -c "$*" ;;
  far | 10.9.0.2) exec nsenter --net="/proc/$FAR_HOST/ns/net" --uts="/proc/$FAR_HOST/ns/uts" sh -c "$*" ;;
  *)
    echo "there are near and far, not $host" >&2
    exit 1
    ;;
esac

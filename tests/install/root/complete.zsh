#!/usr/bin/env zsh
# complete.zsh [FILE]: what zsh completes after `nerve`, with `nerve` in PATH.
file=${1:-/usr/share/zsh/vendor-completions/_nerve}
compadd() { [[ $1 == -- ]] && shift; print -l -- $@ }
_files() { print files }
_normal() { print -- $words $CURRENT }
complete() { eval "() { $(<$file) }" }

# offers WANTED WORD...: a line of what is offered for the last WORD.
offers() {
  local wanted=$1 offered
  shift
  words=("$@") CURRENT=$#
  offered=$(complete)
  print -l -- ${(f)offered} | grep -qxe $wanted || { print "'$*' does not offer '$wanted' but: $offered"; exit 1 }
}
offers demo nerve ''
offers sweep nerve s
offers --transport nerve run --tr
offers --help nerve sim --h
offers files nerve sim x
offers 'ibv_devinfo x 2' nerve run --pcap y -- ibv_devinfo x

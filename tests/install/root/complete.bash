#!/usr/bin/env bash
# complete.bash [FILE]: what bash completes after `nerve`, with `nerve` in PATH.
set -euo pipefail
# shellcheck source=/dev/null
source "${1:-/usr/share/bash-completion/completions/nerve}"

# offers WORD... => WANTED...: among what is offered for the last WORD are all of WANTED.
offers() {
  local wanted
  COMP_WORDS=()
  while [[ $1 != "=>" ]]; do COMP_WORDS+=("$1") && shift; done
  shift
  COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
  _nerve
  for wanted; do
    printf '%s\n' "${COMPREPLY[@]}" | grep -qx -- "$wanted" || {
      echo "'${COMP_WORDS[*]}' does not offer '$wanted' but: ${COMPREPLY[*]}"
      exit 1
    }
  done
}
offers nerve '' '=>' demo run trace devices stat top metrics web doctor decode controller sim sweep plan learn
offers nerve de '=>' demo devices decode
offers nerve run --tr '=>' --transport --trace-folder
offers nerve run --p '=>' --pcap --pcap-limit --port
offers nerve sim -- '=>' --set --seed --help
offers nerve run --pcap x -- ca '=>' cat

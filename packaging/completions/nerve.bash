# shellcheck shell=bash
# Completion of `nerve` for bash. Options come from --help of the command, so they are never out of date.

_nerve() {
  local word=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]:-} nerve=${COMP_WORDS[0]} i
  COMPREPLY=()
  if ((COMP_CWORD == 1)); then
    mapfile -t COMPREPLY < <(compgen -W "demo run trace devices stat top metrics web doctor decode key controller sim sweep plan learn --help --version" -- "$word")
    return
  fi
  if [[ $command == run || $command == trace ]]; then
    for ((i = 2; i < COMP_CWORD; i++)); do
      [[ ${COMP_WORDS[i]} == -- ]] || continue
      if ((i + 1 < COMP_CWORD)) && declare -F _command_offset >/dev/null; then
        _command_offset $((i + 1)) # as the program itself completes, by the package bash-completion
      elif ((i + 1 == COMP_CWORD)); then
        mapfile -t COMPREPLY < <(compgen -c -- "$word" | sort -u)
      fi
      return
    done
  fi
  case $word in
    -*) mapfile -t COMPREPLY < <(compgen -W "$("$nerve" "$command" --help 2>/dev/null | grep -oE '^ +(-h,)?--[a-z-]+' | tr -d ' ' | sed 's/^-h,//') --" -- "$word") ;;
  esac
}
complete -o default -F _nerve nerve

# Completion of `nerve` for fish. Options come from --help of the command, so they are never out of date.

function __nerve_options
    set -l words (commandline -opc)
    $words[1] $words[2] --help 2>/dev/null | string replace -rf '^ +(?:-h,)?(--[a-z-]+).*' '$1'
end

function __nerve_program
    set -l words (commandline -opc) (commandline -ct)
    set -l at (contains -i -- -- $words)
    and complete -C (string join ' ' -- $words[(math $at + 1)..])
end

set -l commands demo run trace devices stat top metrics web doctor decode key controller sim sweep plan learn
complete -c nerve -n "not __fish_seen_subcommand_from $commands" -f -a "$commands --help --version"
complete -c nerve -n "__fish_seen_subcommand_from $commands; and not contains -- -- (commandline -opc)" -a '(__nerve_options)'
complete -c nerve -n 'contains -- -- (commandline -opc)' -f -a '(__nerve_program)'

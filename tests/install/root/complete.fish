#!/usr/bin/env fish
# complete.fish [FILE]: what fish completes after `nerve`, with `nerve` in PATH.
set -q argv[1]; or set argv[1] /usr/share/fish/vendor_completions.d/nerve.fish
source $argv[1]

# offers LINE WANTED: a completion of LINE.
function offers
    contains -- $argv[2] (complete -C $argv[1] | string replace -r '\t.*' '')
    or begin
        echo "'$argv[1]' does not offer '$argv[2]' but: "(complete -C $argv[1])
        exit 1
    end
end
offers 'nerve ' demo
offers 'nerve sw' sweep
offers 'nerve run --tr' --transport
offers 'nerve sim --h' --help
offers 'nerve run --pcap y -- ca' cat

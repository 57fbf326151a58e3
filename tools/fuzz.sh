#!/usr/bin/env bash
# fuzz.sh JOBS SECONDS TARGET...: runs the built fuzz targets for `./nerve fuzz`, JOBS at a time. New
# inputs and findings stay in build/; inputs worth keeping are moved to fuzz/corpus by hand. The exit
# status is 1 if any target has a finding.
set -euo pipefail
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
jobs=$1 seconds=$2
say() { printf 'nerve: %s\n' "$*" >&2; }

fuzz_one() {
  local target=$1 dir=$root/build/fuzz/findings/$1 log=$root/build/fuzz/$1.log runs
  local corpora=("$dir/new")
  [[ ! -d $root/fuzz/corpus/$target ]] || corpora+=("$root/fuzz/corpus/$target")
  [[ $target != scenario ]] || corpora+=("$root/examples/scenarios")
  mkdir -p "$dir/new"
  say "fuzzing $target for $seconds s"
  "$root/build/fuzz/fuzz/nerve_${target}_fuzz" -max_total_time="$seconds" -timeout=10 \
    -artifact_prefix="$dir/" -print_final_stats=1 "${corpora[@]}" &>"$log" </dev/null || {
    tail -n 60 "$log" >&2
    say "fuzz $target has a finding; replay: ./nerve fuzz $target --replay FILE, where FILE is"
    sed -n 's/.*Test unit written to //p' "$log" >&2
    say "full log: $log"
    return 1
  }
  runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
  echo "nerve: fuzz $target: ${runs:-?} runs in $seconds s, no findings"
}

started=0 found=0
for target in "${@:3}"; do
  ((started++ < jobs)) || wait -n || found=1 # wait for a free slot
  fuzz_one "$target" &
done
for ((left = started < jobs ? started : jobs; left > 0; --left)); do wait -n || found=1; done
exit "$found"

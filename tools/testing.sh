# shellcheck shell=bash disable=SC2154  # part of ./nerve, which sets root, jobs, say and misused
# ./nerve test [FILTER]: runs ctest, shows failures and the progress of seeded tests.

# Prints failures with their output; passing tests are only counted.
show_tests() {
  local line gap=''
  while IFS= read -r line; do
    case $line in
      "") gap=$'\n' ;;
      *" Passed "* | *"    Start "* | "Test project "* | "Internal ctest "* | *"% tests passed"*) ;;
      "Total Test time"* | "Errors while running CTest"* | "Output from these tests are"*) ;;
      "Use \"--rerun-failed"* | "Label Time Summary"*) ;;
      *) printf '%s%s\n' "$gap" "$line" && gap='' ;;
    esac
    [[ -t 2 && -z ${CI:-} && $line =~ ^\ *([0-9]+/[0-9]+)\ Test ]] || continue
    printf '\r\033[Ktesting %s\r' "${BASH_REMATCH[1]}" >&2
  done
  [[ ! -t 2 || -n ${CI:-} ]] || printf '\r\033[K' >&2
}

# 3725 -> 1 h 2 min
readable_time() {
  local s=$1
  if ((s >= 3600)); then
    echo "$((s / 3600)) h $((s % 3600 / 60)) min"
  elif ((s >= 60)); then
    echo "$((s / 60)) min $((s % 60)) s"
  else
    echo "$s s"
  fi
}

# Reads the reports of seeded tests from NERVE_PROGRESS (tests/seeds/progress.h) up to the line `end`.
# Prints a failing seed at once. Progress is one updated line on a terminal; elsewhere, a line every
# ten seconds if PERIODIC is set.
show_seeds() {
  local periodic=$1 moving='' erase='' printed=$SECONDS kind name number of elapsed failures=0 line
  declare -A tried planned took
  [[ ! -t 2 || -n ${CI:-} ]] || moving=1 erase=$'\r\033[K'
  while read -r kind name number of elapsed; do
    case $kind in
      end) break ;;
      failed)
        ((++failures))
        printf '%snerve: seed %s failed; replay: NERVE_SEED=%s ./nerve test %s\n' \
          "$erase" "$number" "$number" "$name" >&2
        ;;
      seeds) tried[$name]=$number planned[$name]=$of took[$name]=$elapsed ;;
    esac
    [[ -n $moving ]] || { [[ -n $periodic ]] && ((SECONDS - printed >= 10)); } || continue
    printed=$SECONDS
    line=$(sum_of_seeds) || continue
    if [[ -n $moving ]]; then
      printf '%s%.*s' "$erase" $((${COLUMNS:-80} - 1)) "$line" >&2
    else
      say "$line"
    fi
  done
  [[ -z $moving ]] || printf '%s' "$erase" >&2
}

# RandomWorlds.DoWhatTheModelSays: 512000 of 1000000 seeds (51 %), 1234 a second, 6 min 35 s left
# Sums over the tests that are still running.
sum_of_seeds() {
  local name names=() sum=0 all=0 rate=0 longest=0 left line
  for name in "${!tried[@]}"; do
    ((tried[$name] < planned[$name])) || continue
    names+=("$name")
    ((sum += tried[$name], all += planned[$name])) || true
    left=$(((planned[$name] - tried[$name]) * took[$name] / (tried[$name] + 1) / 1000))
    ((rate += tried[$name] * 60000 / (took[$name] + 1), longest = left > longest ? left : longest)) || true
  done
  ((${#names[@]} > 0)) || return 1
  line=${names[0]}
  ((${#names[@]} == 1)) || line="${#names[@]} tests"
  line+=": $sum of $all seeds ($((sum * 100 / all)) %), "
  if ((rate < 600)); then line+="$rate a minute"; else line+="$((rate / 60)) a second"; fi
  line+=", $(readable_time "$longest") left"
  ((failures == 0)) || line+=", $failures FAILED"
  echo "$line"
}

# run_tests PRESET PERIODIC CTEST...: runs ctest, and show_seeds in parallel, because ctest shows a
# test only when it ends. The status is that of ctest.
run_tests() {
  local preset=$1 periodic=$2 log=$root/build/$1/test.log status=0 shower
  scratch=$(mktemp -d)
  trap 'rm -rf -- "$scratch"' EXIT
  export NERVE_PROGRESS=$scratch/progress NERVE_JOBS=$jobs
  mkfifo "$NERVE_PROGRESS"
  exec 7<>"$NERVE_PROGRESS" # keeps the FIFO open while tests come and go
  show_seeds "$periodic" <"$NERVE_PROGRESS" 7>&- &
  shower=$!
  steady "$preset" "${@:3}" --parallel "$jobs" --output-on-failure ${NERVE_TRACE:+--verbose} 2>&1 </dev/null 7>&- |
    tee "$log" | show_tests || status=$?
  echo end >&7
  wait "$shower" || true
  exec 7>&-
  return "$status"
}

valid_seeds() {
  [[ $1 =~ ^([1-9][0-9]{0,17})(-([1-9][0-9]{0,17}))?$ ]] || return 1
  [[ -z ${BASH_REMATCH[3]} ]] || ((BASH_REMATCH[3] >= BASH_REMATCH[1]))
}

cmd_test() {
  local kind=${1:-}
  if [[ $kind =~ ^(clients|bad-days|attacks|controller|hashes|ai|gpu|interop|fresh|install)$ ]]; then
    "cmd_test_${kind//-/_}" "${@:2}"
    return
  fi
  local preset=release filter='' list='' limit=(--timeout 900) periodic=''
  while (($#)); do
    case $1 in
      --preset) preset=${2:?--preset needs a name} && shift 2 ;;
      --seeds)
        valid_seeds "${2:-}" ||
          misused "test: --seeds needs a number above zero, or a range such as 1001-2000"
        # No time limit per test: each seed has its own limit.
        export NERVE_SEEDS=$2 && limit=(--timeout 100000000) periodic=1 && shift 2
        ;;
      --most-seeds | --failures)
        [[ ${2:-} =~ ^[1-9][0-9]*$ ]] || misused "test: $1 needs a number above zero"
        case $1 in --failures) export NERVE_FAILURES=$2 ;; *) export NERVE_MOST_SEEDS=$2 ;; esac
        shift 2
        ;;
      --list) list=1 && shift ;;
      -h | --help) usage_of test && return ;;
      -*) misused "test: no option '$1'; try: ./nerve test --help" ;;
      *)
        [[ -z $filter ]] || misused "test: takes one FILTER, a regular expression; got '$filter' and '$1'"
        filter=$1 && shift
        ;;
    esac
  done
  need_for_preset "$preset"
  [[ $preset != release ]] || need python # the module is built where its packages are
  build "$preset"
  local dir=$root/build/$preset log=$root/build/$preset/test.log status=0
  local ctest=(ctest --test-dir "$dir" --no-tests=error ${filter:+-R "$filter"})
  if [[ -n $list ]]; then
    "${ctest[@]}" -N | sed -n 's/^ *Test *#[0-9]*: //p'
    return
  fi
  # Each of these tests runs again in leaks.NAME.
  [[ -n $filter ]] || ctest+=(--label-exclude '^in_leaks$')
  export UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1}
  # The default is a second, which each test with a thread in the background would wait.
  export TSAN_OPTIONS=${TSAN_OPTIONS:-atexit_sleep_ms=20}
  run_tests "$preset" "$periodic" "${ctest[@]}" "${limit[@]}" || status=$?
  local total seconds
  total=$(sed -n 's/.*tests failed out of \([0-9]*\).*/\1/p' "$log" | tail -n 1)
  seconds=$(sed -n 's/^Total Test time (real) = *\([0-9.]*\) sec/\1/p' "$log" | tail -n 1)
  if ((status == 0)); then
    echo "nerve: ${total:-0} tests passed, none failed, in ${seconds:-0} s ($preset)"
  elif [[ -z $total ]]; then
    echo "nerve: no test matches '$filter' ($preset); ./nerve test --list shows all tests"
  else
    local bad
    bad=$(sed -n 's/.* \([0-9]*\) tests failed out of .*/\1/p' "$log" | tail -n 1)
    echo "nerve: $bad of $total tests FAILED ($preset); full log: $log"
  fi
  return "$status"
}

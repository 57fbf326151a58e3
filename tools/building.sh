# shellcheck shell=bash disable=SC2154  # part of ./nerve, which sets root, jobs, say, die and misused
# Building: one build at a time in each build/<preset>/, reconfigured when its inputs have changed.

command_line="./nerve $*"

presets() { sed -n 's/.*{"name": "\([a-z]*\)", "configurePreset".*/\1/p' "$root/CMakePresets.json"; }

check_preset() {
  presets | grep -qx -- "$1" || misused "no preset '$1'; choose one of: $(presets | xargs)"
}

# GCC 12's thread sanitizer does not start if addresses are randomised by more than 28 bits.
steady() {
  if [[ $1 == tsan ]] && setarch -R true 2>/dev/null; then
    setarch -R "${@:2}"
  else
    "${@:2}"
  fi
}

# lock FD FILE WORK: locks FILE until FD is closed. FILE contains the command that holds the lock, so
# that a waiting command can print it.
lock() {
  local fd=$1 file=$2 work=$3
  while :; do
    mkdir -p "${file%/*}"
    eval "exec $fd<>\"\$file\""
    if ! flock -n "$fd"; then
      say "waiting for $(holder "$file"), which $work"
      flock "$fd"
    fi
    [[ ! $file -ef /proc/self/fd/$fd ]] || break # removed by `nerve clean` while we waited
  done
  echo "'$command_line' (pid $$)" >"$file"
}
holder() {
  local name
  name=$(<"$1")
  echo "${name:-another command}"
}
locked() { [[ -e $1 ]] && ! flock -n "$1" true; }

# Shows ninja's output as one updated line on a terminal, and nothing elsewhere.
show_progress() {
  local preset=$1 line started=
  while IFS= read -r line; do
    [[ $line == \[*/*\]* && $line != *"Re-checking globbed"* ]] || continue
    [[ -n $started ]] || say "building ($preset)"
    started=1
    [[ ! -t 2 || -n ${CI:-} ]] || printf '\r\033[K%.*s' $((${COLUMNS:-80} - 1)) "$line" >&2
  done
  [[ -z $started || ! -t 2 || -n ${CI:-} ]] || printf '\r\033[K' >&2
}

# With ccache installed, what another clone or an earlier commit has compiled is not compiled again.
# CCACHE_DISABLE=1 turns it off.
launcher=()
if command -v ccache >/dev/null; then
  launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
  export CCACHE_BASEDIR=$root CCACHE_NOHASHDIR=1 CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
fi

# The inputs of a configuration besides the CMake files, which ninja watches: the presets and the
# installed packages. Reconfiguring lets CMake find libraries that were missing before.
configured_for() {
  stat -c '%n %s %.Y' "$root/CMakePresets.json" /var/lib/dpkg/status 2>/dev/null || true
}

# Starts anew if the tree was moved or copied: build folders contain the path that they were made at.
moved_from() {
  local cache=$1/CMakeCache.txt home
  [[ -f $cache ]] || return 0
  home=$(sed -n 's/^CMAKE_HOME_DIRECTORY:INTERNAL=//p' "$cache")
  [[ -n $home && ! $home -ef $root ]] || return 0
  say "$1 was built for $home; building it again"
  find "$1" -mindepth 1 -maxdepth 1 ! -name 'nerve.*' -exec rm -rf -- {} +
}

configure() {
  local preset=$1 dir=$root/build/$1 log=$root/build/$1/nerve.log stamp=$root/build/$1/nerve.stamp
  local now fresh=()
  now=$(configured_for) # read first, so that a package installed during the configuration counts as a change
  [[ ! -f $dir/build.ninja || ! -f $stamp || $(<"$stamp") != "$now" ]] || return 0
  moved_from "$dir"
  [[ -f $dir/build.ninja ]] || fresh=(--fresh) # a failed configuration has cached what was missing
  say "configuring ($preset)"
  (cd -- "$root" && cmake --preset "$preset" "${fresh[@]}" "${launcher[@]}" &>>"$log" </dev/null) ||
    failed "$log" "configuring"
  echo "$now" >"$stamp"
}

# build PRESET [TARGET...]: configures if needed, then runs ninja.
build() {
  local preset=$1 dir=$root/build/$1 log=$root/build/$1/nerve.log
  local targets=("${@:2}")
  check_preset "$preset"
  writable "$dir" || die "cannot write to all of $dir; build as its owner, or remove it"
  lock 9 "$dir/nerve.lock" "builds in build/$preset"
  : >"$log"
  configure "$preset"
  # Test programs run at build time to list their tests; leak detection is off for that.
  ASAN_OPTIONS=detect_leaks=0 steady "$preset" cmake --build "$dir" --parallel "$jobs" \
    ${targets[@]+--target "${targets[@]}"} \
    2>&1 </dev/null | tee -a "$log" | show_progress "$preset" || failed "$log" "building"
  exec 9>&-
}

failed() {
  grep -v '^\[[0-9]*/[0-9]*\] \(Building\|Linking\|Re-checking\)' "$1" | tail -n 60 >&2 || true
  die "$2 failed; full log: $1"
}

# Whether a build can write to this folder. The tree may belong to another user, or to root after
# `sudo ./nerve`.
writable() {
  local dir=$1 file
  for file in "$dir/nerve.lock" "$dir/nerve.log" "$dir/.ninja_log"; do
    [[ ! -e $file || -w $file ]] || return 1
  done
  while [[ ! -e $dir ]]; do dir=${dir%/*}; done
  [[ -w $dir ]]
}

# Whether these targets are built and complete: the linker makes its output executable at the end.
usable() {
  local target file
  for target in "$@"; do
    case $target in
      nerve_cli) file=src/cli/nerve ;;
      nerve_sim_cli) file=src/cli/nerve-sim ;;
      nerve_verbs) file=lib/libibverbs.so.1 ;;
      nerve_python)
        compgen -G "$root/build/release/python/nerve/_nerve*.so" >/dev/null || return 1
        continue
        ;;
      nerve_pages)
        [[ -s $root/build/release/web/pages/live.html && -s $root/build/release/web/pages/trace.html ]] || return 1
        continue
        ;;
    esac
    [[ -x $root/build/release/$file ]] || return 1
  done
}

# build_to_run TARGET...: like build release, but uses the existing build if none is possible now.
build_to_run() {
  local dir=$root/build/release
  if ! writable "$dir" && usable "$@"; then
    [[ -z $(find "$root/src" -newer "$dir/.ninja_log" -print -quit) ]] ||
      say "cannot write to $dir; running the existing build, which is older than the sources"
  elif locked "$dir/nerve.lock" && usable "$@"; then
    say "$(holder "$dir/nerve.lock") builds in build/release; running the previous build"
  else
    build release "$@"
  fi
}

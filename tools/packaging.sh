# shellcheck shell=bash disable=SC2154  # part of ./nerve, which sets root, say, die, need and build
# ./nerve package: Debian packages and an archive of the release build; and their test.

project_version() { sed -n 's/^project(nerve VERSION \([0-9.]*\).*/\1/p' "$root/CMakeLists.txt"; }

# What was built tells of itself; else what would be.
print_version() {
  local program=$root/build/release/src/cli/nerve
  [[ ! -x $program ]] || exec "$program" --version
  echo "nerve $(project_version)"
  echo "commit     $(tree_git describe --always --dirty --abbrev=12 '--exclude=*' || echo unknown), not built yet"
}

# git in this tree, which may belong to another user, who ran sudo.
tree_git() { git -C "$root" -c safe.directory="$root" "$@" 2>/dev/null; }

# The version of packages: 0.2.0 at the tag v0.2.0 or without git, 0.2.0+git812.1a2b3c4d5e6f after it,
# 0.2.0~git... before it, which dpkg takes for older; with .dirty when files were changed since.
package_version() {
  local version commit since
  version=$(project_version)
  since=$(tree_git describe --tags --match "v$version" --dirty --long) || since=''
  if [[ $since != "v$version-0-g"* || $since == *-dirty ]] &&
    commit=$(tree_git describe --always --dirty=.dirty --abbrev=12 '--exclude=*'); then
    [[ -n $since ]] && version+=+ || version+='~'
    version+=git$(tree_git rev-list --count HEAD).$commit
  fi
  echo "$version"
}

cmd_package() {
  takes_nothing package "builds and writes to build/packages/: nerve_*.deb, nerve-dev_*.deb and
  nerve-*.tar.gz, which runs from any folder; docs/install.md tells what is in them" "$@" || return 0
  make_packages
}

make_packages() {
  need build page package
  retry_charts release
  local version dir=$root/build/release out=$root/build/packages log=$root/build/release/nerve.log
  version=$(package_version)
  rm -f -- "$dir/src/cli/commit.cc" # whether files were changed is asked anew
  build release nerve_cli nerve_sim_cli nerve_verbs nerve_preload nerve_engine nerve_man
  rm -rf -- "$out"
  say "packing $version"
  # The same commit gives the same files.
  SOURCE_DATE_EPOCH=$(tree_git log -1 --format=%ct || stat -c %Y "$root/CMakeLists.txt") \
    cpack --config "$dir/CPackConfig.cmake" -R "$version" -B "$out" \
    -D "CPACK_PACKAGE_FILE_NAME=nerve-$version-linux-$(uname -m)" &>>"$log" </dev/null || failed "$log" "packing"
  rm -rf -- "$out/_CPack_Packages"
  printf '%s\n' "$out"/*
}

# The packages on a bare Debian, as ordinary users have them; see tests/install/.
cmd_test_install() {
  local word
  for word in "$@"; do
    [[ $word != -h && $word != --help && $word != --list ]] || exec "$root/tests/install/run.sh" "$@"
  done
  ((EUID == 0)) || die "test install needs root: it makes a Debian in a folder and runs in it by chroot"
  need install
  make_packages >/dev/null
  exec "$root/tests/install/run.sh" "$@"
}

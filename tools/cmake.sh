# shellcheck shell=bash
# Sourced: configure, build and test a CMake preset.

JOBS="${JOBS:-$(nproc)}"

# configure <preset>: anew where the build folder came with a clone that lay elsewhere (CMake
# refuses it) or where an earlier configure was cut off. Otherwise ninja does it when needed.
configure() {
  local dir="build/$1" home
  home=$(sed -n 's/^CMAKE_HOME_DIRECTORY:INTERNAL=//p' "$dir/CMakeCache.txt" 2>/dev/null || true)
  if [ "$home" = "$PWD" ] && [ -f "$dir/build.ninja" ]; then
    return 0
  fi
  rm -rf "$dir/CMakeCache.txt" "$dir/CMakeFiles"
  cmake --preset "$1" --log-level=WARNING >&2
}

# build <preset> <target>...
build() {
  local preset="$1"
  shift
  step "building $preset: $*"
  configure "$preset" || return
  cmake --build "build/$preset" -j "$JOBS" --target "$@" >&2
}

# run_suites <preset> <ctest option>...: every line of ctest's also goes to ctest.log there. One
# more at once than there are cores: most suites wait for servers half of their time.
run_suites() {
  local preset="$1"
  shift
  ctest --test-dir "build/$preset" --output-on-failure --no-tests=error --timeout 600 \
    -j "$((JOBS + 1))" "$@" \
    </dev/null 2>&1 | tee "build/$preset/ctest.log"
}

# suites_run_again <preset>: the suites of which a try failed in the last run_suites.
suites_run_again() {
  sed -nE 's/^.*Test +#[0-9]+: ([^ ]+) \.*\*\*\*.*$/\1/p' "build/$1/ctest.log" | sort -u
}

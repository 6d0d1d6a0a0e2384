# shellcheck shell=bash
# Sourced by x and the scripts of this folder, never run: an environment to rely on, messages,
# retries. The working directory is the repository's root when this is read.

TOOLS_DIR=.tools
VENV="$TOOLS_DIR/venv"
CACHE_DIR=.cache

say() { printf '%s\n' "$*" >&2; }
step() { printf '\n== %s\n' "$*" >&2; }

die() {
  say "x: $*"
  exit 1
}

# usage_error <text>: exit 2 distinguishes a wrong call from a failed one.
usage_error() {
  say "x: $*"
  say "See: ./x --help"
  exit 2
}

# retry <command>...: network steps get three tries.
retry() {
  local try
  for try in 1 2 3; do
    "$@" && return 0
    say "x: try $try of 3 failed: $*"
    [ "$try" = 3 ] || sleep $((try * 5))
  done
  return 1
}

# in_git: whether this tree is a git checkout that git can read (a tarball is not).
in_git() { git rev-parse --git-dir >/dev/null 2>&1; }

# need_own <folder>...: a folder that another user (root, often) made stops every later step with
# a puzzling error; say it here.
need_own() {
  local folder
  for folder in "$@"; do
    [ ! -e "$folder" ] || [ -w "$folder" ] || die "cannot write to '$PWD/$folder': another user
made it. Give it back: sudo chown -R $(id -un) '$PWD/$folder'"
  done
}

# The caller's surroundings may be odd: a git hook, cron, a CI runner without HOME.
normalise_environment() {
  umask 022  # what is built and installed must be readable to the user that PostgreSQL runs as
  export LC_ALL=C.UTF-8
  unset CDPATH GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE PYTHONPATH PYTHONHOME
  [ -e /proc/self/fd/0 ] || exec </dev/null
  need_own . .tools .cache build
  mkdir -p "$CACHE_DIR"
  if [ ! -d "${HOME:-}" ] || [ ! -w "$HOME" ]; then
    export HOME="$PWD/$CACHE_DIR/home"
    mkdir -p "$HOME"
  fi
  if [ -n "${TMPDIR:-}" ] && { [ ! -d "$TMPDIR" ] || [ ! -w "$TMPDIR" ]; }; then
    unset TMPDIR
  fi
  # Tests talk to servers on this machine; a proxy must not get between them.
  export no_proxy="${no_proxy:+$no_proxy,}localhost,127.0.0.1,::1"
  # git refuses a checkout that another user owns, as in a bind mount or a CI volume. Everything
  # here reads this one checkout, so for these commands it may.
  local n="${GIT_CONFIG_COUNT:-0}"
  export GIT_CONFIG_COUNT=$((n + 1)) "GIT_CONFIG_KEY_$n=safe.directory" "GIT_CONFIG_VALUE_$n=*"
  export MYPY_CACHE_DIR="$PWD/$CACHE_DIR/mypy" RUFF_CACHE_DIR="$PWD/$CACHE_DIR/ruff"
  export PYTHONDONTWRITEBYTECODE=1 PYTEST_ADDOPTS="${PYTEST_ADDOPTS:-} -p no:cacheprovider"
  export CCACHE_DIR="${CCACHE_DIR:-$PWD/$CACHE_DIR/ccache}"
  # Another path, as a fresh clone has, must still hit.
  export CCACHE_BASEDIR="${CCACHE_BASEDIR:-$PWD}" CCACHE_NOHASHDIR="${CCACHE_NOHASHDIR:-1}"
  # What GCC's precompiled headers ask for.
  export CCACHE_SLOPPINESS="${CCACHE_SLOPPINESS:-pch_defines,time_macros,include_file_mtime,\
include_file_ctime}"
  export CCACHE_MAXSIZE="${CCACHE_MAXSIZE:-5G}"
}
normalise_environment

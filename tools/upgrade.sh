#!/usr/bin/env bash
# ./x chaos upgrade: builds the release before (tests/chaos/upgrade_from) and one after this tree,
# whose schemas each have a further migration, and runs both on one database under load.
set -euo pipefail
CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
. tools/lib.sh
. tools/cmake.sh

ROOT="$PWD"
FOLDER="$ROOT/$CACHE_DIR/upgrade"

# The commit that tests/chaos/upgrade_from names.
former_commit() {
  local line path
  line=$(grep -v '^#' tests/chaos/upgrade_from | head -n 1)
  case "$line" in
    "first-with "*)
      path="${line#first-with }"
      line=$(git log --reverse --diff-filter=A --format=%H -- "$path" | head -n 1)
      [ -n "$line" ] || die "no commit has added $path"
      ;;
  esac
  git rev-parse --verify --quiet "$line^{commit}" ||
    die "tests/chaos/upgrade_from names '$line', which this clone does not have"
}

# build_in <folder>: its winnow, with this clone's compiler cache and tools.
build_in() {
  ln -sfn "$ROOT/$TOOLS_DIR" "$1/$TOOLS_DIR"
  (
    cd "$1"
    export CCACHE_BASEDIR="$PWD"
    cmake --preset release --log-level=WARNING >&2
    cmake --build build/release -j "$JOBS" --target winnow >&2
  )
}

in_git || die "chaos upgrade builds an earlier commit: it needs a git clone, not a tarball"
tools/install.sh --test
commit=$(former_commit)
mkdir -p "$FOLDER"
old="$FOLDER/old" new="$FOLDER/new"

step "building the release before: $commit"
[ -d "$old/.git" ] || git clone --quiet --shared --no-checkout "$ROOT" "$old"
git -C "$old" fetch --quiet "$ROOT" "$commit"
git -C "$old" checkout --quiet --force --detach "$commit"
build_in "$old"

step "building a release after this tree"
mkdir -p "$new"
find "$new" -mindepth 1 -maxdepth 1 ! -name build -exec rm -rf {} +
git ls-files --cached --others --exclude-standard -z |
  tar --null --files-from=- --ignore-failed-read -cf - | tar -C "$new" -xf -
"$VENV/bin/python" tests/chaos/next_release.py "$new"
build_in "$new"

step "chaos upgrade"
export WINNOW_OLD_BINARY="$old/build/release/bin/winnow"
export WINNOW_NEW_BINARY="$new/build/release/bin/winnow"
export WINNOW_BINARY="$WINNOW_NEW_BINARY"
"$VENV/bin/python" tests/support/suite/run_python_suite.py tests/chaos -k upgrade -s

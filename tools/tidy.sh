#!/usr/bin/env bash
# ./x tidy [--all | BASE]: clang-tidy on the C++ files that changed since BASE, all of them with
# --all. Without a BASE: since the merge base with main, or on main itself since its last commit.
set -euo pipefail
CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
. tools/lib.sh
. tools/cmake.sh

DATABASE=build/tidy

# default_base: a commit, or nothing where there is none to compare with.
default_base() {
  local head main commit
  head=$(git rev-parse HEAD)
  for main in refs/heads/main refs/remotes/origin/main; do
    commit=$(git merge-base HEAD "$main" 2>/dev/null) || continue
    if [ "$commit" != "$head" ]; then
      echo "$commit"
      return 0
    fi
  done
  git rev-parse --verify --quiet 'HEAD~1^{commit}' || true
}

# changed_files <base>: a header is checked through the .cc of its name, which includes it.
changed_files() {
  {
    git diff --name-only --diff-filter=d "$1" -- services tests
    git ls-files --others --exclude-standard -- services tests
  } | sed -n -e 's/\.h$/.cc/' -e '/\.cc$/p' | sort -u
}

not_run() {
  say "clang-tidy: not run, $*"
  exit 0
}

files=()
case "${1:-}" in
  --all) mapfile -t files < <(find services tests -name '*.cc' | sort) ;;
  -*) usage_error "tidy takes --all or a commit, not '$1'" ;;
  *)
    in_git || not_run "this is not a git checkout; --all checks every file"
    base="${1:-$(default_base)}"
    [ -n "$base" ] || not_run "this clone has no commit to compare with"
    git rev-parse --verify --quiet "$base^{commit}" >/dev/null ||
      usage_error "there is no commit '$base' in this clone"
    mapfile -t files < <(changed_files "$base")
    ;;
esac
[ "${#files[@]}" -gt 0 ] || not_run "no C++ file changed"

tools/install.sh --test
build release winnow_protos
"$VENV/bin/python" tools/tidy_database.py build/release "$DATABASE" "${files[@]}" >"$DATABASE.files"
step "clang-tidy on $(wc -l <"$DATABASE.files") files"
# Findings are on standard output; standard error counts what was suppressed in others' headers.
if ! xargs -r -d '\n' -n 1 -P "$JOBS" clang-tidy --quiet -p "$DATABASE" <"$DATABASE.files" \
  2> >(grep -v ' warnings\? generated\.$' >&2); then
  die "clang-tidy found defects"
fi
say "clang-tidy: clean"

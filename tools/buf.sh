#!/usr/bin/env bash
# Checks the protos: lint, format, and no change that breaks callers of the main branch.
set -euo pipefail
CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
. tools/lib.sh

BASELINE="$CACHE_DIR/buf-baseline"

# main_commit: the commit of the main branch, here or as the remote had it; empty where there is
# none (a shallow or detached clone).
main_commit() {
  git rev-parse --verify --quiet 'refs/heads/main^{commit}' ||
    git rev-parse --verify --quiet 'refs/remotes/origin/main^{commit}' || true
}

# The protos of main are unpacked beside ours: buf's own way clones the repository, and cannot do
# so from a worktree or a shallow clone.
breaking() {
  local main=""
  ! in_git || main=$(main_commit)
  if [ -z "$main" ] || ! git cat-file -e "$main:buf.yaml" 2>/dev/null; then
    say "buf breaking: not run, there is no main branch with protos to compare with"
    return 0
  fi
  if [ "$main" = "$(git rev-parse HEAD)" ] && git diff --quiet HEAD -- protos; then
    say "buf breaking: nothing to compare, this is main"
    return 0
  fi
  rm -rf "$BASELINE"
  mkdir -p "$BASELINE/.tools"
  git archive "$main" protos buf.yaml | tar -x -C "$BASELINE"
  cp -R .tools/googleapis "$BASELINE/.tools/googleapis"
  "$VENV/bin/buf" breaking --against "$BASELINE"
}

"$VENV/bin/buf" lint
"$VENV/bin/buf" format --diff --exit-code
breaking

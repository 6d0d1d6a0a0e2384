#!/usr/bin/env bash
# ./x lint: every check that needs no build. Changes nothing; ./x fmt fixes the formatting.
set -euo pipefail
CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
. tools/lib.sh

failed=()

# check <name> <command>...: runs all of them, so that one run reports every finding.
check() {
  local name="$1"
  shift
  step "$name"
  "$@" >&2 || failed+=("$name")
}

cpp_format() {
  find services tests -type f \( -name '*.h' -o -name '*.cc' \) -print0 |
    xargs -0 -r clang-format --dry-run -Werror
}

# Scripts that are sourced (lib.sh, cmake.sh, trial_machine.sh) are checked where they are sourced.
shell_scripts() {
  find tools -name '*.sh' -executable -print0 | xargs -0 shellcheck -x x .ci/run
}

no_generated_code() {
  in_git || return 0
  local generated
  generated=$(git ls-files | grep -E '\.pb\.(h|cc)$|_pb2(_grpc)?\.pyi?$' || true)
  [ -z "$generated" ] || { say "generated code is committed: $generated" && return 1; }
}

tools/install.sh --test
check "clang-format" cpp_format
check "buf" tools/buf.sh
check "python" tools/python.sh lint
check "shell" shell_scripts
check "tidy" "$VENV/bin/python" tests/tidy/tidy.py .
check "no generated code" no_generated_code
[ "${#failed[@]}" -eq 0 ] || die "lint failed in: ${failed[*]}
(./x fmt fixes formatting)"
say "lint: clean"

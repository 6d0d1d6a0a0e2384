#!/usr/bin/env bash
# ./x ci: lint, every suite, the unit suites again under sanitizers, clang-tidy on what changed.
# Runs all phases, then prints how long each took and which failed.
set -euo pipefail
CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
. tools/lib.sh
. tools/cmake.sh

exec </dev/null
REPEAT=(--repeat until-pass:3)
# Where suites in Python keep which tests failed: only those run again.
TRIES="$PWD/build/tries"
times=()
failed=()
reruns=()

# phase <name> <command>...
phase() {
  local name="$1" start="$SECONDS" verdict=ok
  shift
  printf '\n######## %s\n' "$name"
  "$@" || { verdict=FAILED && failed+=("$name"); }
  times+=("$(printf '%-12s %5d s  %s' "$name" $((SECONDS - start)) "$verdict")")
}

# note_reruns <preset>: a suite that passed only when run again hides a defect.
note_reruns() {
  local suite
  while read -r suite; do reruns+=("$1: $suite"); done < <(suites_run_again "$1")
  [ ! -e "$TRIES/again" ] || while read -r suite; do reruns+=("$suite"); done <"$TRIES/again"
}

build_all() { build release all; }

suites() {
  local status=0
  rm -rf "$TRIES"
  mkdir -p "$TRIES"
  WINNOW_SUITE_TRIES="$TRIES" run_suites release "${REPEAT[@]}" || status=$?
  note_reruns release
  return "$status"
}

summary() {
  printf '\n######## summary\n'
  printf '%s\n' "${times[@]}"
  if [ "${#reruns[@]}" -gt 0 ]; then
    printf '\n!!!! a try failed and was run again, a defect to fix:\n'
    printf '!!!!   %s\n' "${reruns[@]}"
  fi
  [ "${#failed[@]}" -eq 0 ] || die "failed: ${failed[*]}"
  printf '\nci: all phases passed in %d s\n' "$SECONDS"
}

# needed_phase <name> <command>...: the phases after it are senseless without it.
needed_phase() {
  phase "$@"
  [ "${#failed[@]}" -eq 0 ] || [ "${failed[-1]}" != "$1" ] || summary
}

needed_phase install tools/install.sh --test
phase lint tools/lint.sh
needed_phase build build_all
phase suites suites
phase sanitizers tools/sanitize.sh unit
phase clang-tidy tools/tidy.sh
summary

#!/usr/bin/env bash
# ./x sanitize [unit | integration]: these suites, or both, under AddressSanitizer and
# UndefinedBehaviorSanitizer.
set -euo pipefail
CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
. tools/lib.sh
. tools/cmake.sh

case "$#:${1:-}" in
  0:) labels=(unit integration) ;;
  1:unit | 1:integration) labels=("$1") ;;
  *) usage_error "sanitize takes unit or integration, not '$*'" ;;
esac

tools/install.sh --test
build asan "${labels[@]/#/suites_}"
step "suites under sanitizers"
export ASAN_OPTIONS="${ASAN_OPTIONS:-detect_stack_use_after_return=1:strict_string_checks=1}"
export UBSAN_OPTIONS="${UBSAN_OPTIONS:-print_stacktrace=1}"
suppressions="'$PWD/tests/lsan.supp'"
export LSAN_OPTIONS="${LSAN_OPTIONS:-suppressions=$suppressions:print_suppressions=0}"
run_suites asan -L "^($(IFS='|' && echo "${labels[*]}"))\$"

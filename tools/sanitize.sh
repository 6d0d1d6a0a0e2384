#!/usr/bin/env bash
# ./x sanitize: unit and integration suites under AddressSanitizer and UndefinedBehaviorSanitizer.
# Options after it go to ctest.
set -euo pipefail
CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
. tools/lib.sh
. tools/cmake.sh

tools/install.sh --test
build asan all
step "suites under sanitizers"
export ASAN_OPTIONS="${ASAN_OPTIONS:-detect_stack_use_after_return=1:strict_string_checks=1}"
export UBSAN_OPTIONS="${UBSAN_OPTIONS:-print_stacktrace=1}"
run_suites asan -L '^(unit|integration)$' "$@"

#!/usr/bin/env bash
# ./x test [REGEX] | --label LABEL: build release and run the suites, the Python client's included.
set -euo pipefail
CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
. tools/lib.sh
. tools/cmake.sh

select=()
case "$#:${1:-}" in
  0:) ;;
  2:--label)
    select=(-L "^$2\$")
    ;;
  1:-* | 2:*) usage_error "test takes one regular expression on suite names, not '$*'" ;;
  1:*)
    select=(-R "$1")
    ;;
  *) usage_error "test takes at most one argument, not '$*'" ;;
esac

tools/install.sh --test
build release all
step "suites"
run_suites release "${select[@]}"

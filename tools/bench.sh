#!/usr/bin/env bash
# ./x bench [REGEX]: every benchmark binary, or those whose name matches, one after the other.
set -euo pipefail
CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
. tools/lib.sh
. tools/cmake.sh

[ "$#" -le 1 ] || usage_error "bench takes at most one regular expression, not '$*'"
tools/install.sh
build release all
found=no
for binary in build/release/bin/bench_*; do
  [[ -x "$binary" && "${binary##*/}" =~ ${1:-.} ]] || continue
  found=yes
  step "$binary"
  "$binary"
done
[ "$found" = yes ] || die "no benchmark matches '${1:-}': they are build/release/bin/bench_*"

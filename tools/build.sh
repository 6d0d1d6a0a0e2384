#!/usr/bin/env bash
# ./x build [TARGET...]: the release build, `winnow` alone unless targets are named.
set -euo pipefail
CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
. tools/lib.sh
. tools/cmake.sh

[ "$#" -gt 0 ] || set -- winnow
case "$*" in
  -* | *" -"*) usage_error "build takes names of CMake targets, not options: '$*'" ;;
esac
tools/install.sh
build release "$@"
[ ! -x build/release/bin/winnow ] || say "built build/release/bin/winnow"

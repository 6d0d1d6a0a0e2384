#!/usr/bin/env bash
# ./x fmt: rewrite C++, protos and Python in the one format.
set -euo pipefail
CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
. tools/lib.sh

tools/install.sh --test
find services tests -type f \( -name '*.h' -o -name '*.cc' \) -print0 |
  xargs -0 -r clang-format -i
"$VENV/bin/buf" format -w
tools/python.sh format

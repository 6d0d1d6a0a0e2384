#!/usr/bin/env bash
# ./x java: install what Java needs, build winnow, then test the Java client and drive the binary
# with its e2e suite.
set -euo pipefail
CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
. tools/lib.sh
. tools/cmake.sh

tools/install.sh --java
build release winnow
step "Java: client, example and their e2e suite"
WINNOW_BINARY="$PWD/build/release/bin/winnow" tools/java_suite.sh

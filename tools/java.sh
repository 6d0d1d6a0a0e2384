#!/usr/bin/env bash
# ./x java: install what Java needs, build and test the Java client, then drive the built binary
# with its e2e suite.
set -euo pipefail
CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
. tools/lib.sh
. tools/cmake.sh

tools/install.sh --java
build release winnow
step "Java: client, example and their e2e suite"
# Maven's own repository folder stays where the user's settings have it. The first run installs
# nothing outside of it and target/.
export WINNOW_BINARY="$PWD/build/release/bin/winnow"
retry mvn -q -B -f clients/java/pom.xml test-compile </dev/null
mvn -q -B -f clients/java/pom.xml test -DexcludedGroups= </dev/null
say "Java: all tests passed"

#!/usr/bin/env bash
# tools/java_suite.sh, with WINNOW_BINARY set: tests the Java client, drives the built binary with
# its e2e suite, and publishes the client to a folder to see that it is an artifact like any other.
# The ctest client_java runs this.
set -euo pipefail
CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
. tools/lib.sh

[ -x "${WINNOW_BINARY:-}" ] || die "set WINNOW_BINARY to a built winnow"
repository=$(mktemp -d /tmp/winnow-java-XXXXXX)
trap 'rm -rf "$repository"' EXIT
maven() { mvn -B -q -f clients/java/pom.xml "$@" </dev/null; }

# What is not in Maven's own folder yet comes over the network, which may need another try; after
# that none of it is asked for again.
maven -o test-compile 2>/dev/null || retry maven test-compile
maven deploy -DexcludedGroups= -Dmaven.install.skip=true \
  "-DaltDeploymentRepository=trial::file://$repository"

folders=("$repository"/io/winnow/winnow-client/*/)
version=$(basename "${folders[0]}")
for part in .pom .jar -sources.jar -javadoc.jar; do
  [ -s "${folders[0]}winnow-client-$version$part" ] ||
    die "the client is published without winnow-client-$version$part"
done
parent=("$repository"/io/winnow/winnow-parent/*/winnow-parent-*.pom)
[ -s "${parent[0]}" ] || die "its parent is missing"
[ ! -e "$repository/io/winnow/winnow-example" ] || die "the example is published too"
tests=$(sed -n 's/^Tests run: \([0-9]*\),.*/\1/p' clients/java/*/target/surefire-reports/*.txt |
  awk '{ sum += $1 } END { print sum + 0 }')
[ "$tests" -gt 0 ] || die "no Java test was run"
say "Java: $tests tests passed; winnow-client $version can be published"

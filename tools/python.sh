#!/usr/bin/env bash
# The Python parts: tools/python.sh lint|format|stubs. Their tests are suites of ctest.
set -euo pipefail
CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
. tools/lib.sh

python() { "$VENV/bin/python" "$@"; }

# on_sources <ruff argument>...: ruff on every Python file of ours; what pip left of an install,
# stubs included, is none of these.
on_sources() {
  find clients tests tools -name '*.py' -not -path '*/target/*' \
    -not -path 'clients/python/build/*' -not -name '*_pb2*.py' -print0 |
    xargs -0 -r "$VENV/bin/python" -m ruff "$@"
}

case "${1:-}" in
  lint)
    on_sources check --quiet
    on_sources format --check --quiet
    # The client is checked with its stubs, by its own suite.
    MYPYPATH=tests/tidy python -m mypy --strict tests/tidy tools
    ;;
  format)
    on_sources check --quiet --fix
    on_sources format --quiet
    ;;
  stubs)
    [ -e clients/python/generate_stubs.py ] || exit 0
    rm -rf build/python
    python clients/python/generate_stubs.py --out build/python
    say "Python stubs: build/python"
    ;;
  *) usage_error "tools/python.sh takes lint, format or stubs, not '${1:-}'" ;;
esac

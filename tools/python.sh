#!/usr/bin/env bash
# The Python parts: tools/python.sh stubs|lint|test. Stubs are generated into build/python, which
# is on the path of mypy and of the tests, and never committed.
set -euo pipefail
CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
. tools/lib.sh

CLIENT=clients/python
STUBS=build/python

python() { "$VENV/bin/python" "$@"; }

stubs() {
  local files
  mapfile -t files < <(cd protos && find winnow -name '*.proto' | sort)
  rm -rf "$STUBS"
  mkdir -p "$STUBS"
  PATH="$PWD/$VENV/bin:$PATH" python -m grpc_tools.protoc -Iprotos -I"$TOOLS_DIR/googleapis" \
    --python_out="$STUBS" --grpc_python_out="$STUBS" --mypy_out=quiet:"$STUBS" \
    --mypy_grpc_out=quiet:"$STUBS" "${files[@]}"
}

lint() {
  python -m ruff check .
  python -m ruff format --check .
  MYPYPATH=tests/tidy python -m mypy --strict tests/tidy tools
  [ -e "$CLIENT/pyproject.toml" ] || return 0
  stubs
  MYPYPATH="$STUBS" python -m mypy --config-file "$CLIENT/pyproject.toml" "$CLIENT"
}

run_tests() {
  [ -e "$CLIENT/pyproject.toml" ] || return 0
  step "Python client"
  stubs
  PYTHONPATH="$STUBS:$CLIENT/src" python -m pytest "$CLIENT" -q
}

case "${1:-}" in
  stubs | lint) "$1" ;;
  test) run_tests ;;
  *) usage_error "tools/python.sh takes stubs, lint or test, not '${1:-}'" ;;
esac

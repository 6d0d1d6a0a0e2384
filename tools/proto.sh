#!/usr/bin/env bash
# ./x proto: check the protos, then generate what is made of them: C++ and Python.
set -euo pipefail
CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
. tools/lib.sh
. tools/cmake.sh

tools/install.sh --test
tools/buf.sh
build release winnow_protos winnow_descriptors
tools/python.sh stubs

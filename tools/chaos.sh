#!/usr/bin/env bash
# ./x chaos dedup|newsfeed|classification: the proofs that ctest runs small, at their full size.
set -euo pipefail
CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
. tools/lib.sh
. tools/cmake.sh

case "$#:${1:-}" in
  1:dedup)
    select=dedup_race
    export WINNOW_RACE_PAIRS="${WINNOW_RACE_PAIRS:-100000}"
    export WINNOW_RACE_KILLS="${WINNOW_RACE_KILLS:-8}"
    export WINNOW_RACE_INSTANCES="${WINNOW_RACE_INSTANCES:-4}"
    ;;
  1:classification)
    tools/install.sh --test
    build release unit_classification integration_classification
    step "chaos classification: faults of a language model over a million comments"
    WINNOW_LLM_COMMENTS="${WINNOW_LLM_COMMENTS:-1000000}" \
      build/release/bin/unit_classification --gtest_filter='LlmPort.LosesDoubles*'
    step "chaos classification: counts after many operations in any order"
    WINNOW_CLASSIFICATION_STEPS="${WINNOW_CLASSIFICATION_STEPS:-100000}" \
      build/release/bin/integration_classification --gtest_filter='*CountsHoldAfterRandom*'
    exit 0
    ;;
  1:newsfeed)
    select=feed_scroll
    export WINNOW_SCROLL_ARTICLES="${WINNOW_SCROLL_ARTICLES:-1000000}"
    ;;
  *) usage_error "chaos takes nothing, dedup, newsfeed or classification, not '$*'" ;;
esac
tools/install.sh --test
build release winnow
step "chaos $1"
export WINNOW_BINARY="$PWD/build/release/bin/winnow"
"$VENV/bin/python" tests/support/run_python_suite.py tests/chaos -k "$select"

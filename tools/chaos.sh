#!/usr/bin/env bash
# ./x chaos dedup|newsfeed|classification|polling: the proofs that ctest runs small, at full size;
# ./x chaos upgrade: tools/upgrade.sh; ./x chaos memory: tests/memory;
# ./x chaos failover [LEG...]: tests/chaos/failover.
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
    step "chaos classification: the same over sockets that hang, into the store"
    WINNOW_LLM_WIRE_COMMENTS="${WINNOW_LLM_WIRE_COMMENTS:-100000}" \
      build/release/bin/integration_classification --gtest_filter='*OverSocketsIntoTheStore'
    step "chaos classification: counts after 10^7 operations in any order and a hundred kill -9"
    WINNOW_CLASSIFICATION_OPERATIONS="${WINNOW_CLASSIFICATION_OPERATIONS:-10000000}" \
      WINNOW_CLASSIFICATION_KILLS="${WINNOW_CLASSIFICATION_KILLS:-100}" \
      build/release/bin/integration_classification --gtest_filter='*CountsHoldAfterRandom*'
    exit 0
    ;;
  1:polling)
    tools/install.sh --test
    build release unit_polling integration_polling
    step "chaos polling: the simulator, and each published defect put back"
    WINNOW_SIM_STEPS="${WINNOW_SIM_STEPS:-10000000}" \
      build/release/bin/unit_polling --gtest_filter='PollingSimulator.*:*PublishedDefect*'
    step "chaos polling: PostgreSQL held to the machine"
    WINNOW_POLLING_STEPS="${WINNOW_POLLING_STEPS:-25000}" \
      build/release/bin/integration_polling --gtest_filter='Seeds/PollingPropertyTest*'
    step "chaos polling: the same with kill -9 of PostgreSQL, again and again"
    WINNOW_POLLING_KILL_STEPS="${WINNOW_POLLING_KILL_STEPS:-100000}" \
      build/release/bin/integration_polling --gtest_filter='*PollingKillTest*'
    exit 0
    ;;
  1:newsfeed)
    select=feed_scroll
    export WINNOW_SCROLL_ARTICLES="${WINNOW_SCROLL_ARTICLES:-1000000}"
    ;;
  1:upgrade) exec tools/upgrade.sh ;;
  1:memory)
    folder=tests/memory
    select=memory
    ;;
  *:failover)
    tools/install.sh --test
    build release winnow winnow_descriptors
    export WINNOW_BINARY="$PWD/build/release/bin/winnow"
    exec "$VENV/bin/python" tests/chaos/failover/run.py "${@:2}"
    ;;
  *)
    usage_error "chaos takes nothing, dedup, newsfeed, classification, polling, upgrade, memory" \
      "or failover [LEG...], not '$*'"
    ;;
esac
tools/install.sh --test
build release winnow
step "chaos $1"
export WINNOW_BINARY="$PWD/build/release/bin/winnow"
"$VENV/bin/python" tests/support/suite/run_python_suite.py "${folder:-tests/chaos}" -k "$select" -s

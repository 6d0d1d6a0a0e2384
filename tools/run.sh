#!/usr/bin/env bash
# ./x run [--once] [--listen HOST:PORT] [--metrics HOST:PORT|off] [--data-dir DIR] [--config FILE]:
# from nothing to a served feed. Keeps serving until Ctrl-C; with --once it ends after printing.
set -euo pipefail
CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
. tools/lib.sh
. tools/cmake.sh

WINNOW="$PWD/build/release/bin/winnow"
RUN_DIR="$CACHE_DIR/run"
LOG="$RUN_DIR/winnow.log"
STATE="$RUN_DIR/server"  # "<pid of winnow> <pid of its ./x run>"
ADDRESS_FILE="$RUN_DIR/address"  # written by winnow when it is ready
START_SECONDS=180
CALLED_FROM="${WINNOW_CALLED_FROM:-$PWD}"  # what relative paths of the caller start from

once=no
address=""
serve=()
server=""

parse() {
  while [ "$#" -gt 0 ]; do
    case "$1" in
      --once) once=yes ;;
      --listen | --data-dir | --config | --metrics)
        [ "$#" -ge 2 ] || usage_error "$1 needs a value"
        case "$1:$2" in
          --listen:* | --metrics:* | *:/*) serve+=("$1" "$2") ;;
          *) serve+=("$1" "$CALLED_FROM/$2") ;;
        esac
        shift
        ;;
      --listen=* | --data-dir=* | --config=* | --metrics=*)
        set -- "$@" "${1%%=*}" "${1#*=}"
        ;;
      *) usage_error "run does not take '$1'" ;;
    esac
    shift
  done
}

# is_ours <pid>: whether the process is a winnow of this clone (perhaps rebuilt since it started).
is_ours() {
  local exe
  exe=$(readlink "/proc/$1/exe" 2>/dev/null) || return 1
  [ "${exe% (deleted)}" = "$WINNOW" ]
}

# What an earlier ./x run left: nothing, one that still serves (then this only shows it), or one
# whose ./x was killed, which is on its way out and has to be waited for.
meet_former_run() {
  local pid run parent
  [ -f "$STATE" ] && read -r pid run <"$STATE" && is_ours "$pid" || return 0
  parent=$(sed -n 's/^PPid:\t//p' "/proc/$pid/status" 2>/dev/null || true)
  if [ "$parent" = "$run" ] && [ "$run" != 1 ]; then
    await_address "$pid" || die "a Winnow of this clone (pid $pid) does not become ready: see $LOG"
    say "x: a Winnow of this clone serves at $address already (pid $pid); showing that one"
    [ "${#serve[@]}" -eq 0 ] ||
      say "x: it does not hear of '${serve[*]}': end it first (Ctrl-C, or kill $pid)"
    show
    exit 0
  fi
  say "x: waiting for the Winnow of a killed run to end (pid $pid)"
  kill -TERM "$pid" 2>/dev/null || true
  local left=60
  while is_ours "$pid"; do
    [ "$left" -gt 0 ] || die "it does not end: kill -9 $pid, then try again"
    left=$((left - 1))
    sleep 1
  done
}

# Its own session: Ctrl-C reaches this script alone, which asks the server to drain, once. Should
# this script be killed, the server is asked by the kernel.
start_server() {
  step "starting Winnow (log: $LOG)"
  mkdir -p "$RUN_DIR"
  rm -f "$ADDRESS_FILE"
  setsid setpriv --pdeathsig TERM env --default-signal=INT,QUIT,PIPE,TERM,HUP \
    "$WINNOW" serve --target=all --address-file "$ADDRESS_FILE" "${serve[@]}" \
    </dev/null >"$LOG" 2>&1 &
  server=$!
  echo "$server $$" >"$STATE"
}

# stop_server: its exit code.
stop_server() {
  local status=0
  [ -n "$server" ] || return 0
  kill -TERM "$server" 2>/dev/null || true
  # A signal that arrives meanwhile ends `wait` early, not the server.
  while kill -0 "$server" 2>/dev/null; do wait "$server" || true; done
  wait "$server" || status=$?
  server=""
  rm -f "$STATE"
  return "$status"
}

fail_with_log() {
  say "x: $*; the end of $LOG:"
  tail -n 20 "$LOG" >&2
  exit 1
}

# await_address <pid>: until that winnow is ready, and then where it listens.
await_address() {
  local deadline=$((SECONDS + START_SECONDS))
  until [ -s "$ADDRESS_FILE" ]; do
    kill -0 "$1" 2>/dev/null && [ "$SECONDS" -lt "$deadline" ] || return 1
    sleep 0.1
  done
  address=$(cat "$ADDRESS_FILE")
}

show() {
  step "serving at $address; the samples go in"
  "$WINNOW" import samples/items-ko-en.jsonl --create-categories --address "$address"
  step "the first page of the feed"
  "$WINNOW" feed list --count 10 --address "$address"
  step "what was found twice"
  "$WINNOW" dedup duplicates --count 5 --address "$address"
  step "what to try next"
  next_things
}

next_things() {
  cat <<NEXT
  build/release/bin/winnow feed scroll --address $address
  build/release/bin/winnow dedup compare 'Night ferry gets a second boat' \\
      'Second boat for the night ferry' --address $address

Comments, labelled:
  build/release/bin/winnow classify import samples/comments-ko-en.json \\
      --video winter-greenhouse --address $address

With grpcurl (tools/install.sh --test puts it into .tools/bin):
  .tools/bin/grpcurl -plaintext $address list
  .tools/bin/grpcurl -plaintext -d '{"page_size": 3}' $address \\
      winnow.newsfeed.v1.NewsFeedService/ListArticles

From Python (python3 -m venv .venv && .venv/bin/pip install ./clients/python):
  import winnow
  with winnow.connect("$address") as client:
      for article in client.newsfeed.articles():
          print(article.publish_time.ToJsonString(), article.title)
NEXT
}

keep_serving() {
  trap 'end 0' INT TERM HUP
  say ""
  say "Serving at $address. Ctrl-C ends it."
  local status=0
  wait "$server" || status=$?
  # Only the server's own end comes here: the traps end this script.
  server=""
  rm -f "$STATE"
  [ "$status" = 0 ] || fail_with_log "Winnow ended with $status"
}

end() {
  trap '[ -z "$server" ] || kill -TERM "$server"' INT TERM HUP  # again: in a hurry
  stop_server || fail_with_log "Winnow did not end well"
  exit "$1"
}

parse "$@"
tools/install.sh
build release winnow
meet_former_run
trap 'end 130' INT TERM HUP
trap 'stop_server || true' EXIT
start_server
await_address "$server" || fail_with_log "Winnow did not start"
show
[ "$once" = no ] || end 0
keep_serving

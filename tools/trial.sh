#!/usr/bin/env bash
# Holds the first-run trial in a bare Debian 12, which CONTRIBUTING.md describes: clone, ./x run
# --once twice, once more after kill -9, as root and as a normal user with sudo. Needs root and
# debootstrap. Usage: tools/trial.sh root|user FOLDER [./x COMMAND...]
#
# The mirror, package-index settings and certificates are this machine's own. FOLDER/base is kept
# for a next trial. CCACHE_DIR is lent to the trial where it is set.
set -euo pipefail
CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
. tools/lib.sh

usage() { usage_error "usage: tools/trial.sh root|user FOLDER [./x COMMAND...]"; }

[ "$#" -ge 2 ] || usage
who="$1" folder="$2"
shift 2
case "$who" in
  root) home="/root" ;;
  user) home="/home/someone" ;;
  *) usage ;;
esac
[ "$(id -u)" = 0 ] || die "a trial makes a root file system, which takes root"
command -v debootstrap >/dev/null || die "a trial needs debootstrap: apt-get install debootstrap"
mkdir -p "$folder"
folder=$(realpath "$folder")
base="$folder/base" root="$folder/$who"

make_base() {
  [ ! -e "$base/etc/debian_version" ] || return 0
  local mirror
  mirror=$(sed -nE 's/^(URIs:|deb)[[:space:]]+(\[[^]]*\][[:space:]]+)?([^[:space:]]+).*/\3/p' \
    /etc/apt/sources.list.d/debian.sources /etc/apt/sources.list 2>/dev/null | head -n 1)
  debootstrap --variant=minbase bookworm "$base.part" "$mirror"
  mv "$base.part" "$base"
}

# What reaches package registries here must reach them there: sources, certificates, pip's config.
copy_machine_settings() {
  cp /etc/resolv.conf /etc/hosts "$root/etc/"
  if [ -e /etc/apt/sources.list.d/debian.sources ]; then
    cp /etc/apt/sources.list.d/debian.sources "$root/etc/apt/sources.list.d/"
    : >"$root/etc/apt/sources.list"
  fi
  find /etc/apt/apt.conf.d -name '99*' -exec cp {} "$root/etc/apt/apt.conf.d/" \;
  [ ! -e /etc/pip.conf ] || cp /etc/pip.conf "$root/etc/"
  mkdir -p "$root/usr/local/share/ca-certificates"
  cp -R /usr/local/share/ca-certificates/. "$root/usr/local/share/ca-certificates/"
}

# inside <command>...: in the trial's root, with its own processes, which end with it.
inside() {
  # shellcheck disable=SC2016  # expanded inside
  unshare --mount --pid --fork --kill-child bash -c '
    set -e
    root="$1" cache="$2"
    shift 2
    mount -t proc proc "$root/proc"
    mount --rbind /dev "$root/dev"
    mkdir -p "$root/ccache"
    [ ! -d "$cache" ] || mount --bind "$cache" "$root/ccache"
    exec chroot "$root" /usr/bin/env -i TERM=dumb CCACHE_DIR=/ccache CCACHE_UMASK=000 \
      ${GOPROXY:+"GOPROXY=$GOPROXY"} \
      PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$@"' \
    trial "$root" "$CCACHE_DIR" "$@" </dev/null
}

# as_who <shell text>: by the trial's user, in the clone.
as_who() {
  local clone="$home/a clone" user=root
  [ "$who" = root ] || user=someone
  inside setpriv --reuid="$user" --regid="$user" --init-groups \
    env HOME="$home" USER="$user" bash -c "cd '$clone' || exit
      $1"
}

prepare() {
  rm -rf "$root"
  cp -a "$base" "$root"
  copy_machine_settings
  local packages=(git ca-certificates)
  [ "$who" = root ] || packages+=(sudo)
  inside sh -c "apt-get update -q && apt-get install -yq --no-install-recommends ${packages[*]} &&
    update-ca-certificates"
  if [ "$who" = user ]; then
    inside useradd --create-home --shell /bin/bash someone
    echo 'someone ALL=(ALL) NOPASSWD: ALL' >"$root/etc/sudoers.d/someone"
  fi
  git bundle create "$root/winnow.bundle" HEAD
  inside setpriv --reuid="${home##*/}" --regid="${home##*/}" --init-groups \
    git clone -q /winnow.bundle "$home/a clone"
}

# run_after_kill <field>: starts ./x run, kills the process of that field of .cache/run/server
# (1 winnow, 2 ./x run) once it serves, and runs again at once.
run_after_kill() {
  as_who "rm -f .cache/trial.log
    (./x run >.cache/trial.log 2>&1 || true) &
    left=300
    until grep -qs '^Serving at' .cache/trial.log; do
      left=\$((left - 1))
      [ \$left -gt 0 ] || { cat .cache/trial.log && exit 1; }
      sleep 1
    done
    kill -9 \$(cut -d' ' -f$1 .cache/run/server) && ./x run --once"
}

step "a bare Debian 12"
make_base
prepare
if [ "$#" -gt 0 ]; then
  as_who "./x $*"
  exit 0
fi
step "first run"
as_who './x run --once'
step "second run"
as_who './x run --once'
step "the run after kill -9 of winnow"
run_after_kill 1
step "the run after kill -9 of ./x run"
run_after_kill 2
say "trial: passed as $who"

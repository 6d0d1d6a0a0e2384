#!/usr/bin/env bash
# Holds the first-run trial in a bare Debian 12, which CONTRIBUTING.md describes: clone, ./x run
# --once twice, once more after kill -9, as root and as a normal user with sudo. Needs root and
# debootstrap. Usage: tools/trial.sh root|user FOLDER [./x COMMAND...]
#
# The mirror, package-index settings and certificates are this machine's own. FOLDER/base is kept
# for a next trial. The compiler cache in CCACHE_DIR is shared with the trial; where the trial's
# user may not write to all of it, the trial gets a copy.
set -euo pipefail
CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
. tools/lib.sh
. tools/trial_machine.sh

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
shared_cache="$CCACHE_DIR"

make_base() {
  [ ! -e "$base/etc/debian_version" ] || return 0
  local mirror
  mirror=$(apt_mirror /etc/apt) || die "no Debian mirror found: neither /etc/apt/sources.list nor
a file in /etc/apt/sources.list.d names a URI. debootstrap needs one; add a source there."
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
    [ -z "$cache" ] || mount --bind "$cache" "$root/ccache"
    exec chroot "$root" /usr/bin/env -i TERM=dumb CCACHE_DIR=/ccache CCACHE_UMASK=000 \
      ${GOPROXY:+"GOPROXY=$GOPROXY"} \
      PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$@"' \
    trial "$root" "$shared_cache" "$@" </dev/null
}

as_trial_user() {
  local user="${home##*/}"
  inside setpriv --reuid="$user" --regid="$user" --init-groups env HOME="$home" USER="$user" "$@"
}

# as_who <shell text>: by the trial's user, in the clone.
as_who() {
  as_trial_user bash -c "cd '$home/a clone' || exit
      $1"
}

# share_cache: gives the trial's user a compiler cache that he can write to: CCACHE_DIR itself, or
# a copy of it in the trial's root. As for ccache, "writable" means every folder of it.
share_cache() {
  local obstacle
  [ -d "$shared_cache" ] || shared_cache=""
  if [ -n "$shared_cache" ]; then
    obstacle=$(as_trial_user bash -c "$(declare -f cache_obstacle); cache_obstacle /ccache")
    [ -n "$obstacle" ] || return 0
    say "trial: user '${home##*/}' cannot use ${obstacle/#\/ccache/$shared_cache} of the compiler
cache: the trial gets a copy ($(du -sh "$shared_cache" | cut -f 1)); the original stays as it is.
To share the original: chmod -R a+rwX '$shared_cache'"
    cp -R "$shared_cache/." "$root/ccache/" ||
      die "cannot copy the compiler cache '$shared_cache' to '$root/ccache'"
    shared_cache=""
  fi
  inside chown -R "${home##*/}:" /ccache
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
  share_cache
  git bundle create "$root/winnow.bundle" HEAD
  as_trial_user git clone -q /winnow.bundle "$home/a clone"
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

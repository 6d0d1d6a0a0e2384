#!/usr/bin/env bash
# Installs what is missing to build and run Winnow on Debian 12, and nothing else; a second run
# finds nothing to do. With --test also what tests and lint need, with --java what ./x java needs
# alone.
set -euo pipefail
CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
. tools/lib.sh

GRPCURL_VERSION=v1.9.1  # the last ones that Debian 12's Go 1.19 builds
HELM_VERSION=v3.12.3
# The Kubernetes that it is made for, which its own Makefile sets likewise: else it claims 1.20, and
# `helm template` refuses the chart.
HELM_FLAGS="-X helm.sh/helm/v3/pkg/chartutil.k8sVersionMajor=1 \
-X helm.sh/helm/v3/pkg/chartutil.k8sVersionMinor=27 \
-X helm.sh/helm/v3/pkg/lint/rules.k8sVersionMajor=1 \
-X helm.sh/helm/v3/pkg/lint/rules.k8sVersionMinor=27"
CLUSTER_HOLD=/etc/postgresql-common/createcluster.d/winnow.conf
START_HOLD=/usr/sbin/policy-rc.d

as_root() {
  if [ "$(id -u)" = 0 ]; then
    "$@"
  else
    sudo "$@"
  fi
}

# list <file>...: the entries of the given lists, without comments.
list() { sed -e 's/#.*//' -e '/^[[:space:]]*$/d' "$@"; }

# missing_packages <package>...: those that are not installed.
missing_packages() {
  local package installed
  installed=$(dpkg-query -W -f '${db:Status-Abbrev}${Package}\n' 2>/dev/null | sed -n 's/^.i //p')
  for package in "$@"; do
    grep -qxF -- "$package" <<<"$installed" || printf '%s\n' "$package"
  done
}

check_system() {
  command -v apt-get >/dev/null || die "this script installs Debian 12 packages, and this system
has no apt-get. Install by hand what tools/packages*.txt name."
  local id
  id=$(. /etc/os-release && echo "${ID:-} ${VERSION_ID:-}")
  [ "$id" = "debian 12" ] ||
    say "x: this is '$id', not Debian 12: package names and versions may not fit."
}

check_root() {
  [ "$(id -u)" != 0 ] || return 0
  local how="Run this as root:
  apt-get update && apt-get install --no-install-recommends $*"
  command -v sudo >/dev/null || die "installing packages needs root, and sudo is not installed.
$how"
  # Without a terminal sudo could not ask for a password: say so instead of a puzzling sudo error.
  [ -t 0 ] || sudo -n true 2>/dev/null ||
    die "installing packages needs root, and sudo asks for a password but there is no terminal.
$how"
}

apt() {
  as_root env DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 apt-get \
    -o DPkg::Lock::Timeout=600 -o Acquire::Retries=3 -o Dpkg::Options::=--force-confold \
    -o Dpkg::Use-Pty=0 -q "$@" </dev/null
}

# apt-get update ends with 100 when any source fails, one that we do not need included: what counts
# is whether the install that follows finds its packages.
apt_install() {
  apt update || say "x: apt-get update had errors; trying with the lists that are there"
  apt install -y --no-install-recommends "$@"
}

# Debian starts the servers that it installs, and makes a cluster for a first PostgreSQL; nobody
# asked for those. Tests start their own. A policy that is already there is the machine's.
hold_servers() {
  trap release_servers EXIT
  as_root mkdir -p "${CLUSTER_HOLD%/*}"
  echo 'create_main_cluster = false' | as_root tee "$CLUSTER_HOLD" >/dev/null
  [ -e "$START_HOLD" ] && return 0
  printf "%s\n" "#!/bin/sh" "# made by Winnow while it installs" "exit 101" |
    as_root tee "$START_HOLD" >/dev/null
  as_root chmod 755 "$START_HOLD"
}

release_servers() {
  trap - EXIT
  as_root rm -f "$CLUSTER_HOLD"
  if grep -q 'while it installs' "$START_HOLD" 2>/dev/null; then as_root rm -f "$START_HOLD"; fi
}

install_packages() {
  local wanted missing
  mapfile -t wanted < <(list "$@")
  mapfile -t missing < <(missing_packages "${wanted[@]}")
  [ "${#missing[@]}" -gt 0 ] || return 0
  check_root "${missing[@]}"
  step "installing ${#missing[@]} Debian packages: ${missing[*]}"
  local status=0
  hold_servers
  retry apt_install "${missing[@]}" || status=$?
  release_servers
  [ "$status" = 0 ] || die "apt-get could not install: ${missing[*]}"
}

# pip_install <requirements>: exact versions, no resolving. The index is the machine's own; of its
# pip settings only those are overruled that would put the packages elsewhere or refuse them.
pip_install() {
  env -u PIP_TARGET -u PIP_PREFIX -u PIP_ROOT -u PIP_CONSTRAINT PIP_USER=0 PIP_REQUIRE_HASHES=0 \
    PIP_NO_INPUT=1 PIP_DISABLE_PIP_VERSION_CHECK=1 \
    "$VENV/bin/python" -m pip install --quiet --no-deps --only-binary=:all: \
    --progress-bar off "$@" </dev/null
}

# The stamp holds all that the virtual environment depends on, its own path included: a clone that
# was moved or a changed pin makes it anew.
install_venv() {
  local stamp="$VENV/winnow.stamp" wanted
  wanted=$(realpath -m "$VENV" && /usr/bin/python3 -VV && list "$@")
  if [ ! -f "$stamp" ] || [ "$(cat "$stamp")" != "$wanted" ]; then
    step "installing Python packages into $VENV"
    /usr/bin/python3 -m venv --clear "$VENV"
    local file args=()
    for file in "$@"; do args+=(-r "$file"); done
    retry pip_install "${args[@]}" || die "pip could not install what $* name"
    printf '%s\n' "$wanted" >"$stamp"
  fi
}

# google/rpc/*.proto where CMake and buf look for them, copied from the Python package.
install_googleapis() {
  local from out="$TOOLS_DIR/googleapis/google/rpc" name
  from=$(echo "$VENV"/lib/python3*/site-packages/google/rpc)
  mkdir -p "$out"
  for name in code status error_details; do
    # cmp first: a new time stamp would rebuild everything that includes them.
    cmp -s "$from/$name.proto" "$out/$name.proto" || cp "$from/$name.proto" "$out/$name.proto"
  done
}

# install_go_program <name> <version> <package> [<linker flags>]: built from source into .tools/bin.
install_go_program() {
  local name="$1" version="$2" package="$3" flags="${4:-}"
  local stamp="$TOOLS_DIR/bin/$name.version"
  if [ -x "$TOOLS_DIR/bin/$name" ] && [ "$(cat "$stamp" 2>/dev/null)" = "$version$flags" ]; then
    return 0
  fi
  command -v go >/dev/null || install_packages <(echo golang-go)
  step "building $name $version"
  mkdir -p "$TOOLS_DIR/bin"
  # -modcacherw: else Go's module cache cannot be deleted by its owner.
  GOBIN="$PWD/$TOOLS_DIR/bin" GOFLAGS="${GOFLAGS:-} -modcacherw" GO111MODULE=on CGO_ENABLED=0 \
    retry go install -ldflags "-s -w $flags" "$package@$version" </dev/null ||
    die "go could not build $name $version"
  echo "$version$flags" >"$stamp"
}

main() {
  local test=no java=no
  case "${1:-}" in
    "") ;;
    --test) test=yes ;;
    --java) java=yes ;;
    *) usage_error "tools/install.sh takes --test, --java or nothing, not '$1'" ;;
  esac
  check_system
  mkdir -p "$TOOLS_DIR"
  exec 8>"$TOOLS_DIR/install.lock"
  flock 8  # a second ./x started meanwhile waits, then finds everything there
  if [ "$test" = yes ]; then
    install_packages tools/packages.txt tools/packages-test.txt
    install_venv tools/requirements.txt tools/requirements-test.txt
    VENV="$TOOLS_DIR/model" install_venv tools/requirements-model.txt
    install_go_program grpcurl "$GRPCURL_VERSION" github.com/fullstorydev/grpcurl/cmd/grpcurl
    install_go_program helm "$HELM_VERSION" helm.sh/helm/v3/cmd/helm "$HELM_FLAGS"
  else
    install_packages tools/packages.txt
    # A virtual environment with the packages of tests serves a build too: never shrink it.
    if grep -q '^pytest==' "$VENV/winnow.stamp" 2>/dev/null; then
      install_venv tools/requirements.txt tools/requirements-test.txt
    else
      install_venv tools/requirements.txt
    fi
  fi
  # A machine that has a Maven and a Java 17 or newer needs no other.
  if [ "$java$test" != nono ] && ! { command -v mvn && command -v javac; } >/dev/null; then
    install_packages tools/packages-java.txt
  fi
  install_googleapis
}

main "$@"

# shellcheck shell=bash
# Sourced by trial.sh and its test, never run: what a trial takes from the machine it runs on.

# apt_source_files <APT folder>: the source lists that exist there, one a line. An image has
# sources.list, files in sources.list.d (one-line or deb822), or both.
apt_source_files() {
  local file
  for file in "$1/sources.list.d/debian.sources" "$1/sources.list" \
    "$1"/sources.list.d/*.sources "$1"/sources.list.d/*.list; do
    [ ! -f "$file" ] || printf '%s\n' "$file"
  done
}

# apt_mirror <APT folder>: the first URI in its source lists; fails when there is none.
apt_mirror() {
  local file uri
  while read -r file; do
    uri=$(sed -nE -e 's/^(URIs:|deb)[[:space:]]+(\[[^]]*\][[:space:]]+)?([^[:space:]]+).*/\3/p' \
      "$file" | sed -n 1p)
    if [ -n "$uri" ]; then
      printf '%s\n' "$uri"
      return 0
    fi
  done < <(apt_source_files "$1")
  return 1
}

# cache_obstacle <folder>: the first entry of a compiler cache that the calling user cannot use:
# folders must be writable, files readable. Prints nothing when the whole cache is usable.
cache_obstacle() {
  find "$1" \( -type d ! \( -writable -executable -readable \) -o -type f ! -readable \) \
    -print -quit 2>/dev/null || true
}

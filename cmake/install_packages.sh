#!/bin/sh
# usage: sh cmake/install_packages.sh PACKAGE...
# Installs the Debian packages that are missing; touches no network when none is. PACKAGE may be one
# of another architecture, as in zlib1g-dev:arm64.
set -eu

missing=
for package in "$@"; do
  case $(dpkg-query -W -f '${db:Status-Abbrev}' "$package" 2>/dev/null || true) in
    ?i*) ;;
    *) missing="$missing $package" ;;
  esac
done
[ -n "$missing" ] || exit 0

fail() {
  echo "install_packages.sh: $1; install these packages and try again:$missing" >&2
  exit 1
}

command -v apt-get >/dev/null 2>&1 || fail "there is no apt-get here"
if [ "$(id -u)" -eq 0 ]; then
  as_root=
elif command -v sudo >/dev/null 2>&1; then
  as_root=sudo
else
  fail "neither root nor sudo"
fi

echo "installing:$missing"
apt_get() {
  $as_root env DEBIAN_FRONTEND=noninteractive apt-get -q "$@"
}
for package in $missing; do
  architecture=${package#*:}
  [ "$architecture" != "$package" ] || continue
  dpkg --print-foreign-architectures | grep -qx "$architecture" ||
    $as_root dpkg --add-architecture "$architecture" ||
    fail "dpkg --add-architecture $architecture failed"
done
# One unreachable third-party source makes the update fail; what counts is the install.
apt_get update || true
# shellcheck disable=SC2086 # a list
apt_get install -y --no-install-recommends $missing || fail "apt-get install failed"

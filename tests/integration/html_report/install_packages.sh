#!/bin/sh
# usage: install_packages.sh SOURCES WORK
# Copies the sources of the page to WORK, and installs what they are built of and tested with there:
# the versions that package-lock.json names.
set -eu

sources=$1
work=$2
if grep -n '"resolved"' "$sources/package-lock.json"; then
  echo "package-lock.json names the host of its packages: npm install --omit-lockfile-registry-resolved" >&2
  exit 1
fi
mkdir -p "$work"
rm -rf "$work/src" "$work/test"
cp -R "$sources/src" "$sources/test" "$sources/package.json" "$sources/package-lock.json" \
  "$sources/build.mjs" "$work/"
cd "$work"
npm ci --ignore-scripts --no-audit --no-fund

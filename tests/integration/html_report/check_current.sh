#!/bin/sh
# usage: check_current.sh WORK HEADER
# Fails where HEADER is not what the sources of the page in WORK make.
set -eu

work=$1
header=$2
node "$work/build.mjs" "$work/html_page.hpp"
cmp "$work/html_page.hpp" "$header" || {
  echo "$header is stale: in assets/html_report run: npm ci && node build.mjs" >&2
  exit 1
}

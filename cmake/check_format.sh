#!/bin/sh
# usage: sh cmake/check_format.sh [--fix]
# Checks (or mends) the C++ formatting, with one version of clang-format: others differ in details.
set -eu

tool=clang-format-19

CDPATH='' cd -- "$(dirname -- "$0")/.."
sh cmake/install_packages.sh "$tool"
mode='--dry-run -Werror'
if [ "${1-}" = --fix ]; then
  mode=-i
fi
# shellcheck disable=SC2086 # options
find include src examples tests bench \( -name '*.hpp' -o -name '*.cpp' \) -print0 |
  xargs -0 -r "$tool" $mode

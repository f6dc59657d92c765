#!/bin/sh
# usage: check_text.sh OBJECT BYTES
# Checks that the text of OBJECT, with its constants and unwind tables, has at most BYTES.
set -eu

text=$(size "$1" | awk 'NR == 2 { print $1 }')
[ "$text" -gt 0 ] || exit 2
[ "$text" -le "$2" ] || {
  echo "$1: has $text bytes of text, may have $2" >&2
  exit 1
}

#!/bin/sh
# usage: check_symbols.sh BINARY [--dynamic] [--source FILE]
#                         [--present REGEX]... [--absent REGEX]... [--only REGEX]...
# See alloctap_add_symbol_test in cmake/testing.cmake.
set -eu

binary=$1
shift
table=
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
: >"$work/present"
: >"$work/absent"
: >"$work/only"

while [ $# -gt 0 ]; do
  case $1 in
    --dynamic) table='--dynamic --defined-only' ;;
    --source)
      sed -n 's|^// PRESENT: ||p' "$2" >>"$work/present"
      sed -n 's|^// ABSENT: ||p' "$2" >>"$work/absent"
      shift
      ;;
    --present | --absent | --only)
      printf '%s\n' "$2" >>"$work/${1#--}"
      shift
      ;;
    *)
      echo "check_symbols.sh: unknown option $1" >&2
      exit 2
      ;;
  esac
  shift
done
[ -s "$work/present" ] || [ -s "$work/only" ] || {
  # A stripped or empty binary would pass any list of absent symbols.
  echo "check_symbols.sh: nothing that must be present in $binary" >&2
  exit 2
}

# What a program refers to counts like what it defines.
# shellcheck disable=SC2086 # options, or nothing
nm --demangle $table "$binary" | sed -E 's/^[0-9a-f]* +. //' >"$work/symbols"

status=0
while IFS= read -r regex; do
  grep -qE -e "$regex" "$work/symbols" || {
    echo "$binary: no symbol matches: $regex" >&2
    status=1
  }
done <"$work/present"
while IFS= read -r regex; do
  if grep -E -e "$regex" "$work/symbols" >"$work/found"; then
    echo "$binary: must have no symbol that matches: $regex" >&2
    head -n 5 "$work/found" >&2
    status=1
  fi
done <"$work/absent"
if [ -s "$work/only" ] && grep -vE -f "$work/only" "$work/symbols" >"$work/found"; then
  echo "$binary: has symbols beside those that it may have:" >&2
  head -n 20 "$work/found" >&2
  status=1
fi
exit $status

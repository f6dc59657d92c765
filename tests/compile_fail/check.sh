#!/bin/sh
# usage: check.sh SOURCE COMPILER [FLAGS...]
# SOURCE must compile; with -DALLOCTAP_COMPILE_FAIL it must not, and the compiler's output must hold
# the text of each "// EXPECT: text" comment in SOURCE.
set -eu

source=$1
shift

"$@" "$source" || {
  echo "$source: does not compile even without ALLOCTAP_COMPILE_FAIL" >&2
  exit 1
}
if output=$("$@" -DALLOCTAP_COMPILE_FAIL "$source" 2>&1); then
  echo "$source: compiles with ALLOCTAP_COMPILE_FAIL" >&2
  exit 1
fi

expectations=$(sed -n 's|^[[:space:]]*// EXPECT: ||p' "$source")
[ -n "$expectations" ] || {
  echo "$source: has no '// EXPECT: text'" >&2
  exit 1
}
printf '%s\n' "$expectations" | while IFS= read -r text; do
  printf '%s\n' "$output" | grep -qF -e "$text" || {
    printf '%s\n' "$output" >&2
    echo "$source: fails to compile, but the compiler does not say: $text" >&2
    exit 1
  }
done

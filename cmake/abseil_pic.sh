#!/bin/sh
# usage: sh cmake/abseil_pic.sh [PREFIX [TOOLCHAIN_FILE]]        (default: build/abseil-pic)
# Builds Debian's own Abseil source as static, position-independent, hidden libraries. The preload
# object needs it: Debian's libabsl_*.a are not position-independent, and its shared libraries would
# be loaded into programs that bring an Abseil of their own.
# Does nothing, and needs no network, when PREFIX is already built. TOOLCHAIN_FILE is CMake's, of
# another processor.
set -eu

script=abseil_pic.sh
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
prefix=${1:-$root/build/abseil-pic}
toolchain=${2:+$(realpath "$2")}
# Initial-exec: the general TLS model calls __tls_get_addr, which may call malloc.
flags='-fvisibility=hidden -fvisibility-inlines-hidden -ftls-model=initial-exec -ffunction-sections'
# Three quarters of Abseil are not linked. On Windows all that is built here uses this Abseil.
targets='strings symbolize'
headers=absl
case ${2:-} in
  */windows.cmake) targets= ;;
esac
recipe="inline namespace alloctap_pic, no iostream, Release, C++20, $flags${targets:+, $targets}${2:+, $(basename "$2")}"
. "$root/cmake/pic_library.sh"

unpack_source abseil
# A namespace of its own: these libraries can never be mistaken for the program's Abseil.
options=$work/source/absl/base/options.h
sed -i 's/^\(#define ABSL_OPTION_INLINE_NAMESPACE_NAME\) .*/\1 alloctap_pic/' "$options"
grep -q '_NAMESPACE_NAME alloctap_pic' "$options" || {
  echo "$script: absl/base/options.h has no inline namespace to rename" >&2
  exit 1
}
# Each file with <iostream> registers something to be done at exit. The C library has room for 32 of
# that; for more it takes memory, and frees it while the program exits. A handler that ends a program
# which it interrupted in malloc would wait for ever, where the program alone does not.
grep -rlZ '#include <iostream>' "$work/source/absl/debugging" "$work/source/absl/status" \
  "$work/source/absl/strings" | xargs -0 sed -i 's/#include <iostream>/#include <ostream>/'
build_library "half a minute" -DCMAKE_CXX_STANDARD=20 -DCMAKE_CXX_FLAGS="$flags" \
  ${toolchain:+-DCMAKE_TOOLCHAIN_FILE="$toolchain"}

#!/bin/sh
# usage: sh cmake/zydis_pic.sh [PREFIX [TOOLCHAIN_FILE]]        (default: build/zydis-pic)
# Builds the decoder of Debian's own Zydis as a static, position-independent, hidden library, for
# the preload object on x86-64: Debian has a shared library only, which would be loaded into programs.
# Does nothing, and needs no network, when PREFIX is already built, and on other processors.
# TOOLCHAIN_FILE is CMake's, of another system; it finds Zycore there.
set -eu
[ $# = 2 ] || [ "$(uname -m)" = x86_64 ] || exit 0

script=zydis_pic.sh
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
prefix=${1:-$root/build/zydis-pic}
toolchain=${2:+$(realpath "$2")}
flags='-fvisibility=hidden -ffunction-sections -fdata-sections'
recipe="decoder, Release, $flags${2:+, $(basename "$2")}"
. "$root/cmake/pic_library.sh"

sh "$root/cmake/install_packages.sh" libzycore-dev
unpack_source zydis
build_library "some seconds" -DCMAKE_C_FLAGS="$flags" -DZYAN_SYSTEM_ZYCORE=ON \
  -DZYDIS_FEATURE_ENCODER=OFF -DZYDIS_FEATURE_FORMATTER=OFF -DZYDIS_BUILD_DOXYGEN=OFF \
  -DZYDIS_BUILD_EXAMPLES=OFF -DZYDIS_BUILD_TOOLS=OFF \
  ${toolchain:+-DCMAKE_TOOLCHAIN_FILE="$toolchain"}

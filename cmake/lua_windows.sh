#!/bin/sh
# usage: sh cmake/lua_windows.sh PREFIX
# Builds Debian's own source of Lua for Windows, as a static library with debug information: a
# program of others for the tests to track. Does nothing, and needs no network, when PREFIX is
# already built.
set -eu

# shellcheck disable=SC2034 # for pic_library.sh
script=lua_windows.sh
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
prefix=$1
flags='-O2 -gdwarf-4'
recipe="lua5.4, $flags"
. "$root/cmake/pic_library.sh"

unpack_source lua5.4
echo "$script: building it (some seconds)"
mkdir "$work/objects"
cd "$work/objects"
rm "$work/source/src/lua.c" "$work/source/src/luac.c"
# shellcheck disable=SC2086 # options
run "compiling" x86_64-w64-mingw32-gcc-posix -c $flags "-ffile-prefix-map=$work/source=lua" \
  "$work/source"/src/*.c
run "archiving" x86_64-w64-mingw32-ar rcs liballoctap_lua.a ./*.o
mkdir -p "$staged/lib" "$staged/include"
cp liballoctap_lua.a "$staged/lib"
cp "$work/source"/src/*.h "$staged/include"
put_in_place

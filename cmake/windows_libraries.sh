#!/bin/sh
# usage: sh cmake/windows_libraries.sh
# Makes what cmake/toolchains/windows.cmake builds against, below $XDG_CACHE_HOME/alloctap/windows:
# Abseil and Zydis built from Debian's sources, and those of this machine's libraries that are headers alone,
# without the rest of /usr/include. Builds nothing where all is there.
set -eu

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
toolchain=$root/cmake/toolchains/windows.cmake
cache=${XDG_CACHE_HOME:-$HOME/.cache}/alloctap/windows
headers=$cache/headers

sh "$root/cmake/abseil_pic.sh" "$cache/abseil" "$toolchain"
sh "$root/cmake/lua_windows.sh" "$cache/lua"

sh "$root/cmake/install_packages.sh" libzycore-dev
mkdir -p "$headers/include"
for library in CLI Zycore boost doctest nlohmann protozero rapidjson; do
  if ! [ -d "/usr/include/$library" ]; then
    echo "windows_libraries.sh: no /usr/include/$library; is its Debian package installed?" >&2
    exit 1
  fi
  ln -sfn "/usr/include/$library" "$headers/include/$library"
done

# package NAME TARGET: what find_package takes for a library of headers.
package() {
  mkdir -p "$headers/lib/cmake/$1"
  cat >"$headers/lib/cmake/$1/$1Config.cmake" <<END
if(NOT TARGET $2)
  add_library($2 INTERFACE IMPORTED)
  set_target_properties($2 PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "$headers/include")
endif()
END
}
package CLI11 CLI11::CLI11
package doctest doctest::doctest
package nlohmann_json nlohmann_json::nlohmann_json
package Zycore Zycore
# Zydis's build calls functions that Zycore's package brings along.
functions=$(dpkg -L libzycore-dev | grep '/zyan-functions\.cmake$')
echo "include(\"$functions\")" >>"$headers/lib/cmake/Zycore/ZycoreConfig.cmake"

sh "$root/cmake/zydis_pic.sh" "$cache/zydis" "$toolchain"

#!/bin/sh
# usage: sh cmake/abseil_pic.sh [PREFIX]        (default: build/abseil-pic)
# Builds Debian's own Abseil source as static, position-independent, hidden libraries. The preload
# object needs it: Debian's libabsl_*.a are not position-independent, and its shared libraries would
# be loaded into programs that bring an Abseil of their own.
# Does nothing, and needs no network, when PREFIX is already built.
set -eu

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
prefix=${1:-$root/build/abseil-pic}
case $prefix in
  /*) ;;
  *) prefix=$PWD/$prefix ;;
esac
stamp=$prefix/alloctap-recipe
# Initial-exec: the general TLS model calls __tls_get_addr, which may call malloc.
flags='-fvisibility=hidden -fvisibility-inlines-hidden -ftls-model=initial-exec -ffunction-sections'
recipe="inline namespace alloctap_pic, Release, C++20, $flags"

if [ "$(cat "$stamp" 2>/dev/null)" = "$recipe" ]; then
  exit 0
fi
sh "$root/cmake/install_packages.sh" cmake dpkg-dev g++ ninja-build

work=$(mktemp -d)
staged=$prefix.new.$$
trap 'rm -rf "$work" "$staged"' EXIT
trap 'exit 1' HUP INT TERM

# run WHAT COMMAND...: quiet, but shows the end of the output if COMMAND fails.
run() {
  what=$1
  shift
  "$@" >"$work/log" 2>&1 || {
    tail -n 30 "$work/log" >&2
    echo "abseil_pic.sh: $what failed" >&2
    exit 1
  }
}

# The machine's own sources, as source-package sources, in a directory of ours.
mkdir -p "$work/parts" "$work/lists/partial" "$work/cache/archives/partial" "$work/source"
eval "$(apt-config shell list Dir::Etc::sourcelist/f parts Dir::Etc::sourceparts/d)"
# shellcheck disable=SC2154 # that assigned list and parts
for file in "$list" "$parts"/*.list "$parts"/*.sources; do
  if ! [ -r "$file" ] || ! [ -f "$file" ]; then
    continue
  fi
  case $file in
    *.sources) sed 's/^[Tt]ypes:.*/Types: deb-src/' "$file" ;;
    *) sed -n 's/^[[:space:]]*deb\(-src\)\{0,1\}[[:space:]]/deb-src /p' "$file" | sort -u ;;
  esac >"$work/parts/$(basename "$file")"
done
cat >"$work/apt.conf" <<END
Dir::Etc::sourcelist "/dev/null";
Dir::Etc::sourceparts "$work/parts";
Dir::State::Lists "$work/lists";
Dir::Cache "$work/cache";
APT::Sandbox::User "root";
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
END

echo "abseil_pic.sh: fetching Abseil's source"
# A third-party source without source packages makes the update fail; what counts is the download.
apt-get -c "$work/apt.conf" -q update >"$work/update.log" 2>&1 || true
cd "$work/source"
apt-get -c "$work/apt.conf" -q source --download-only abseil >"$work/log" 2>&1 || {
  tail -n 20 "$work/update.log" "$work/log" >&2
  echo "abseil_pic.sh: no source package abseil; is a Debian mirror reachable?" >&2
  exit 1
}
run "unpacking" dpkg-source -x ./*.dsc "$work/abseil"

# A namespace of its own: these libraries can never be mistaken for the program's Abseil.
options=$work/abseil/absl/base/options.h
sed -i 's/^\(#define ABSL_OPTION_INLINE_NAMESPACE_NAME\) .*/\1 alloctap_pic/' "$options"
grep -q '_NAMESPACE_NAME alloctap_pic' "$options" || {
  echo "abseil_pic.sh: absl/base/options.h has no inline namespace to rename" >&2
  exit 1
}

echo "abseil_pic.sh: building it (about a minute)"
run "configuring" cmake -G Ninja -S "$work/abseil" -B "$work/build" \
  -DBUILD_SHARED_LIBS=OFF -DCMAKE_POSITION_INDEPENDENT_CODE=ON \
  -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_STANDARD=20 -DCMAKE_INSTALL_LIBDIR=lib \
  -DCMAKE_CXX_FLAGS="$flags"
run "building" cmake --build "$work/build" --parallel "$(nproc)"
run "installing" cmake --install "$work/build" --prefix "$staged"
echo "$recipe" >"$staged/alloctap-recipe"
rm -rf "$prefix"
mv "$staged" "$prefix"
echo "abseil_pic.sh: ready in $prefix"

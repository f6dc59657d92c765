#!/bin/sh
# usage: sh cmake/test.sh [--variant release|clang|asan|tsan|aarch64|windows]
# Installs what is missing, builds, and runs all tests that fit the variant (default: release).
set -eu

packages='catch2 ccache chromium cmake doctest-dev dpkg-dev g++ golang-go heaptrack jq libabsl-dev
  libbenchmark-dev libboost-dev libcap2-bin libcli11-dev libcpp-httplib-dev libdevel-nytprof-perl
  libdw-dev libgtest-dev libjemalloc2 libprotozero-dev libtcmalloc-minimal4 libxml2-utils
  libzydis-dev musl-dev
  ninja-build nlohmann-json3-dev nodejs perl pkgconf python3 python3-jsonschema rapidjson-dev
  sqlite3 valgrind xz-utils zlib1g-dev'

variant=release
case "$#:${1-}" in
  0:) ;;
  2:--variant) variant=$2 ;;
  *)
    sed -n 's/^# //p' "$0" | head -n 1 >&2
    exit 2
    ;;
esac
setarch=
case $variant in
  release)
    packages="$packages bash-completion debootstrap lintian man-db zsh"
    proof="every test passes, built by g++ with optimization"
    ;;
  clang)
    packages="$packages clang-19 libclang-rt-19-dev"
    proof="clang 19 warns of nothing in headers, examples and benchmarks; the tests that depend on a compiler pass, but for those that asan has"
    ;;
  asan)
    packages="$packages clang-19 libclang-rt-19-dev"
    proof="clang 19 finds no memory error, leak or undefined behaviour in the unit, contract and odr tests"
    ;;
  tsan)
    proof="no data race in the unit and contract tests that start threads"
    # g++ 12's ThreadSanitizer cannot place its shadow where address randomization is strong.
    if setarch "$(uname -m)" -R true 2>/dev/null; then
      setarch="setarch $(uname -m) -R"
    fi
    ;;
  aarch64)
    packages="$packages g++-aarch64-linux-gnu libabsl-dev:arm64 libasan8:arm64
      libcapstone-dev:arm64 libdw-dev:arm64 libjemalloc2:arm64 liblsan0:arm64 libssl3:arm64
      libtcmalloc-minimal4:arm64 musl-dev:arm64 qemu-user-static zlib1g-dev:arm64"
    proof="what is written for a processor works on AArch64, as far as qemu-user runs it"
    ;;
  windows)
    packages='ccache clang-19 cmake doctest-dev dpkg-dev g++ g++-mingw-w64-x86-64-posix libboost-dev libcli11-dev libprotozero-dev
      libz-mingw-w64-dev ninja-build nlohmann-json3-dev python3 rapidjson-dev wine64'
    proof="what depends on the system works on Windows, as Wine has it"
    ;;
  *)
    echo "test.sh: unknown variant $variant; it is one of release, clang, asan, tsan, aarch64, windows" >&2
    exit 2
    ;;
esac

# The builds of Node that bring npm along refuse Debian's.
[ "$variant" = windows ] || command -v npm >/dev/null 2>&1 || packages="$packages npm"

# Where Windows' libraries and Wine's home are kept. Some who run this have no HOME.
export XDG_CACHE_HOME="${XDG_CACHE_HOME:-${HOME:-$(getent passwd "$(id -u)" | cut -d: -f6)}/.cache}"

start=$(date +%s)
result=FAILED
summarize() {
  echo "test.sh: $variant: $result ($(($(date +%s) - start)) s)"
}
phase_start=$start
# end_phase NAME: what has been done since the last one ended was NAME. Noted for ci_time.py.
end_phase() {
  now=$(date +%s)
  python3 cmake/ci_time.py record "$build" "$1" $((now - phase_start))
  echo "test.sh: $variant: $1 took $((now - phase_start)) s"
  phase_start=$now
}
trap summarize EXIT
trap 'exit 1' HUP INT TERM

CDPATH='' cd -- "$(dirname -- "$0")/.."
build=$PWD/build/$variant
# shellcheck disable=SC2086 # a list
sh cmake/install_packages.sh $packages
end_phase install
case $variant in
  aarch64) sh cmake/abseil_pic.sh build/abseil-pic-aarch64 cmake/toolchains/aarch64.cmake ;;
  windows)
    sh cmake/windows_libraries.sh
    # Its complaint is that 32-bit programs cannot run. Two programs that find no home of Wine's would
    # both make it.
    sh cmake/run_by_wine.sh wineboot --init 2>/dev/null
    ;;
  *)
    sh cmake/abseil_pic.sh
    sh cmake/zydis_pic.sh
    ;;
esac
end_phase libraries
# What demo.sh switched off in the same build directory. Benchmarks are built by one compiler alone.
everything=
case $variant in
  release)
    everything='-DALLOCTAP_BUILD_EXAMPLES=ON -DALLOCTAP_BUILD_TESTS=ON -DALLOCTAP_BUILD_BENCHMARKS=OFF'
    ;;
  clang) everything='-DALLOCTAP_BUILD_BENCHMARKS=ON' ;;
esac
# shellcheck disable=SC2086 # a list
cmake --preset "$variant" $everything
end_phase configure

# with_progress WHAT COMMAND...: shows how far COMMAND is, and all else that it prints.
with_progress() {
  python3 cmake/show_progress.py "$@"
}
if command -v ccache >/dev/null 2>&1; then
  export CCACHE_STATSLOG="$build/ccache.log"
  rm -f "$CCACHE_STATSLOG"
fi
with_progress "$variant: build" cmake --build --preset "$variant" --parallel "$(nproc)"
if [ -s "${CCACHE_STATSLOG:-}" ]; then
  echo "test.sh: $variant: of the compiler's results, as ccache counts them:"
  ccache --show-log-stats | grep -E '^ *(Cacheable calls|Hits|Misses|Uncacheable calls|Errors)'
fi
unset CCACHE_STATSLOG
end_phase build

# The longest tests first: how long each took the last time, here or where the list was made.
costs=$build/Testing/Temporary/CTestCostData.txt
if ! [ -e "$costs" ] && [ -e "tests/test_costs/$variant.txt" ]; then
  mkdir -p "$build/Testing/Temporary"
  cp "tests/test_costs/$variant.txt" "$costs"
fi
log=$build/ctest.log
# shellcheck disable=SC2086 # a command and its options, or nothing
with_progress "$variant: test" \
  $setarch ctest --preset "$variant" --parallel "$(nproc)" --output-log "$log" || {
  result="FAILED: $(grep 'tests passed' "$log" || echo 'see above')"
  exit 1
}
end_phase test
case $variant in
  release) left_out=tracker ;;
  aarch64) left_out=qemu ;;
  tsan) left_out=tsan ;;
  windows) left_out=wine ;;
  *) left_out= ;;
esac
if [ -n "$left_out" ]; then
  echo "test.sh: $variant: what is left out, and why: tests/left_out_under_$left_out.txt"
fi
result="$(grep 'tests passed' "$log"): $proof"

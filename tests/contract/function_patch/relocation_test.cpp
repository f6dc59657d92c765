// Real code: every function of four libraries is refused with a reason, or its displaced
// instructions do the same elsewhere. Nothing of it runs.
#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "tests/contract/function_patch/library_functions.hpp"
#include "tests/contract/function_patch/library_moves.hpp"

namespace {

using alloctap::arch::PatchRefusal;
using alloctap_test::count_of;
using alloctap_test::kLibraryBias;

/// 64 MiB below, where every jump and every operand is in reach.
constexpr std::uintptr_t kNear = kLibraryBias - 0x4000000;

constexpr std::array kLibraries{"libc.so.6", "libstdc++.so.6", "libcrypto.so.3",
                                "libpython3.11.so.1.0"};

}  // namespace

TEST_CASE("displaced instructions of real code do the same elsewhere") {
  std::size_t libraries = 0;
  for (const std::string name : kLibraries) {
    INFO(name);
    const auto file = alloctap_test::read_library(name.c_str());
    if (file.empty()) continue;
    ++libraries;
    const auto functions = alloctap_test::functions_of(file, kLibraryBias);
    CHECK(functions.size() > 1000);
    const auto counts = alloctap_test::move_all(functions, kNear);
    MESSAGE(name << ", " << functions.size() << " functions: " << alloctap_test::in_words(counts));
    CHECK(counts[0] * 100 > functions.size() * 95);
    CHECK(count_of(counts, PatchRefusal::kOperandOutOfReach) == 0);
    CHECK(count_of(counts, PatchRefusal::kTrampolineFull) == 0);
  }
  CHECK(libraries >= 2);
}

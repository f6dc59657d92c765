#include <doctest/doctest.h>

#include <cstdint>

#include "tests/contract/function_patch/library_functions.hpp"
#include "tests/contract/function_patch/library_moves.hpp"

using alloctap::arch::PatchRefusal;
using alloctap_test::count_of;

TEST_CASE("from far away, branches take the long form and operands are refused") {
  constexpr std::uintptr_t kFar = 0x10000;
  const auto functions = alloctap_test::functions_of(alloctap_test::read_library("libc.so.6"),
                                                     alloctap_test::kLibraryBias);
  const auto counts = alloctap_test::move_all(functions, kFar);
  MESSAGE("libc.so.6 from far away: " << alloctap_test::in_words(counts));
  CHECK(counts[0] * 100 > functions.size() * 80);
  CHECK(count_of(counts, PatchRefusal::kOperandOutOfReach) > 0);
  CHECK(count_of(counts, PatchRefusal::kTrampolineFull) == 0);
}

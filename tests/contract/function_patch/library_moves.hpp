/// What comes of moving the entries of all functions of a library. Nothing of it runs.
#pragma once

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "alloctap/arch/patch_refusal.hpp"
#include "alloctap/message_text.hpp"
/// Of the processor: `alloctap_test::move_entry`.
#include "moved_code.hpp"
#include "tests/contract/function_patch/library_functions.hpp"

namespace alloctap_test {

/// Where the libraries are taken to be.
inline constexpr std::uintptr_t kLibraryBias = 0x7F3210000000;

/// The counts by refusal; kNone is what was moved.
using MoveCounts = std::array<std::size_t, alloctap::arch::kPatchRefusals>;

inline MoveCounts move_all(const std::vector<LibraryFunction>& functions, std::uintptr_t at) {
  MoveCounts counts{};
  for (const LibraryFunction& function : functions) {
    INFO(function.name);
    const CodeMove move = move_entry(function.code, at);
    CHECK(move.is_same);
    ++counts[static_cast<std::size_t>(move.refusal)];
  }
  return counts;
}

inline std::string in_words(const MoveCounts& counts) {
  std::string text = alloctap::join_text(counts[0], " moved");
  for (std::size_t i = 1; i < counts.size(); ++i) {
    if (counts[i] == 0) continue;
    alloctap::append_text(text, "\n  ", counts[i], ": ",
                          describe(static_cast<alloctap::arch::PatchRefusal>(i)));
  }
  return text;
}

inline std::size_t count_of(const MoveCounts& counts, alloctap::arch::PatchRefusal refusal) {
  return counts[static_cast<std::size_t>(refusal)];
}

}  // namespace alloctap_test

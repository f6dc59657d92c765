/// Counts with singular or plural nouns, for messages of tests.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "alloctap/dump/human_units.hpp"

namespace alloctap::testing {

/// Returns "1 block" or "12345 blocks". Appends "s", so `noun` must be regular. Control plane.
[[nodiscard]] inline std::string count_text(std::uint64_t count, std::string_view noun) {
  return std::to_string(count).append(" ").append(noun).append(plural(count));
}

}  // namespace alloctap::testing

/// A check that is on, as `parse_check_options` reads it.
#pragma once

#include <cstdint>
#include <string_view>

#include "alloctap/dump/human_units.hpp"

namespace alloctap {

/// "rear_guard=32", or "verify_kinds" where `value` is 0; with `end` behind it.
[[nodiscard]] inline ShortText check_text(std::string_view name, std::uint64_t value,
                                          std::string_view end = {}) noexcept {
  ShortText text;
  text.append(name);
  if (value > 0) {
    text.append('=');
    text.append(value);
  }
  text.append(end);
  return text;
}

}  // namespace alloctap

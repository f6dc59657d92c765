/// An enabled misuse check as text, in the syntax that `parse_check_options` reads.
#pragma once

#include <cstdint>
#include <string_view>

#include "alloctap/dump/human_units.hpp"

namespace alloctap {

/// Returns "name=value", or "name" if `value` is 0, followed by `end`. Example: "rear_guard=32".
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

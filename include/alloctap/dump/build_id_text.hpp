/// A module's build-id as hexadecimal text.
#pragma once

#include <cstddef>
#include <string_view>

#include "alloctap/symbol/module_table.hpp"

namespace alloctap {

/// A build-id as hexadecimal digits, as `readelf -n` shows it. Empty if the module has no id.
class BuildIdText {
 public:
  explicit BuildIdText(const Module& module) noexcept : size_(2 * module.build_id_bytes) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    for (std::size_t i = 0; i < module.build_id_bytes; ++i) {
      const auto byte = std::to_integer<unsigned>(module.build_id[i]);
      digits_[2 * i] = kDigits[byte >> 4];
      digits_[2 * i + 1] = kDigits[byte & 15];
    }
  }

  [[nodiscard]] std::string_view view() const noexcept { return {digits_, size_}; }

 private:
  char digits_[2 * sizeof Module::build_id];
  std::size_t size_;
};

}  // namespace alloctap

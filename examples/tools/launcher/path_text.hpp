/// Paths as the launcher handles them, UTF-8 where the system has other units, and as the standard
/// library does.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace alloctap::run {

[[nodiscard]] inline std::string text_of(const std::filesystem::path& path) {
  const std::u8string text = path.u8string();
  return {reinterpret_cast<const char*>(text.data()), text.size()};
}

[[nodiscard]] inline std::filesystem::path path_of(std::string_view text) {
  return std::u8string_view(reinterpret_cast<const char8_t*>(text.data()), text.size());
}

}  // namespace alloctap::run

/// Numbers of bytes on command lines.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <system_error>

namespace alloctap::run {

/// "512", "512K", "512M" and "512G"; nothing where `text` is anything else or needs more than 64
/// bits.
[[nodiscard]] inline std::optional<std::uint64_t> parse_bytes(std::string_view text) {
  constexpr std::string_view kUnits = "KMG";
  const std::size_t unit = text.empty() ? kUnits.npos : kUnits.find(text.back());
  const bool has_unit = unit != kUnits.npos;
  if (has_unit) text.remove_suffix(1);
  std::uint64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  const std::size_t shift = has_unit ? 10 * (unit + 1) : 0;
  if (error != std::errc{} || stop != end || number > (UINT64_MAX >> shift)) return std::nullopt;
  return number << shift;
}

}  // namespace alloctap::run

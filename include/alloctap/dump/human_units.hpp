/// Numbers with separators, units and percentages, and checks with values, as short text.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "alloctap/macros.hpp"

namespace alloctap {

/// String in a buffer of 40 characters. Longer text is cut.
class ShortText {
 public:
  [[nodiscard]] std::string_view view() const noexcept { return {text_.data(), size_}; }
  operator std::string_view() const noexcept { return view(); }

  void append(char character) noexcept {
    if (size_ < text_.size()) text_[size_++] = character;
  }
  ALLOCTAP_NOINLINE void append(std::string_view text) noexcept {
    const std::size_t kept = std::min(text.size(), text_.size() - size_);
    std::copy_n(text.data(), kept, text_.data() + size_);
    size_ += kept;
  }
  ALLOCTAP_NOINLINE void append(std::uint64_t number) noexcept {
    std::array<char, 24> digits;
    const char* end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
    append({digits.data(), static_cast<std::size_t>(end - digits.data())});
  }

 private:
  std::array<char, 40> text_{};
  std::size_t size_ = 0;
};

/// Returns the plural ending of a regular noun: "" for 1, else "s".
[[nodiscard]] constexpr std::string_view plural(std::uint64_t count) noexcept {
  return count == 1 ? "" : "s";
}

/// Returns 1234567 as "1,234,567".
[[nodiscard]] ALLOCTAP_NOINLINE inline ShortText with_commas(std::uint64_t number) noexcept {
  ShortText digits;
  digits.append(number);
  ShortText text;
  const std::string_view all = digits.view();
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i > 0 && (all.size() - i) % 3 == 0) text.append(',');
    text.append(all[i]);
  }
  return text;
}

/// Returns "1 block" or "1,234 blocks", for a regular noun of at most 13 letters.
[[nodiscard]] inline ShortText counted(std::uint64_t count, std::string_view noun) noexcept {
  ShortText text = with_commas(count);
  text.append(' ');
  text.append(noun);
  text.append(plural(count));
  return text;
}

/// Returns a ratio with one decimal, rounded: "41.2".
[[nodiscard]] ALLOCTAP_NOINLINE inline ShortText one_decimal(long double ratio) noexcept {
  const auto rounded = static_cast<std::uint64_t>(ratio * 10 + 0.5L);
  ShortText text;
  text.append(rounded / 10);
  text.append('.');
  text.append(rounded % 10);
  return text;
}

/// Returns bytes in binary units: "512 B", "1.5 KiB", "23.0 MiB".
[[nodiscard]] ALLOCTAP_NOINLINE inline ShortText human_bytes(std::uint64_t bytes) noexcept {
  constexpr std::array<std::string_view, 7> kUnits{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  std::size_t unit = 0;
  long double scaled = static_cast<long double>(bytes);
  // A value that would be rounded to 1024.0 is shown in the next unit.
  while (scaled >= 1023.95L) {
    scaled /= 1024;
    ++unit;
  }
  ShortText text;
  if (unit == 0) {
    text.append(bytes);
  } else {
    text.append(one_decimal(scaled).view());
  }
  text.append(' ');
  text.append(kUnits[unit]);
  return text;
}

/// Returns nanoseconds as "0 ms", "12 ms", "1.5 s", "3.2 h"; truncated to milliseconds below 1 s.
[[nodiscard]] ALLOCTAP_NOINLINE inline ShortText human_time(std::int64_t nanoseconds) noexcept {
  const std::int64_t milliseconds = nanoseconds < 0 ? 0 : nanoseconds / 1'000'000;
  ShortText text;
  if (milliseconds < 1000) {
    text.append(static_cast<std::uint64_t>(milliseconds));
    text.append(" ms");
    return text;
  }
  const long double seconds = static_cast<long double>(milliseconds) / 1000;
  const bool is_long = seconds >= 3600;
  text.append(one_decimal(is_long ? seconds / 3600 : seconds).view());
  text.append(is_long ? " h" : " s");
  return text;
}

/// Returns `part` of `whole` as "41.2 %"; "0.0 %" if `whole` is 0.
[[nodiscard]] ALLOCTAP_NOINLINE inline ShortText percent(std::uint64_t part,
                                                         std::uint64_t whole) noexcept {
  const long double ratio =
      whole == 0 ? 0 : static_cast<long double>(part) / static_cast<long double>(whole);
  ShortText text = one_decimal(ratio * 100);
  text.append(" %");
  return text;
}

/// Returns a check in the syntax of `parse_check_options`, followed by `end`: "name=value", such as
/// "rear_guard=32", or "name" if `value` is 0.
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

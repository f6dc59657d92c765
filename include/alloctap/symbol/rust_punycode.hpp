/// Decodes Rust identifiers with non-ASCII characters.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "alloctap/symbol/bounded_text.hpp"
#include "alloctap/symbol/rust_cursor.hpp"

namespace alloctap::rust {

/// A Punycode decoder (RFC 3492, 6.2) for at most `kMaxCharacters` characters.
class Punycode {
 public:
  static constexpr std::size_t kMaxCharacters = 128;

  /// Appends `identifier`. Returns false, without output, if its Punycode is damaged or too long.
  static bool append(const Identifier& identifier, BoundedText& out) noexcept {
    Punycode decoded;
    if (identifier.ascii.size() > kMaxCharacters) return false;
    for (const char character : identifier.ascii) {
      decoded.characters_[decoded.size_++] = static_cast<unsigned char>(character);
    }
    if (!decoded.insert_all(identifier.punycode)) return false;
    for (std::size_t i = 0; i < decoded.size_; ++i) out.append_character(decoded.characters_[i]);
    return true;
  }

 private:
  static constexpr std::uint32_t kBase = 36;
  static constexpr std::uint32_t kTMin = 1;
  static constexpr std::uint32_t kTMax = 26;

  bool insert_all(std::string_view rest) noexcept {
    std::uint32_t bias = 72;
    std::uint32_t character = 0x80;
    std::uint32_t at = 0;
    for (bool first = true; !rest.empty(); first = false) {
      const std::optional<std::uint32_t> delta = take_delta(rest, bias);
      if (!delta || size_ == kMaxCharacters) return false;
      const auto count = static_cast<std::uint32_t>(size_ + 1);
      at += *delta;
      character += at / count;
      at %= count;
      if (character > 0x10FFFF || (character >= 0xD800 && character < 0xE000)) return false;
      std::copy_backward(&characters_[at], &characters_[size_], &characters_[size_] + 1);
      characters_[at++] = character;
      ++size_;
      bias = adapt(*delta / (first ? 700 : 2), count);
    }
    return true;
  }

  /// Parses a variable-length integer. Returns nullopt if it is truncated or too large.
  static std::optional<std::uint32_t> take_delta(std::string_view& rest,
                                                 std::uint32_t bias) noexcept {
    constexpr std::uint64_t kLimit = 0x10FFFF * (kMaxCharacters + 1);
    std::uint64_t delta = 0;
    std::uint64_t weight = 1;
    for (std::uint32_t k = kBase; !rest.empty() && weight <= kLimit; k += kBase) {
      const char letter = rest.front();
      rest.remove_prefix(1);
      const auto digit =
          static_cast<std::uint32_t>(letter >= 'a' ? letter - 'a' : letter - '0' + 26);
      if (digit >= kBase) return std::nullopt;
      delta += digit * weight;
      const std::uint32_t threshold = k <= bias ? kTMin : std::min(k - bias, kTMax);
      if (delta > kLimit) return std::nullopt;
      if (digit < threshold) return static_cast<std::uint32_t>(delta);
      weight *= kBase - threshold;
    }
    return std::nullopt;
  }

  static std::uint32_t adapt(std::uint32_t delta, std::uint32_t count) noexcept {
    delta += delta / count;
    std::uint32_t k = 0;
    for (; delta > ((kBase - kTMin) * kTMax) / 2; k += kBase) delta /= kBase - kTMin;
    return k + (kBase - kTMin + 1) * delta / (delta + 38);
  }

  std::array<char32_t, kMaxCharacters + 1> characters_{};
  std::size_t size_ = 0;
};

}  // namespace alloctap::rust

/// System-wide hot key that Windows delivers to the program that registered it.
#pragma once

#include <array>
#include <cstdio>

#include "alloctap/os/windows/api.hpp"

namespace alloctap::os {

struct HotKey {
  /// Any of MOD_ALT, MOD_CONTROL, MOD_SHIFT and MOD_WIN.
  UINT modifiers = 0;
  /// Virtual key code: 'D', '0', VK_F9.
  UINT key = 0;

  /// Returns true if the key code exists and is combined with Alt, Control or Windows. Keys without
  /// such a modifier are needed to type text.
  [[nodiscard]] constexpr bool valid() const noexcept {
    constexpr UINT kNotForText = MOD_ALT | MOD_CONTROL | MOD_WIN;
    constexpr UINT kLast = 0xFE;
    return key > 0 && key <= kLast && (modifiers & kNotForText) != 0 &&
           (modifiers & ~(kNotForText | MOD_SHIFT)) == 0;
  }
};

/// A text such as "Ctrl+Alt+D". Keys other than letters, digits and F1 to F24 appear as numbers.
class HotKeyName {
 public:
  explicit HotKeyName(HotKey key) noexcept {
    std::array<char, 16> last{};
    const bool is_letter = key.key >= 'A' && key.key <= 'Z';
    const bool is_digit = key.key >= '0' && key.key <= '9';
    if (is_letter || is_digit) {
      last[0] = static_cast<char>(key.key);
    } else if (key.key >= VK_F1 && key.key <= VK_F24) {
      std::snprintf(last.data(), last.size(), "F%u", key.key - VK_F1 + 1);
    } else {
      std::snprintf(last.data(), last.size(), "key 0x%02X", key.key);
    }
    const auto name = [&](UINT modifier, const char* text) {
      return (key.modifiers & modifier) != 0 ? text : "";
    };
    std::snprintf(text_.data(), text_.size(), "%s%s%s%s%s", name(MOD_CONTROL, "Ctrl+"),
                  name(MOD_ALT, "Alt+"), name(MOD_SHIFT, "Shift+"), name(MOD_WIN, "Win+"),
                  last.data());
  }
  [[nodiscard]] const char* c_str() const noexcept { return text_.data(); }

 private:
  std::array<char, 48> text_{};
};

}  // namespace alloctap::os

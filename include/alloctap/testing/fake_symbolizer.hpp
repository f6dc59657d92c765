/// Names that a test chooses: for tests of dumps.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>

#include "alloctap/symbol/symbolizer.hpp"

namespace alloctap::testing {

/// Knows what it was told with `know`.
struct FakeSymbolizer {
  /// A function at `[start, end)`.
  struct Function {
    std::uintptr_t start = 0;
    std::uintptr_t end = 0;
    std::string_view name;
  };

  static constexpr std::string_view name = "fake";

  /// Forgets all names but these, which outlive their use. Not thread-safe.
  static void know(std::span<const Function> functions) noexcept { functions_ = functions; }

  static std::string_view name_of(std::uintptr_t address, std::span<char> buffer) noexcept {
    for (const Function& function : functions_) {
      if (address < function.start || address >= function.end) continue;
      const std::string_view shown = function.name.substr(0, buffer.size());
      std::copy(shown.begin(), shown.end(), buffer.begin());
      return {buffer.data(), shown.size()};
    }
    return {};
  }

 private:
  static inline constinit std::span<const Function> functions_;
};

static_assert(Symbolizer<FakeSymbolizer>);

}  // namespace alloctap::testing

/// A symbolizer with functions defined by a test, for tests of dumps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "alloctap/symbol/symbolizer.hpp"

namespace alloctap::testing {

/// A symbolizer that knows the functions passed to `know`.
struct FakeSymbolizer {
  /// A function at `[start, end)`.
  struct Function {
    std::uintptr_t start = 0;
    std::uintptr_t end = 0;
    std::string_view name;
    std::string_view file;
    std::uint32_t line = 0;
  };

  static constexpr std::string_view name = "fake";

  /// Replaces all functions. Their strings must stay valid until replaced. If functions overlap,
  /// the earlier in `functions` was inlined into the later. Not thread-safe.
  static void know(std::span<const Function> functions) {
    functions_.assign(functions.begin(), functions.end());
  }

  static void symbolize(std::span<const CodeAddress> places, Symbols& symbols) noexcept {
    for (std::size_t i = 0; i < places.size(); ++i) {
      for (const Function& function : functions_) {
        if (places[i].address < function.start || places[i].address >= function.end) continue;
        symbols.add(i, {.function = function.name, .file = function.file, .line = function.line});
      }
    }
  }

 private:
  static inline std::vector<Function> functions_;
};

static_assert(Symbolizer<FakeSymbolizer>);

}  // namespace alloctap::testing

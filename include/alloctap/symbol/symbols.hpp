/// The answers of a symbolizer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "alloctap/runtime/arena_array.hpp"
#include "alloctap/runtime/text_set.hpp"
#include "alloctap/symbol/source_frame.hpp"

namespace alloctap {

/// For each of some places its frames: the innermost inlined function first, the function that has
/// code of its own last. Memory from the arena; where there is none, answers are missing.
/// Move-only; not thread-safe.
class Symbols {
 public:
  /// The longest text that is kept, in bytes; longer ones are cut and end in "...".
  static constexpr std::size_t kLongestText = 1024;

  Symbols() noexcept = default;
  /// For `places` places. False where the system has no memory.
  [[nodiscard]] bool expect(std::size_t places) noexcept { return ranges_.resize(places); }

  /// Adds a frame outside of those that the place has already. The frames of one place are added
  /// one after the other. Copies the texts.
  void add(std::size_t place, const SourceFrame& frame) noexcept;

  /// The frames of a place, innermost first; none where it is unknown.
  [[nodiscard]] std::span<const SourceFrame> of(std::size_t place) const noexcept {
    if (place >= ranges_.size()) return {};
    return {frames_.data() + ranges_[place].first, ranges_[place].count};
  }

  [[nodiscard]] std::size_t size() const noexcept { return ranges_.size(); }

 private:
  struct Range {
    std::uint32_t first = 0;
    std::uint32_t count = 0;
  };

  std::string_view keep(std::string_view text) noexcept;

  ArenaArray<Range> ranges_;
  ArenaArray<SourceFrame> frames_;
  TextSet texts_;
};

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/symbol/impl/symbols.hpp"
#endif

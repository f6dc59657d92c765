/// Input and results of symbolizers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "alloctap/runtime/arena_array.hpp"
#include "alloctap/runtime/text_pool.hpp"

namespace alloctap {

struct Module;

/// An address to symbolize.
struct CodeAddress {
  /// An address in the process. For a call, the last byte of the call instruction, not the return
  /// address.
  std::uintptr_t address = 0;
  /// The module that contained the address when it was recorded; nullptr if unknown.
  const Module* module = nullptr;
};

/// A function with source file and line. The symbolizer owns the strings.
struct SourceFrame {
  /// The demangled name of the function; empty if unknown.
  std::string_view function = {};
  /// The path of the source file as the compiler recorded it; empty if unknown.
  std::string_view file = {};
  /// Line number from 1; 0 if unknown.
  std::uint32_t line = 0;
};

/// The frames of each symbolized place: innermost inlined function first, the function that is not
/// inlined last. Allocated in the arena; frames are missing if out of memory. Move-only; not
/// thread-safe.
class Symbols {
 public:
  /// Maximum bytes of a stored string. Longer strings are truncated and end in "...".
  static constexpr std::size_t kLongestText = 1024;

  Symbols() noexcept = default;
  /// Sets the number of places. Returns false if out of memory.
  [[nodiscard]] bool expect(std::size_t places) noexcept { return ranges_.resize(places); }

  /// Adds the next outer frame of `place` and copies the frame's strings. Precondition: all frames
  /// of one place are added one after another.
  void add(std::size_t place, const SourceFrame& frame) noexcept;

  /// Returns the frames of a place, innermost first. Returns an empty span if the place is unknown.
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

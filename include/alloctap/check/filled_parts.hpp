/// Records which pages of a freed block were filled.
#pragma once

#include <cstddef>
#include <cstdint>

#include "alloctap/runtime/arena.hpp"
#include "alloctap/runtime/touched_memory.hpp"

namespace alloctap {

/// Fills a freed block, except for pages of a large block that are not resident. Keeps a bitmap of
/// the filled pages, so that a later write to any page is detected. Fills nothing if it has no
/// memory for the bitmap. The bitmap is freed by `release`, not by a destructor. Not thread-safe;
/// runs inside malloc.
class FilledParts {
 public:
  /// Fills the resident pages of `[begin, begin + bytes)`.
  void fill(std::byte* begin, std::size_t bytes, std::uint8_t byte) noexcept;

  /// Calls `visit(std::byte* begin, std::size_t bytes, std::uint8_t byte)` for each resident range.
  /// `byte` is the expected value of its bytes: the fill value, or 0 in pages that became resident
  /// after `fill`. Pass the `begin` that was passed to `fill`.
  template <class Visit>
  void for_each(std::byte* begin, Visit&& visit) const {
    if (bits_ == nullptr) return visit(begin, bytes_, byte_);
    visit_touched(begin, bytes_, [&](std::byte* part, std::size_t size) {
      while (size > 0) {
        const std::size_t run = run_at(begin, part, size);
        visit(part, run, has(page_in(begin, part)) ? byte_ : std::uint8_t{0});
        part += run;
        size -= run;
      }
    });
  }

  /// Frees the bitmap; no page counts as filled any more.
  void release() noexcept {
    release_bits();
    bytes_ = 0;
  }

 private:
  using Word = std::uint64_t;
  static constexpr std::size_t kBits = 64;

  static std::size_t page_in(const std::byte* begin, const std::byte* address) noexcept;

  [[nodiscard]] std::size_t bytes_of_bits() const noexcept {
    return (pages_ + kBits - 1) / kBits * sizeof(Word);
  }

  /// Returns the length of the run of filled or of unfilled bytes at `part`, at most `most`.
  [[nodiscard]] std::size_t run_at(const std::byte* begin, const std::byte* part,
                                   std::size_t most) const noexcept;

  bool make_bits(const std::byte* begin) noexcept;

  void release_bits() noexcept {
    if (bits_ != nullptr) Arena::deallocate(bits_, bytes_of_bits());
    bits_ = nullptr;
  }

  void note(std::size_t first, std::size_t last) noexcept {
    for (std::size_t i = first; i <= last; ++i) bits_[i / kBits] |= Word{1} << (i % kBits);
  }
  [[nodiscard]] bool has(std::size_t page) const noexcept {
    return (bits_[page / kBits] >> (page % kBits) & 1) != 0;
  }

  std::size_t bytes_ = 0;
  std::size_t pages_ = 0;
  std::uint8_t byte_ = 0;
  Word* bits_ = nullptr;
};

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/check/impl/filled_parts.hpp"
#endif

/// Which parts of a freed block were filled.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "alloctap/guard/arena.hpp"
#include "alloctap/guard/touched_memory.hpp"
#include "alloctap/os/virtual_memory.hpp"

namespace alloctap {

/// Fills memory but for the untouched pages of a large block, and remembers which pages those are,
/// a bit for each: what is filled later by others must not be taken for ours. Where the system has
/// no memory for the bits, nothing is filled. Not thread-safe; runs inside malloc. The memory is
/// given back by `release`, not by a destructor.
class FilledParts {
 public:
  /// Fills what was touched of the `bytes` at `begin`, with `byte`.
  void fill(std::byte* begin, std::size_t bytes, std::uint8_t byte) noexcept {
    bytes_ = bytes;
    const bool is_large = bytes >= kLeastBytesAskedFor;
    if (is_large && !make_bits(begin)) return release();
    std::size_t filled = 0;
    visit_touched(begin, bytes, [&](std::byte* part, std::size_t size) {
      std::memset(part, byte, size);
      if (is_large) note(page_in(begin, part), page_in(begin, part + size - 1));
      filled += size;
    });
    if (filled == bytes) release_bits();
  }

  /// Calls `visit(std::byte* begin, std::size_t bytes)` for each part that was filled; `begin` is
  /// the block's, as it was for `fill`.
  template <class Visit>
  void for_each(std::byte* begin, Visit&& visit) const {
    if (bits_ == nullptr) return visit(begin, bytes_);
    const std::size_t page = os::page_size();
    std::byte* const first_page = begin - reinterpret_cast<std::uintptr_t>(begin) % page;
    for (std::size_t i = 0; i < pages_; ++i) {
      if (!has(i)) continue;
      const std::size_t first = i;
      while (i < pages_ && has(i)) ++i;
      std::byte* const from = std::max(begin, first_page + first * page);
      visit(from, static_cast<std::size_t>(std::min(begin + bytes_, first_page + i * page) - from));
    }
  }

  /// Forgets them all.
  void release() noexcept {
    release_bits();
    bytes_ = 0;
  }

 private:
  using Word = std::uint64_t;
  static constexpr std::size_t kBits = 64;

  static std::size_t page_in(const std::byte* begin, const std::byte* address) noexcept {
    const std::size_t page = os::page_size();
    return reinterpret_cast<std::uintptr_t>(address) / page -
           reinterpret_cast<std::uintptr_t>(begin) / page;
  }

  [[nodiscard]] std::size_t bytes_of_bits() const noexcept {
    return (pages_ + kBits - 1) / kBits * sizeof(Word);
  }

  bool make_bits(const std::byte* begin) noexcept {
    pages_ = page_in(begin, begin + bytes_ - 1) + 1;
    bits_ = static_cast<Word*>(Arena::allocate(bytes_of_bits()));
    if (bits_ != nullptr) std::memset(bits_, 0, bytes_of_bits());
    return bits_ != nullptr;
  }

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
  Word* bits_ = nullptr;
};

}  // namespace alloctap

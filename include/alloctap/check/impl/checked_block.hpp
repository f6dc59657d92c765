/// Definitions for check/checked_block.hpp.
#pragma once

#include <algorithm>
#include <cstring>

#include "alloctap/check/checked_block.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/os/virtual_memory.hpp"

namespace alloctap {

ALLOCTAP_INLINE void FilledParts::fill(std::byte* begin, std::size_t bytes,
                                       std::uint8_t byte) noexcept {
  bytes_ = bytes;
  byte_ = byte;
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

ALLOCTAP_INLINE std::size_t FilledParts::page_in(const std::byte* begin,
                                                 const std::byte* address) noexcept {
  const std::size_t page = os::page_size();
  return reinterpret_cast<std::uintptr_t>(address) / page -
         reinterpret_cast<std::uintptr_t>(begin) / page;
}

ALLOCTAP_INLINE std::size_t FilledParts::run_at(const std::byte* begin, const std::byte* part,
                                                std::size_t most) const noexcept {
  const std::size_t page = os::page_size();
  const std::size_t first = page_in(begin, part);
  std::size_t run = page - reinterpret_cast<std::uintptr_t>(part) % page;
  for (std::size_t i = first + 1; run < most && has(i) == has(first); ++i) run += page;
  return std::min(run, most);
}

ALLOCTAP_INLINE bool FilledParts::make_bits(const std::byte* begin) noexcept {
  pages_ = page_in(begin, begin + bytes_ - 1) + 1;
  bits_ = static_cast<Word*>(Arena::allocate(bytes_of_bits()));
  if (bits_ != nullptr) std::memset(bits_, 0, bytes_of_bits());
  return bits_ != nullptr;
}

}  // namespace alloctap

/// Definitions for runtime/shadow_memory.hpp.
#pragma once

#include "alloctap/runtime/shadow_memory.hpp"

namespace alloctap {

ALLOCTAP_INLINE void copy_touched(void* destination, const void* source,
                                  std::size_t bytes) noexcept {
  auto* const to = static_cast<std::byte*>(destination);
  auto* const from = const_cast<std::byte*>(static_cast<const std::byte*>(source));
  std::size_t done = 0;
  const auto clear_until = [&](std::size_t end) {
    visit_touched(to + done, end - done,
                  [](std::byte* part, std::size_t size) { std::memset(part, 0, size); });
  };
  visit_touched(from, bytes, [&](std::byte* part, std::size_t size) {
    const auto offset = static_cast<std::size_t>(part - from);
    if (offset > done) clear_until(offset);
    std::memcpy(to + offset, part, size);
    done = offset + size;
  });
  if (done < bytes) clear_until(bytes);
}

}  // namespace alloctap

/// Two ways to read the words of a stack: fast inside known bounds, safe anywhere.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "alloctap/macros.hpp"
#include "alloctap/os/memory_map.hpp"

namespace alloctap {

/// The word at `address`, which is readable. Stacks hold what sanitizers guard against accidents.
ALLOCTAP_NO_SANITIZE inline std::uintptr_t load_word(std::uintptr_t address) noexcept {
  std::uintptr_t word = 0;
  std::memcpy(&word, reinterpret_cast<const void*>(address), sizeof word);
  return word;
}

/// Reads words of `[low, high)`, the live part of a stack.
class LiveStack {
 public:
  LiveStack(std::uintptr_t low, std::uintptr_t high) noexcept : low_(low), high_(high) {}

  [[nodiscard]] bool read(std::uintptr_t address, std::uintptr_t& word) const noexcept {
    const bool readable =
        address >= low_ && address <= high_ - sizeof word && address % alignof(std::uintptr_t) == 0;
    if (!readable) [[unlikely]] {
      return false;
    }
    word = load_word(address);
    return true;
  }

 private:
  std::uintptr_t low_;
  std::uintptr_t high_;
};

/// Reads words anywhere, as copies that the system makes: what is not mapped is noticed and not
/// touched. A page at a time, so a walk costs few system calls. For stacks of unknown bounds.
class CopiedStack {
 public:
  [[nodiscard]] bool read(std::uintptr_t address, std::uintptr_t& word) noexcept {
    if (address % alignof(std::uintptr_t) != 0) return false;
    const std::uintptr_t page = address & ~(kPage - 1);
    if (page != page_ || bytes_ == 0) {
      page_ = page;
      bytes_ = os::copy_memory(page, copy_);
    }
    const std::size_t offset = address - page;
    if (offset + sizeof word > bytes_) return false;
    std::memcpy(&word, copy_.data() + offset, sizeof word);
    return true;
  }

  /// Forgets the copy: the next capture looks again.
  void forget() noexcept { bytes_ = 0; }

 private:
  /// Divides every page size.
  static constexpr std::uintptr_t kPage = 4096;

  std::uintptr_t page_ = 0;
  std::size_t bytes_ = 0;
  std::array<std::byte, kPage> copy_;
};

}  // namespace alloctap

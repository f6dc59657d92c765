/// Two ways to read the words of a stack: fast inside known bounds, safe anywhere.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "alloctap/macros.hpp"
#include "alloctap/os/memory_map.hpp"
#include "alloctap/stack/unwind_frame.hpp"

namespace alloctap {

/// The word at `address`, which is readable. Stacks hold what sanitizers guard against accidents.
ALLOCTAP_NO_SANITIZE inline std::uintptr_t load_word(std::uintptr_t address) noexcept {
  std::uintptr_t word = 0;
  std::memcpy(&word, reinterpret_cast<const void*>(address), sizeof word);
  return word;
}

/// Reads words of `[low, high)`, the live part of a stack, and notes down each that it read: what
/// was found with its help holds for as long as these words do.
class NotedStack {
 public:
  /// `notes` is where the words go; no more are read than have room there.
  NotedStack(std::uintptr_t low, std::uintptr_t high, std::span<StackWord> notes) noexcept
      : low_(low), high_(high), notes_(notes) {}

  [[nodiscard]] bool read(std::uintptr_t address, std::uintptr_t& word) noexcept {
    const bool readable = address >= low_ && address <= high_ - sizeof word &&
                          address % alignof(std::uintptr_t) == 0 && noted_ < notes_.size();
    if (!readable) [[unlikely]] {
      return false;
    }
    word = load_word(address);
    notes_[noted_++] = {.address = address, .value = word};
    return true;
  }

  [[nodiscard]] std::size_t noted() const noexcept { return noted_; }

 private:
  std::uintptr_t low_;
  std::uintptr_t high_;
  std::span<StackWord> notes_;
  std::size_t noted_ = 0;
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

/// Readers of stack words: `LiveStack` within known bounds, `CopiedStack` for any address.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "alloctap/arch/frame_record.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/os/memory_map.hpp"
#include "alloctap/os/thread.hpp"

namespace alloctap {

/// Loads a word. Precondition: `address` is readable. Sanitizers are disabled, because stacks
/// contain poisoned red zones.
ALLOCTAP_NO_SANITIZE inline std::uintptr_t load_word(std::uintptr_t address) noexcept {
  std::uintptr_t word = 0;
  std::memcpy(&word, reinterpret_cast<const void*>(address), sizeof word);
  return word;
}

/// A fast reader of `[low, high)`, the live part of a stack. Precondition: `low` is aligned.
class LiveStack {
 public:
  [[nodiscard]] static bool is_aligned(std::uintptr_t address) noexcept {
    return address % alignof(std::uintptr_t) == 0;
  }

  LiveStack(std::uintptr_t low, std::uintptr_t high) noexcept : low_(low), high_(high) {}

  [[nodiscard]] bool read(std::uintptr_t address, std::uintptr_t& word) const noexcept {
    if (!holds(address) || !is_aligned(address)) [[unlikely]] {
      return false;
    }
    word = load_word(address);
    return true;
  }

  /// Loads the return address at `pc_place` and the caller's frame pointer at `fp_place`. `sp` is
  /// the callee's stack pointer, `cfa` the caller's. Returns false if `cfa` is not above `sp`, or a
  /// word is unaligned or outside the live stack. If the architecture's frames end with the return
  /// address, fewer checks suffice: both words lie below `cfa` and have its alignment.
  [[nodiscard]] ALLOCTAP_ALWAYS_INLINE bool read_caller(std::uintptr_t sp, std::uintptr_t cfa,
                                                        std::uintptr_t pc_place,
                                                        std::uintptr_t fp_place, std::uintptr_t& pc,
                                                        std::uintptr_t& fp) const noexcept {
    if (cfa <= sp || cfa > high_ || fp_place < low_) [[unlikely]] {
      return false;
    }
    std::uintptr_t places = pc_place;
    if constexpr (!arch::kRecordEndsFrame) {
      places |= fp_place;
      if (!holds(pc_place) || !holds(fp_place)) return false;
    }
    if (!is_aligned(places)) [[unlikely]] {
      return false;
    }
    pc = load_word(pc_place);
    fp = load_word(fp_place);
    return true;
  }

  /// Returns whether `sp` is at or above the end of the stack, so that no frame can have it.
  [[nodiscard]] bool ends_at(std::uintptr_t sp) const noexcept { return sp >= high_; }

 private:
  [[nodiscard]] bool holds(std::uintptr_t address) const noexcept {
    return address >= low_ && address <= high_ - sizeof(std::uintptr_t);
  }

  std::uintptr_t low_;
  std::uintptr_t high_;
};

/// A reader for stacks of unknown bounds. Copies memory by system calls, which fail for unmapped
/// addresses instead of faulting. Copies a page at a time to save system calls.
class CopiedStack {
 public:
  [[nodiscard]] bool read(std::uintptr_t address, std::uintptr_t& word) noexcept {
    if (address % alignof(std::uintptr_t) != 0) return false;
    const std::uintptr_t page = address & ~(kPage - 1);
    if (page != page_ || bytes_ == 0) {
      page_ = page;
      const bool may_copy = !os::threads_are_confined.load(std::memory_order_relaxed);
      bytes_ = may_copy ? os::copy_memory(page, copy_) : 0;
    }
    const std::size_t offset = address - page;
    if (offset + sizeof word > bytes_) return false;
    std::memcpy(&word, copy_.data() + offset, sizeof word);
    return true;
  }

  /// Reads two words as `LiveStack::read_caller` does, but without bounds checks.
  [[nodiscard]] bool read_caller(std::uintptr_t, std::uintptr_t, std::uintptr_t pc_place,
                                 std::uintptr_t fp_place, std::uintptr_t& pc,
                                 std::uintptr_t& fp) noexcept {
    return read(pc_place, pc) && read(fp_place, fp);
  }
  [[nodiscard]] static bool ends_at(std::uintptr_t) noexcept { return false; }

  /// Discards the copied page. Call it before each capture, because the stack has changed.
  void forget() noexcept { bytes_ = 0; }

 private:
  /// The number of bytes per copy. Divides every system's page size, so that a copy lies in one
  /// page.
  static constexpr std::uintptr_t kPage = 4096;

  std::uintptr_t page_ = 0;
  std::size_t bytes_ = 0;
  std::array<std::byte, kPage> copy_;
};

}  // namespace alloctap

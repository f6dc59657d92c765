/// What is kept of a block that is checked.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "alloctap/check/filled_parts.hpp"
#include "alloctap/check/misuse.hpp"
#include "alloctap/event/allocation_kind.hpp"
#include "alloctap/event/block_checks.hpp"
#include "alloctap/os/heap_handle.hpp"

namespace alloctap {

/// Lives in a `BlockPool` and is named by its number there. Written by the thread that has the
/// block in its hands; others read it for reports, and may find it in the middle of a change where
/// the program races with itself.
struct CheckedBlock {
  enum class State : std::uint8_t {
    /// In nobody's hands, or on its way to the program.
    kUnused,
    kLive,
    /// Given back by the program.
    kFreed,
  };

  std::atomic<State> state{State::kUnused};
  /// Whether it was freed and its memory is still kept from the allocator.
  std::atomic<bool> kept{false};
  AllocationKind kind = AllocationKind::kMalloc;
  DeallocationKind freed_by = DeallocationKind::kFree;
  /// As a power of two; `kNoAlignment` where the call named none.
  std::uint8_t alignment_exponent = kNoAlignment;
  /// Bytes in front of the program's, with the guard at their end, and of the guard behind them.
  std::uint32_t front = 0;
  std::uint32_t front_guard = 0;
  std::uint32_t rear_guard = 0;
  /// Of the pool.
  std::uint32_t next = 0;
  /// Whether it is of a `GuardedPool`, and not the allocator's.
  bool guarded = false;
  /// Bytes of the program's.
  std::uint64_t size = 0;
  BlockCall allocated;
  BlockCall gone;
  /// What the program did to its pages, while that may keep it from being read and written.
  std::atomic<PageChange> pages{PageChange::kNone};
  /// While it is kept.
  FilledParts filled;
  [[no_unique_address]] os::HeapHandle heap{};

  static constexpr std::uint8_t kNoAlignment = 0xFF;

  /// What is no power of two is rounded up to one, as allocators do.
  void set_alignment(std::size_t alignment) noexcept {
    alignment_exponent =
        alignment == 0 ? kNoAlignment
                       : static_cast<std::uint8_t>(std::countr_zero(std::bit_ceil(alignment)));
  }
  [[nodiscard]] std::size_t alignment() const noexcept {
    return alignment_exponent == kNoAlignment ? 0 : std::size_t{1} << alignment_exponent;
  }

  [[nodiscard]] bool is_unused() const noexcept {
    return state.load(std::memory_order_acquire) == State::kUnused;
  }

  /// Where the program's bytes begin. Others look at it whenever a block comes where this one was.
  [[nodiscard]] std::byte* begin() const noexcept { return begin_.load(std::memory_order_relaxed); }
  void set_begin(std::byte* begin) noexcept { begin_.store(begin, std::memory_order_relaxed); }

  /// As the allocator knows it.
  [[nodiscard]] void* raw() const noexcept { return begin() - front; }

  [[nodiscard]] BlockHistory story() const noexcept {
    return {.known = true,
            .freed = state.load(std::memory_order_relaxed) == State::kFreed,
            .address = reinterpret_cast<std::uintptr_t>(begin()),
            .size = size,
            .alignment = alignment(),
            .kind = kind,
            .freed_by = freed_by,
            .allocated = allocated,
            .gone = gone,
            .heap = heap};
  }

 private:
  std::atomic<std::byte*> begin_{nullptr};
};

}  // namespace alloctap

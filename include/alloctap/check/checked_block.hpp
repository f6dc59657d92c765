/// The record of a checked block.
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

/// A record in a `BlockPool`. Only the thread that allocates or frees the block writes its record.
/// Other threads read the record for reports. Readers may see a partial update.
struct CheckedBlock {
  enum class State : std::uint8_t {
    /// The record describes no block, or a block that was not yet returned to the program.
    kUnused,
    kLive,
    /// Freed by the program.
    kFreed,
  };

  std::atomic<State> state{State::kUnused};
  /// Whether the block is freed and quarantined.
  std::atomic<bool> kept{false};
  AllocationKind kind = AllocationKind::kMalloc;
  DeallocationKind freed_by = DeallocationKind::kFree;
  /// log2 of the alignment; `kNoAlignment` if the call named no alignment.
  std::uint8_t alignment_exponent = kNoAlignment;
  /// Bytes between the allocator's pointer and the program's. The last `front_guard` of them are
  /// the left red zone.
  std::uint32_t front = 0;
  std::uint32_t front_guard = 0;
  std::uint32_t rear_guard = 0;
  /// The next free record in the `BlockPool`.
  std::uint32_t next = 0;
  /// Whether the block lies in a `GuardedPool` rather than in the allocator's heap.
  bool guarded = false;
  /// Requested bytes.
  std::uint64_t size = 0;
  BlockCall allocated;
  BlockCall gone;
  /// The last page change (mprotect, madvise, mmap) that may make the block inaccessible to checks.
  std::atomic<PageChange> pages{PageChange::kNone};
  /// Which pages were filled when the block was quarantined.
  FilledParts filled;
  [[no_unique_address]] os::HeapHandle heap{};

  static constexpr std::uint8_t kNoAlignment = 0xFF;

  /// Stores the alignment, rounded up to a power of two as allocators do.
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

  /// Returns the program's pointer. Atomic: other threads may read it while the record is reused.
  [[nodiscard]] std::byte* begin() const noexcept { return begin_.load(std::memory_order_relaxed); }
  void set_begin(std::byte* begin) noexcept { begin_.store(begin, std::memory_order_relaxed); }

  /// Returns the pointer that the allocator returned.
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

/// Windows heap blocks allocated before a hook was installed.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>

#include "alloctap/event/address_range.hpp"
#include "alloctap/os/windows/api.hpp"
#include "alloctap/os/windows/heap_blocks.hpp"
#include "alloctap/runtime/arena_array.hpp"
#include "alloctap/runtime/futex_lock.hpp"

namespace alloctap {

/// List of the blocks allocated before the hook was installed. Every live block is in the list or
/// recorded. The list is short if the tracker starts before the program's own code. With over
/// `kMaxCount` blocks, the list is discarded.
class PreexistingBlocks {
 public:
  static constexpr std::size_t kMaxCount = 16 * 1024;

  /// Lists the live blocks. Control plane. Requires that all allocation functions are hooked, and
  /// that handlers that destroy heaps hold `lock()`. A HEAP_NO_SERIALIZE heap must not change
  /// during the call.
  static void note() noexcept {
    const std::lock_guard hold(lock_);
    static_cast<void>(blocks_.resize(0));
    std::array<HANDLE, kMaxHeaps> heaps{};
    const DWORD count = ::GetProcessHeaps(kMaxHeaps, heaps.data());
    known_ = count > 0 && count <= kMaxHeaps && blocks_.reserve(kMaxCount);
    for (DWORD i = 0; known_ && i < count; ++i) note(heaps[i]);
  }

  /// Returns the list, or nullopt if it is incomplete. Valid until the next `note`.
  [[nodiscard]] static std::optional<std::span<const AddressRange>> get() noexcept {
    if (!known_) return std::nullopt;
    return std::span<const AddressRange>(blocks_.data(), blocks_.size());
  }

  [[nodiscard]] static FutexLock& lock() noexcept { return lock_; }

 private:
  static constexpr DWORD kMaxHeaps = 256;

  static void note(HANDLE heap) noexcept {
    known_ = ::HeapLock(heap) != 0;
    if (!known_) return;
    os::visit_heap_blocks(heap, [](const void* block, std::size_t bytes) {
      const auto start = reinterpret_cast<std::uintptr_t>(block);
      known_ = known_ && blocks_.size() < kMaxCount && blocks_.push_back({start, start + bytes});
    });
    ::HeapUnlock(heap);
  }

  static inline constinit FutexLock lock_;
  static inline constinit ArenaArray<AddressRange> blocks_;
  static inline constinit bool known_ = false;
};

}  // namespace alloctap

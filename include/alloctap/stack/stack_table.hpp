/// Every distinct stack once, under a 32-bit id.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <span>

#include "alloctap/event/allocation_event.hpp"
#include "alloctap/guard/arena.hpp"
#include "alloctap/guard/futex_lock.hpp"
#include "alloctap/macros.hpp"

namespace alloctap {

/// The stack of calls whose stack could not be kept; it has no frames.
inline constexpr StackId kUnknownStack = 1;

/// Mixes the addresses of a stack; equal stacks give equal hashes. The multiplier is the 64-bit
/// golden ratio (Knuth, TAOCP 3, 6.4).
[[nodiscard]] inline std::uint64_t hash_frames(std::span<const std::uintptr_t> frames) noexcept {
  constexpr std::uint64_t kMultiplier = 0x9E3779B97F4A7C15;
  std::uint64_t hash = frames.size();
  for (const std::uintptr_t frame : frames) {
    hash = (std::rotl(hash, 27) ^ frame) * kMultiplier;
    hash ^= hash >> 32;
  }
  return hash;
}

/// A growing set of stacks. Looking up takes no lock; adding takes one. Stacks are never removed
/// and never move: the frames of an id stay readable for as long as the process lives. Thread-safe;
/// runs inside malloc. Constant-initialized, deliberately never destroyed.
class StackTable {
 public:
  constexpr StackTable() noexcept = default;
  StackTable(const StackTable&) = delete;
  StackTable& operator=(const StackTable&) = delete;

  /// The id of the stack `frames` (leaf first); `kUnknownStack` where the system has no memory to
  /// keep a new one, all ids are used up, or it is larger than `kStorageBytes`.
  [[nodiscard]] StackId intern(std::span<const std::uintptr_t> frames) noexcept {
    if (frames.empty()) return kUnknownStack;
    const std::uint64_t hash = hash_frames(frames);
    const StackId known = find(buckets_.load(std::memory_order_acquire), hash, frames);
    return known != kNoStackId ? known : add(hash, frames);
  }

  /// The frames of `id`, leaf first; empty for `kUnknownStack` and ids that were never given out.
  [[nodiscard]] std::span<const std::uintptr_t> frames(StackId id) const noexcept {
    if (id <= kUnknownStack || id >= end_id()) return {};
    const Stack* stack = slot(id).load(std::memory_order_acquire);
    return {stack->frames(), stack->depth};
  }

  /// One above the highest id given out; ids start at `kUnknownStack`.
  [[nodiscard]] StackId end_id() const noexcept { return end_.load(std::memory_order_acquire); }

 private:
  struct Stack {
    std::uint64_t hash;
    std::uint64_t depth;
    [[nodiscard]] const std::uintptr_t* frames() const noexcept {
      return reinterpret_cast<const std::uintptr_t*>(this + 1);
    }
  };

  using Slot = std::atomic<const Stack*>;

  /// An open-addressed table of ids with the upper half of the hash beside each.
  struct Buckets {
    std::size_t mask;
    [[nodiscard]] std::atomic<std::uint64_t>* entries() noexcept {
      return reinterpret_cast<std::atomic<std::uint64_t>*>(this + 1);
    }
    static std::size_t bytes(std::size_t capacity) noexcept {
      return sizeof(Buckets) + capacity * sizeof(std::uint64_t);
    }
  };

  static constexpr std::size_t kFirstCapacity = 4096;
  static constexpr std::size_t kSlotsPerChunk = 16384;
  static constexpr std::size_t kChunks = 16384;
  static constexpr StackId kEndOfIds = static_cast<StackId>(kSlotsPerChunk * kChunks - 1);
  static constexpr std::size_t kStorageBytes = 256 * 1024;

  static constexpr std::uint64_t entry_of(std::uint64_t hash, StackId id) noexcept {
    return (hash & ~std::uint64_t{0xFFFFFFFF}) | id;
  }

  [[nodiscard]] Slot& slot(StackId id) const noexcept {
    return chunks_[id / kSlotsPerChunk].load(std::memory_order_acquire)[id % kSlotsPerChunk];
  }

  /// The id of an equal stack in `buckets`, else `kNoStackId`.
  StackId find(Buckets* buckets, std::uint64_t hash,
               std::span<const std::uintptr_t> wanted) const noexcept {
    if (buckets == nullptr) return kNoStackId;
    for (std::size_t at = hash & buckets->mask;; at = (at + 1) & buckets->mask) {
      const std::uint64_t entry = buckets->entries()[at].load(std::memory_order_acquire);
      if (entry == 0) return kNoStackId;
      const auto id = static_cast<StackId>(entry);
      if (entry == entry_of(hash, id) && equal(id, hash, wanted)) return id;
    }
  }

  [[nodiscard]] bool equal(StackId id, std::uint64_t hash,
                           std::span<const std::uintptr_t> wanted) const noexcept {
    const Stack* stack = slot(id).load(std::memory_order_acquire);
    return stack->hash == hash && stack->depth == wanted.size() &&
           std::equal(wanted.begin(), wanted.end(), stack->frames());
  }

  ALLOCTAP_NOINLINE StackId add(std::uint64_t hash,
                                std::span<const std::uintptr_t> frames) noexcept {
    const std::lock_guard hold(lock_);
    const StackId known = find(buckets_.load(std::memory_order_relaxed), hash, frames);
    if (known != kNoStackId) return known;
    const StackId id = end_.load(std::memory_order_relaxed);
    if (id == kEndOfIds || !make_room(id)) return kUnknownStack;
    const Stack* stack = store(hash, frames);
    if (stack == nullptr) return kUnknownStack;
    slot(id).store(stack, std::memory_order_release);
    end_.store(id + 1, std::memory_order_release);
    place(*buckets_.load(std::memory_order_relaxed), hash, id);
    return id;
  }

  /// Makes sure that `id` has a slot and the buckets are at most half full with it.
  bool make_room(StackId id) noexcept {
    auto& chunk = chunks_[id / kSlotsPerChunk];
    if (chunk.load(std::memory_order_relaxed) == nullptr) {
      chunk.store(static_cast<Slot*>(Arena::allocate(kSlotsPerChunk * sizeof(Slot))),
                  std::memory_order_release);
      if (chunk.load(std::memory_order_relaxed) == nullptr) return false;
    }
    const Buckets* buckets = buckets_.load(std::memory_order_relaxed);
    return (buckets != nullptr && (std::size_t{id} + 1) * 2 <= buckets->mask) || grow();
  }

  /// Publishes a table twice the size. The old one stays mapped: a reader may be inside, and all of
  /// them together are no larger than the new one.
  bool grow() noexcept {
    const Buckets* old = buckets_.load(std::memory_order_relaxed);
    const std::size_t capacity = old == nullptr ? kFirstCapacity : (old->mask + 1) * 2;
    auto* buckets = static_cast<Buckets*>(allocate_zeroed(Buckets::bytes(capacity)));
    if (buckets == nullptr) return false;
    buckets->mask = capacity - 1;
    const StackId end = end_.load(std::memory_order_relaxed);
    for (StackId id = kUnknownStack + 1; id < end; ++id) {
      place(*buckets, slot(id).load(std::memory_order_relaxed)->hash, id);
    }
    buckets_.store(buckets, std::memory_order_release);
    return true;
  }

  /// An empty table is all zeros, as fresh pages are.
  static void* allocate_zeroed(std::size_t bytes) noexcept {
    void* memory = Arena::allocate(bytes);
    if (memory != nullptr && bytes <= Arena::kLargestBlock) std::memset(memory, 0, bytes);
    return memory;
  }

  static void place(Buckets& buckets, std::uint64_t hash, StackId id) noexcept {
    std::size_t at = hash & buckets.mask;
    while (buckets.entries()[at].load(std::memory_order_relaxed) != 0) at = (at + 1) & buckets.mask;
    buckets.entries()[at].store(entry_of(hash, id), std::memory_order_release);
  }

  /// Copies a stack to the storage, which only grows.
  const Stack* store(std::uint64_t hash, std::span<const std::uintptr_t> frames) noexcept {
    const std::size_t bytes = sizeof(Stack) + frames.size_bytes();
    if (bytes > kStorageBytes) return nullptr;
    if (bytes > storage_left_) {
      storage_ = static_cast<std::byte*>(Arena::allocate(kStorageBytes));
      storage_left_ = storage_ == nullptr ? 0 : kStorageBytes;
      if (storage_ == nullptr) return nullptr;
    }
    auto* stack = ::new (storage_) Stack{.hash = hash, .depth = frames.size()};
    std::memcpy(static_cast<void*>(stack + 1), frames.data(), frames.size_bytes());
    storage_ += bytes;
    storage_left_ -= bytes;
    return stack;
  }

  FutexLock lock_;
  std::atomic<Buckets*> buckets_{nullptr};
  std::atomic<StackId> end_{kUnknownStack + 1};
  std::byte* storage_ = nullptr;
  std::size_t storage_left_ = 0;
  mutable std::array<std::atomic<Slot*>, kChunks> chunks_{};
};

}  // namespace alloctap

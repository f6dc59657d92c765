/// The stack table, which gives every distinct stack a 32-bit id.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "alloctap/event/stack_identity.hpp"
#include "alloctap/event/stack_owner.hpp"
#include "alloctap/runtime/futex_lock.hpp"
#include "alloctap/runtime/zeroed_array.hpp"
#include "alloctap/stack/stack_storage.hpp"
#include "alloctap/stack/stack_table_entry.hpp"

namespace alloctap {

/// The id of all stacks that could not be stored. This id has no frames.
inline constexpr StackId kUnknownStack = 1;
/// The id of calls whose stack the sampling policy chose not to capture. This id has no frames.
inline constexpr StackId kStackNotTaken = 2;
/// The first id of a stack with frames.
inline constexpr StackId kFirstStack = 3;

/// An append-only hash table of stacks, each with frames and an owner. Look-ups are lock-free;
/// insertions take a lock. Stacks are never removed: an id's frames stay readable until the process
/// ends. Thread-safe. Runs inside malloc. Constant-initialized, deliberately never destroyed.
class StackTable {
 public:
  constexpr StackTable() noexcept = default;
  StackTable(const StackTable&) = delete;
  StackTable& operator=(const StackTable&) = delete;

  /// Returns the id of the stack with hash `hash`, or `kNoStackId` if the table has no such stack.
  [[nodiscard]] StackId find(const StackHash& hash) const noexcept {
    return find(buckets_.load(std::memory_order_acquire), hash);
  }

  /// Returns the id of a stack, and inserts it if new. `frames` are leaf first; `hash` is the hash
  /// of `frames`, mixed with `owner`. Returns `kUnknownStack` if out of memory or ids. Returns
  /// `kUnknownStack` also if `frames` is empty, unless `owner` is set and `hash` is that of an
  /// empty stack.
  [[nodiscard]] StackId intern(const StackHash& hash, std::span<const std::uintptr_t> frames,
                               StackOwner owner = {}) noexcept {
    const bool is_told = !owner.is_empty() && hash == StackHash{}.owned_by(owner);
    if (frames.empty() && !is_told) return kUnknownStack;
    const StackId known = find(hash);
    return known != kNoStackId ? known : add(hash, frames, owner);
  }

  [[nodiscard]] StackId intern(std::span<const std::uintptr_t> frames,
                               StackOwner owner = {}) noexcept {
    return intern(hash_frames(frames).owned_by(owner), frames, owner);
  }

  /// Inserts a stack as `intern` does, but omits the frames in the tracker's code. `hash` covers
  /// all `frames`. Precondition: the table does not have `hash`.
  [[nodiscard]] StackId intern_program(const StackHash& hash,
                                       std::span<const std::uintptr_t> frames,
                                       StackOwner owner) noexcept;

  /// Returns the frames of `id`, leaf first. Empty for `kUnknownStack`, `kStackNotTaken` and unused
  /// ids.
  [[nodiscard]] StackFrames frames(StackId id) const noexcept {
    if (id < kFirstStack || id >= end_id()) return {};
    return StackFrames(slot(id).load(std::memory_order_acquire));
  }

  /// Returns the owner of `id`; empty if `id` is unknown.
  [[nodiscard]] StackOwner owner(StackId id) const noexcept {
    if (id < kFirstStack || id >= end_id()) return {};
    return slot(id).load(std::memory_order_acquire)->owner;
  }

  /// Hides `id` from look-ups, so that an equal stack gets a new id. Needed after a module is
  /// unloaded, because other code may be loaded at the addresses of the frames. The frames of `id`
  /// stay readable. Control plane only. Does nothing if out of memory.
  void retire(StackId id) noexcept;

  [[nodiscard]] bool is_retired(StackId id) const noexcept {
    return id >= kFirstStack && id < end_id() &&
           slot(id).load(std::memory_order_acquire)->hash == hash_of_retired(id);
  }

  /// Returns the highest assigned id plus 1; ids start at `kUnknownStack`.
  [[nodiscard]] StackId end_id() const noexcept {
    return kFirstStack + added_.load(std::memory_order_acquire);
  }

 private:
  using Slot = std::atomic<const StackTableEntry*>;

  /// An open-addressed hash table. An entry consists of an id and the upper half of a stack's hash.
  struct Buckets {
    std::size_t mask;
    std::atomic<std::uint64_t>* entries;
  };

  static constexpr std::size_t kFirstCapacity = 4096;
  static constexpr std::size_t kSlotsPerChunk = 16384;
  static constexpr std::size_t kChunks = 16384;
  static constexpr StackId kEndOfIds = static_cast<StackId>(kSlotsPerChunk * kChunks - 1);

  static constexpr std::uint64_t entry_of(const StackHash& hash, StackId id) noexcept {
    return (hash.first & ~std::uint64_t{0xFFFFFFFF}) | id;
  }

  [[nodiscard]] Slot& slot(StackId id) const noexcept {
    return chunks_[id / kSlotsPerChunk].load(std::memory_order_acquire)[id % kSlotsPerChunk];
  }

  StackId find(Buckets* buckets, const StackHash& hash) const noexcept {
    if (buckets == nullptr) return kNoStackId;
    for (std::size_t at = hash.first & buckets->mask;; at = (at + 1) & buckets->mask) {
      const std::uint64_t entry = buckets->entries[at].load(std::memory_order_acquire);
      if (entry == 0) return kNoStackId;
      const auto id = static_cast<StackId>(entry);
      if (entry == entry_of(hash, id) && slot(id).load(std::memory_order_acquire)->hash == hash) {
        return id;
      }
    }
  }

  StackId add(const StackHash& hash, std::span<const std::uintptr_t> frames,
              StackOwner owner) noexcept;

  /// Allocates the slot of `id`; keeps the load factor at most 3/4. Returns false if out of memory.
  bool make_room(StackId id) noexcept;

  /// Publishes a table of four times the size, because each growth costs page faults. The old table
  /// stays mapped for concurrent readers. Old tables together take up to a third of the new one.
  bool grow() noexcept;

  /// Allocates empty buckets, all zero. Returns nullptr if out of memory.
  static Buckets* make_buckets(std::size_t capacity) noexcept;

  static void place(Buckets& buckets, const StackHash& hash, StackId id) noexcept {
    std::size_t at = hash.first & buckets.mask;
    while (buckets.entries[at].load(std::memory_order_relaxed) != 0) at = (at + 1) & buckets.mask;
    buckets.entries[at].store(entry_of(hash, id), std::memory_order_release);
  }

  FutexLock lock_;
  std::atomic<Buckets*> buckets_{nullptr};
  /// The number of stacks. Initially 0, not `kUnknownStack`, so that a static table is in .bss.
  std::atomic<StackId> added_{0};
  StackStorage storage_;
  ZeroedArray<std::atomic<Slot*>, kChunks> chunks_;
};

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/stack/impl/stack_table.hpp"
#endif

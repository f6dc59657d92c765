/// Every distinct stack once, under a 32-bit id.
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

/// The stack of calls whose stack could not be kept; it has no frames.
inline constexpr StackId kUnknownStack = 1;
/// The stack of calls whose stack the sampling policy did not ask for; it has no frames.
inline constexpr StackId kStackNotTaken = 2;
/// The first id that a stack with frames can have.
inline constexpr StackId kFirstStack = 3;

/// A growing set of stacks, each of frames and an owner. Looking up takes no lock; adding takes
/// one. Stacks are never removed: the frames of an id stay readable for as long as the process
/// lives. Thread-safe; runs inside malloc. Constant-initialized, deliberately never destroyed.
class StackTable {
 public:
  constexpr StackTable() noexcept = default;
  StackTable(const StackTable&) = delete;
  StackTable& operator=(const StackTable&) = delete;

  /// The id of the stack with that hash; `kNoStackId` where it is new.
  [[nodiscard]] StackId find(const StackHash& hash) const noexcept {
    return find(buckets_.load(std::memory_order_acquire), hash);
  }

  /// The id of the stack `frames`, leaf first, of `owner`, whose hash, mixed with the owner, is
  /// `hash`. It is `kUnknownStack` where the system has no memory to keep a new one or all ids
  /// are used up; of no frames too, unless they have an owner and are known to be none.
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

  /// As `intern`, without the frames of the tracker's own code, on which the hash depends too. The
  /// stack is known not to be there.
  [[nodiscard]] StackId intern_program(const StackHash& hash,
                                       std::span<const std::uintptr_t> frames,
                                       StackOwner owner) noexcept;

  /// The frames of `id`, leaf first; empty for `kUnknownStack`, `kStackNotTaken` and ids that were
  /// never given out.
  [[nodiscard]] StackFrames frames(StackId id) const noexcept {
    if (id < kFirstStack || id >= end_id()) return {};
    return StackFrames(slot(id).load(std::memory_order_acquire));
  }

  /// On whose behalf `id` allocates; nobody where that is not told.
  [[nodiscard]] StackOwner owner(StackId id) const noexcept {
    if (id < kFirstStack || id >= end_id()) return {};
    return slot(id).load(std::memory_order_acquire)->owner;
  }

  /// From now on no look-up finds `id`, an id that was given out, and its frames make a stack of a
  /// new id: the same addresses will mean other code. Its frames stay readable. Not inside malloc;
  /// it does nothing where the system has no memory.
  void retire(StackId id) noexcept;

  /// Whether `id` was retired.
  [[nodiscard]] bool is_retired(StackId id) const noexcept {
    return id >= kFirstStack && id < end_id() &&
           slot(id).load(std::memory_order_acquire)->hash == hash_of_retired(id);
  }

  /// One above the highest id given out; ids start at `kUnknownStack`.
  [[nodiscard]] StackId end_id() const noexcept {
    return kFirstStack + added_.load(std::memory_order_acquire);
  }

 private:
  using Slot = std::atomic<const StackTableEntry*>;

  /// An open-addressed table of ids with the upper half of the hash beside each.
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

  /// Makes sure that `id` has a slot and the buckets are at most three quarters full with it.
  bool make_room(StackId id) noexcept;

  /// Publishes a table four times the size: every page of one is touched at once, and all are paid
  /// for again at the next. The old one stays mapped: a reader may be inside, and all of them
  /// together are no larger than a third of the new one.
  bool grow() noexcept;

  /// Empty ones, which are all zeros; nullptr where the system has no memory.
  static Buckets* make_buckets(std::size_t capacity) noexcept;

  static void place(Buckets& buckets, const StackHash& hash, StackId id) noexcept {
    std::size_t at = hash.first & buckets.mask;
    while (buckets.entries[at].load(std::memory_order_relaxed) != 0) at = (at + 1) & buckets.mask;
    buckets.entries[at].store(entry_of(hash, id), std::memory_order_release);
  }

  FutexLock lock_;
  std::atomic<Buckets*> buckets_{nullptr};
  /// Initially 0, so that a static table takes no room in files.
  std::atomic<StackId> added_{0};
  StackStorage storage_;
  ZeroedArray<std::atomic<Slot*>, kChunks> chunks_;
};

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/stack/impl/stack_table.hpp"
#endif

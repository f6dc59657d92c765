/// The stack table, which gives every distinct stack a 32-bit id, and its entries and storage.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>

#include "alloctap/event/stack_identity.hpp"
#include "alloctap/runtime/futex_lock.hpp"
#include "alloctap/runtime/static_objects.hpp"

namespace alloctap {

/// An entry of a stack table: a header followed by the innermost frames of a stack, leaf first. The
/// remaining frames are in `outer`, which other stacks may share. Immutable.
struct StackTableEntry {
  StackHash hash;
  const StackTableEntry* outer = nullptr;
  /// Empty if this entry is a part that several stacks share, not a whole stack.
  StackOwner owner;
  /// The number of frames, including those of `outer`.
  std::uint32_t depth = 0;

  /// Stacks are split into parts of this many frames, counted from the outermost.
  static constexpr std::uint32_t kPartFrames = 8;

  /// Returns the number of frames stored in this entry.
  [[nodiscard]] std::uint32_t own() const noexcept {
    return depth == 0 ? 0 : (depth - 1) % kPartFrames + 1;
  }

  [[nodiscard]] const std::uintptr_t* frames() const noexcept {
    return reinterpret_cast<const std::uintptr_t*>(this + 1);
  }
};

/// A range over the frames of a stored stack, leaf first. Cheap to copy; valid while the table
/// exists.
class StackFrames {
 public:
  class Iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = std::uintptr_t;
    using difference_type = std::ptrdiff_t;
    using pointer = const std::uintptr_t*;
    using reference = const std::uintptr_t&;

    constexpr Iterator() noexcept = default;
    explicit Iterator(const StackTableEntry* stack) noexcept : stack_(stack) {}

    reference operator*() const noexcept { return stack_->frames()[at_]; }
    Iterator& operator++() noexcept {
      if (++at_ == stack_->own()) {
        stack_ = stack_->outer;
        at_ = 0;
      }
      return *this;
    }
    Iterator operator++(int) noexcept {
      const Iterator before = *this;
      ++*this;
      return before;
    }
    friend bool operator==(const Iterator&, const Iterator&) noexcept = default;

   private:
    const StackTableEntry* stack_ = nullptr;
    std::uint32_t at_ = 0;
  };

  constexpr StackFrames() noexcept = default;
  explicit StackFrames(const StackTableEntry* stack) noexcept : stack_(stack) {}

  [[nodiscard]] std::size_t size() const noexcept { return stack_ == nullptr ? 0 : stack_->depth; }
  [[nodiscard]] bool empty() const noexcept { return size() == 0; }
  [[nodiscard]] Iterator begin() const noexcept { return Iterator(empty() ? nullptr : stack_); }
  [[nodiscard]] Iterator end() const noexcept { return {}; }

  /// Takes time linear in `index / kPartFrames`. Precondition: `index < size()`.
  std::uintptr_t operator[](std::size_t index) const noexcept {
    const StackTableEntry* stack = stack_;
    for (; index >= stack->own(); stack = stack->outer) index -= stack->own();
    return stack->frames()[index];
  }

 private:
  const StackTableEntry* stack_ = nullptr;
};

/// The storage of a stack table, which deduplicates outer frames. A stack is split into parts of
/// `kPartFrames` frames, counted from the outermost. Stacks whose outer frames are equal share the
/// parts that hold the equal frames. So a new stack takes memory for its innermost part, and for
/// other parts not yet stored. A part's key is the hash of its frames and all frames outside them.
///
/// Not thread-safe, but any thread may read stored entries, because they are immutable. Runs inside
/// malloc. Constant-initialized, never destroyed; never frees a stack.
class StackStorage {
 public:
  static constexpr std::size_t kPartFrames = StackTableEntry::kPartFrames;

  constexpr StackStorage() noexcept = default;
  StackStorage(const StackStorage&) = delete;
  StackStorage& operator=(const StackStorage&) = delete;

  /// Stores `frames`, leaf first, under `hash`. Returns nullptr if out of memory. Stacks that
  /// differ only in their owner share all parts but the innermost.
  [[nodiscard]] const StackTableEntry* keep(const StackHash& hash,
                                            std::span<const std::uintptr_t> frames,
                                            StackOwner owner = {}) noexcept;

  /// Stores a copy of `stack` with another hash. Returns nullptr if out of memory.
  [[nodiscard]] const StackTableEntry* keep_under(const StackHash& hash,
                                                  const StackTableEntry& stack) noexcept;

 private:
  /// A pointer to a part, tagged with 16 bits of the part's hash in the upper bits, which addresses
  /// do not use. The tag reveals most mismatches without a dereference.
  class PartPointer {
   public:
    PartPointer() noexcept = default;
    explicit PartPointer(const StackTableEntry* part) noexcept
        : bits_(reinterpret_cast<std::uintptr_t>(part) | tag_of(part->hash)) {}

    [[nodiscard]] bool empty() const noexcept { return bits_ == 0; }
    /// Returns the part, or nullptr if this pointer is empty.
    [[nodiscard]] const StackTableEntry* get() const noexcept {
      return reinterpret_cast<const StackTableEntry*>(bits_ & kAddress);
    }
    [[nodiscard]] bool is_of(const StackHash& hash) const noexcept {
      return (bits_ & ~kAddress) == tag_of(hash) && get()->hash == hash;
    }

   private:
    static constexpr std::uintptr_t kAddress = (std::uintptr_t{1} << 48) - 1;

    static std::uintptr_t tag_of(const StackHash& hash) noexcept { return hash.first & ~kAddress; }

    std::uintptr_t bits_ = 0;
  };

  static constexpr std::size_t kSmallChunk = 256 * 1024;
  static constexpr std::size_t kSmallChunks = 8;
  static constexpr std::size_t kLargeChunk = 2 * 1024 * 1024;
  static constexpr std::size_t kFirstCapacity = 512;

  /// A boundary between two parts of the last stack stored, and the part outside that boundary.
  struct Cut {
    /// The hash of all frames outside the boundary.
    StackHash hash;
    const StackTableEntry* part;
  };

  bool make_room_for_cuts(std::size_t count) noexcept;

  /// Returns how many of the outermost `cuts` parts equal those of the last stack. Consecutive
  /// stacks share most parts, so this saves look-ups and hashing, whose multiplications form a
  /// dependency chain.
  [[nodiscard]] std::size_t parts_as_before(std::span<const std::uintptr_t> frames,
                                            std::size_t cuts) const noexcept;

  /// Computes the hashes of the cuts from number `same` on. Prefetches the slots for the hashes in
  /// `parts_`, because the slots are seldom in the processor's cache.
  void hash_parts(std::span<const std::uintptr_t> frames, std::size_t same,
                  std::size_t cuts) noexcept;

  /// Stores the parts in `cuts_` for the next call. `innermost` is the innermost part.
  void remember_parts(const StackTableEntry* innermost, std::size_t cuts) noexcept;

  [[nodiscard]] const StackTableEntry* find_part(const StackHash& hash) const noexcept {
    return capacity_ == 0 ? nullptr : place_of(parts_, capacity_, hash)->get();
  }

  /// Adds a new part. Returns nullptr if out of memory.
  const StackTableEntry* add_part(const StackHash& hash, std::span<const std::uintptr_t> frames,
                                  const StackTableEntry* outer) noexcept;

  /// Returns the slot of the part with hash `hash`, or the empty slot in which to store it.
  static PartPointer* place_of(PartPointer* parts, std::size_t capacity,
                               const StackHash& hash) noexcept;

  bool grow() noexcept;

  /// Stores an entry for the innermost of `frames`, those that `outer` does not contain.
  const StackTableEntry* store(const StackHash& hash, std::span<const std::uintptr_t> frames,
                               const StackTableEntry* outer, StackOwner owner = {}) noexcept;

  /// Allocates an entry, followed by room for `own` frames.
  StackTableEntry* make_room_for(std::size_t own) noexcept;

  /// Allocates the next chunk. The first chunks are small, because most programs fill few chunks.
  bool begin_chunk() noexcept;

  PartPointer* parts_ = nullptr;
  std::size_t capacity_ = 0;
  std::size_t part_count_ = 0;
  std::byte* chunk_ = nullptr;
  std::size_t chunk_left_ = 0;
  std::size_t small_chunks_ = 0;
  Cut* cuts_ = nullptr;
  std::size_t cut_capacity_ = 0;
  /// The number of elements of `cuts_` that describe the last stack.
  std::size_t cuts_before_ = 0;
};

/// The id of all stacks that could not be stored. This id has no frames.
inline constexpr StackId kUnknownStack = 1;
/// The id of calls whose stack the sampling policy chose not to capture. This id has no frames.
inline constexpr StackId kStackNotTaken = 2;
/// The first id of a stack with frames.
inline constexpr StackId kFirstStack = 3;

/// An append-only hash table of stacks, each with a 32-bit id, frames and an owner. Look-ups are
/// lock-free; insertions take a lock. Stacks are never removed: an id's frames stay readable until
/// the process ends. Thread-safe. Runs inside malloc. Constant-initialized, never destroyed.
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

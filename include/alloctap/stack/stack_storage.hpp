/// The memory of a stack table, in which stacks share their outer frames.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "alloctap/event/stack_identity.hpp"
#include "alloctap/stack/stack_table_entry.hpp"

namespace alloctap {

/// Storage that deduplicates the outer frames of stacks. A stack is split into parts of
/// `kPartFrames` frames, counted from the outermost. Stacks whose outer frames are equal share the
/// parts that hold the equal frames. So a new stack takes memory for its new parts and up to
/// `kPartFrames` frames. A part's key is the hash of its frames and all frames outside them.
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

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/stack/impl/stack_storage.hpp"
#endif

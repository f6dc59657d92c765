/// The memory of a stack table, in which stacks share their outer frames.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "alloctap/event/stack_identity.hpp"
#include "alloctap/stack/stack_table_entry.hpp"

namespace alloctap {

/// Storage of stacks that are deduplicated by their outer frames. A stack is cut every
/// `kPartFrames` frames, counted from the outermost, and each part outside a cut is stored once. So
/// a stack costs its new parts and up to `kPartFrames` frames. Parts are found by the hash of all
/// frames up to them, like stacks.
///
/// Not thread-safe, but any thread may read the results. Runs inside malloc. Constant-initialized,
/// never destroyed; never frees a stack.
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

  /// Stores the frames of `stack` under another hash. Returns nullptr if out of memory.
  [[nodiscard]] const StackTableEntry* keep_under(const StackHash& hash,
                                                  const StackTableEntry& stack) noexcept;

 private:
  /// A part pointer with 16 hash bits in the upper bits, which addresses do not use. Most
  /// mismatches are found without a dereference.
  class PartPointer {
   public:
    PartPointer() noexcept = default;
    explicit PartPointer(const StackTableEntry* part) noexcept
        : bits_(reinterpret_cast<std::uintptr_t>(part) | tag_of(part->hash)) {}

    [[nodiscard]] bool empty() const noexcept { return bits_ == 0; }
    /// Returns nullptr if empty.
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

  /// A cut of the last stack stored, and the part just outside it.
  struct Cut {
    /// Covers all frames outside the cut.
    StackHash hash;
    const StackTableEntry* part;
  };

  bool make_room_for_cuts(std::size_t count) noexcept;

  /// Returns how many of the outermost `cuts` parts equal those of the last stack: consecutive
  /// stacks mostly share them. Saves hashing, whose multiplications form a chain, and look-ups.
  [[nodiscard]] std::size_t parts_as_before(std::span<const std::uintptr_t> frames,
                                            std::size_t cuts) const noexcept;

  /// Hashes the cuts from `same` on. Prefetches their table slots, which are seldom cached.
  void hash_parts(std::span<const std::uintptr_t> frames, std::size_t same,
                  std::size_t cuts) noexcept;

  /// Stores the parts for the next call; `innermost` is the part of the last of `cuts`.
  void remember_parts(const StackTableEntry* innermost, std::size_t cuts) noexcept;

  [[nodiscard]] const StackTableEntry* find_part(const StackHash& hash) const noexcept {
    return capacity_ == 0 ? nullptr : place_of(parts_, capacity_, hash)->get();
  }

  /// Adds a new part. Returns nullptr if out of memory.
  const StackTableEntry* add_part(const StackHash& hash, std::span<const std::uintptr_t> frames,
                                  const StackTableEntry* outer) noexcept;

  /// Returns the slot of the part with that hash, or the empty slot for it.
  static PartPointer* place_of(PartPointer* parts, std::size_t capacity,
                               const StackHash& hash) noexcept;

  bool grow() noexcept;

  /// Stores the frames of `frames` that `outer` does not have.
  const StackTableEntry* store(const StackHash& hash, std::span<const std::uintptr_t> frames,
                               const StackTableEntry* outer, StackOwner owner = {}) noexcept;

  /// Allocates an entry, followed by room for `own` frames.
  StackTableEntry* make_room_for(std::size_t own) noexcept;

  /// Starts with small chunks, because most programs fill few.
  bool begin_chunk() noexcept;

  PartPointer* parts_ = nullptr;
  std::size_t capacity_ = 0;
  std::size_t part_count_ = 0;
  std::byte* chunk_ = nullptr;
  std::size_t chunk_left_ = 0;
  std::size_t small_chunks_ = 0;
  Cut* cuts_ = nullptr;
  std::size_t cut_capacity_ = 0;
  /// How many elements of `cuts_` describe the last stack.
  std::size_t cuts_before_ = 0;
};

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/stack/impl/stack_storage.hpp"
#endif

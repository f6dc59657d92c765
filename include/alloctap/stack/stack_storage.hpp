/// Where a stack table keeps frames.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "alloctap/event/stack_identity.hpp"
#include "alloctap/stack/stack_table_entry.hpp"

namespace alloctap {

/// Keeps stacks that share their outer frames: they are cut every `kPartFrames` frames, counted
/// from the outermost, and each part outside a cut is kept once. So a stack takes what is new in
/// it, and up to `kPartFrames` frames of its own. Parts are found by the hash of all their frames,
/// as stacks are.
///
/// Not thread-safe, but what it returned may be read by anybody; runs inside malloc.
/// Constant-initialized, never destroyed.
class StackStorage {
 public:
  static constexpr std::size_t kPartFrames = StackTableEntry::kPartFrames;

  constexpr StackStorage() noexcept = default;
  StackStorage(const StackStorage&) = delete;
  StackStorage& operator=(const StackStorage&) = delete;

  /// Keeps `frames`, leaf first, under `hash`; nullptr where the system has no memory. Stacks of
  /// the same frames with other owners share all but the innermost part.
  [[nodiscard]] const StackTableEntry* keep(const StackHash& hash,
                                            std::span<const std::uintptr_t> frames,
                                            StackOwner owner = {}) noexcept;

  /// Keeps the frames of `stack` under another hash; nullptr where the system has no memory.
  [[nodiscard]] const StackTableEntry* keep_under(const StackHash& hash,
                                                  const StackTableEntry& stack) noexcept;

 private:
  /// A part, and in the 16 bits that no address of a program has, those of its hash: another part
  /// is told without looking at it.
  class PartPointer {
   public:
    PartPointer() noexcept = default;
    explicit PartPointer(const StackTableEntry* part) noexcept
        : bits_(reinterpret_cast<std::uintptr_t>(part) | tag_of(part->hash)) {}

    [[nodiscard]] bool empty() const noexcept { return bits_ == 0; }
    /// nullptr where it is empty.
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

  /// Of the stack that is being kept, or was kept last: what is outside of a cut.
  struct Cut {
    /// Of all its frames.
    StackHash hash;
    const StackTableEntry* part;
  };

  bool make_room_for_cuts(std::size_t count) noexcept;

  /// How many of the outermost `cuts` parts are those of the stack that was kept last: a program
  /// mostly goes on where it was. These need neither be hashed, which waits for a product at each
  /// frame, nor be looked for.
  [[nodiscard]] std::size_t parts_as_before(std::span<const std::uintptr_t> frames,
                                            std::size_t cuts) const noexcept;

  /// The cuts from `same` on get their hashes. What will be read to find their parts begins to
  /// come: it is seldom in the cache.
  void hash_parts(std::span<const std::uintptr_t> frames, std::size_t same,
                  std::size_t cuts) noexcept;

  /// `innermost` is the part of the last of `cuts`.
  void remember_parts(const StackTableEntry* innermost, std::size_t cuts) noexcept;

  [[nodiscard]] const StackTableEntry* find_part(const StackHash& hash) const noexcept {
    return capacity_ == 0 ? nullptr : place_of(parts_, capacity_, hash)->get();
  }

  /// Of one that is not known; nullptr where the system has no memory.
  const StackTableEntry* add_part(const StackHash& hash, std::span<const std::uintptr_t> frames,
                                  const StackTableEntry* outer) noexcept;

  /// Where the part with that hash is, or would be.
  static PartPointer* place_of(PartPointer* parts, std::size_t capacity,
                               const StackHash& hash) noexcept;

  bool grow() noexcept;

  /// Keeps what of `frames` is inside `outer`.
  const StackTableEntry* store(const StackHash& hash, std::span<const std::uintptr_t> frames,
                               const StackTableEntry* outer, StackOwner owner = {}) noexcept;

  /// A stack with room for `own` frames behind it.
  StackTableEntry* make_room_for(std::size_t own) noexcept;

  /// Small ones first: most programs fill few.
  bool begin_chunk() noexcept;

  PartPointer* parts_ = nullptr;
  std::size_t capacity_ = 0;
  std::size_t part_count_ = 0;
  std::byte* chunk_ = nullptr;
  std::size_t chunk_left_ = 0;
  std::size_t small_chunks_ = 0;
  Cut* cuts_ = nullptr;
  std::size_t cut_capacity_ = 0;
  /// How many of them are those of the stack that was kept last.
  std::size_t cuts_before_ = 0;
};

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/stack/impl/stack_storage.hpp"
#endif

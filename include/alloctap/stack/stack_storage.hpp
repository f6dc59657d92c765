/// Where a stack table keeps frames.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <span>

#include "alloctap/event/stack_identity.hpp"
#include "alloctap/guard/arena.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/stack/kept_stack.hpp"

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
  static constexpr std::size_t kPartFrames = KeptStack::kPartFrames;

  constexpr StackStorage() noexcept = default;
  StackStorage(const StackStorage&) = delete;
  StackStorage& operator=(const StackStorage&) = delete;

  /// Keeps `frames`, leaf first, under `hash`; nullptr where the system has no memory. Stacks of
  /// the same frames with other owners share all but the innermost part.
  [[nodiscard]] const KeptStack* keep(const StackHash& hash, std::span<const std::uintptr_t> frames,
                                      StackOwner owner = {}) noexcept {
    const std::size_t cuts = frames.empty() ? 0 : (frames.size() - 1) / kPartFrames;
    if (cuts > cut_capacity_ && !make_room_for_cuts(cuts)) return nullptr;
    const std::size_t same = parts_as_before(frames, cuts);
    // What is inside of these is overwritten; where the memory ends below, it stays so.
    cuts_before_ = same;
    hash_parts(frames, same, cuts);
    // From the innermost on: where a part is known, those outside it are.
    std::size_t known = cuts;
    const KeptStack* outer = nullptr;
    while (known > same && (outer = find_part(cuts_[known - 1].hash)) == nullptr) --known;
    if (known == same && same > 0) outer = cuts_[same - 1].part;
    for (; known < cuts; ++known) {
      outer = add_part(cuts_[known].hash, frames.last((known + 1) * kPartFrames), outer);
      if (outer == nullptr) return nullptr;
    }
    remember_parts(outer, cuts);
    return store(hash, frames, outer, owner);
  }

  /// Keeps the frames of `stack` under another hash; nullptr where the system has no memory.
  [[nodiscard]] const KeptStack* keep_under(const StackHash& hash,
                                            const KeptStack& stack) noexcept {
    KeptStack* copy = make_room_for(stack.own());
    if (copy == nullptr) return nullptr;
    *copy = stack;
    copy->hash = hash;
    std::memcpy(static_cast<void*>(copy + 1), stack.frames(), stack.own() * sizeof(std::uintptr_t));
    return copy;
  }

 private:
  /// A part, and in the 16 bits that no address of a program has, those of its hash: another part
  /// is told without looking at it.
  class PartPointer {
   public:
    PartPointer() noexcept = default;
    explicit PartPointer(const KeptStack* part) noexcept
        : bits_(reinterpret_cast<std::uintptr_t>(part) | tag_of(part->hash)) {}

    [[nodiscard]] bool empty() const noexcept { return bits_ == 0; }
    /// nullptr where it is empty.
    [[nodiscard]] const KeptStack* get() const noexcept {
      return reinterpret_cast<const KeptStack*>(bits_ & kAddress);
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
    const KeptStack* part;
  };

  ALLOCTAP_NOINLINE bool make_room_for_cuts(std::size_t count) noexcept {
    if (cuts_ != nullptr) Arena::deallocate(cuts_, cut_capacity_ * sizeof(Cut));
    cuts_ = static_cast<Cut*>(Arena::allocate(count * sizeof(Cut)));
    cut_capacity_ = cuts_ == nullptr ? 0 : count;
    cuts_before_ = 0;
    return cuts_ != nullptr;
  }

  /// How many of the outermost `cuts` parts are those of the stack that was kept last: a program
  /// mostly goes on where it was. These need neither be hashed, which waits for a product at each
  /// frame, nor be looked for.
  [[nodiscard]] std::size_t parts_as_before(std::span<const std::uintptr_t> frames,
                                            std::size_t cuts) const noexcept {
    constexpr std::size_t kBytes = kPartFrames * sizeof(std::uintptr_t);
    const std::uintptr_t* part = frames.data() + frames.size();
    const std::size_t most = std::min(cuts, cuts_before_);
    for (std::size_t cut = 0; cut < most; ++cut) {
      part -= kPartFrames;
      if (std::memcmp(part, cuts_[cut].part->frames(), kBytes) != 0) return cut;
    }
    return most;
  }

  /// The cuts from `same` on get their hashes. What will be read to find their parts begins to
  /// come: it is seldom in the cache.
  void hash_parts(std::span<const std::uintptr_t> frames, std::size_t same,
                  std::size_t cuts) noexcept {
    StackHash hash = same == 0 ? StackHash{} : cuts_[same - 1].hash;
    const std::uintptr_t* frame = frames.data() + frames.size() - same * kPartFrames;
    for (std::size_t cut = same; cut < cuts; ++cut) {
      for (std::size_t i = 0; i < kPartFrames; ++i) hash = hash.with(*--frame);
      cuts_[cut].hash = hash;
      if (capacity_ != 0) ALLOCTAP_PREFETCH(parts_ + (hash.first & (capacity_ - 1)));
    }
  }

  /// `innermost` is the part of the last of `cuts`.
  void remember_parts(const KeptStack* innermost, std::size_t cuts) noexcept {
    for (std::size_t cut = cuts; cut > cuts_before_; --cut, innermost = innermost->outer) {
      cuts_[cut - 1].part = innermost;
    }
    cuts_before_ = cuts;
  }

  [[nodiscard]] const KeptStack* find_part(const StackHash& hash) const noexcept {
    return capacity_ == 0 ? nullptr : place_of(parts_, capacity_, hash)->get();
  }

  /// Of one that is not known; nullptr where the system has no memory.
  const KeptStack* add_part(const StackHash& hash, std::span<const std::uintptr_t> frames,
                            const KeptStack* outer) noexcept {
    if ((part_count_ + 1) * 2 > capacity_ && !grow()) return nullptr;
    const KeptStack* part = store(hash, frames, outer);
    if (part == nullptr) return nullptr;
    *place_of(parts_, capacity_, hash) = PartPointer(part);
    ++part_count_;
    return part;
  }

  /// Where the part with that hash is, or would be.
  static PartPointer* place_of(PartPointer* parts, std::size_t capacity,
                               const StackHash& hash) noexcept {
    std::size_t at = hash.first & (capacity - 1);
    while (!parts[at].empty() && !parts[at].is_of(hash)) at = (at + 1) & (capacity - 1);
    return &parts[at];
  }

  bool grow() noexcept {
    const std::size_t capacity = capacity_ == 0 ? kFirstCapacity : capacity_ * 2;
    auto* parts = static_cast<PartPointer*>(Arena::allocate(capacity * sizeof(PartPointer)));
    if (parts == nullptr) return false;
    for (std::size_t i = 0; i < capacity; ++i) ::new (parts + i) PartPointer;
    for (std::size_t i = 0; i < capacity_; ++i) {
      if (!parts_[i].empty()) *place_of(parts, capacity, parts_[i].get()->hash) = parts_[i];
    }
    if (parts_ != nullptr) Arena::deallocate(parts_, capacity_ * sizeof(PartPointer));
    parts_ = parts;
    capacity_ = capacity;
    return true;
  }

  /// Keeps what of `frames` is inside `outer`.
  const KeptStack* store(const StackHash& hash, std::span<const std::uintptr_t> frames,
                         const KeptStack* outer, StackOwner owner = {}) noexcept {
    const std::size_t own = frames.size() - (outer == nullptr ? 0 : outer->depth);
    KeptStack* stack = make_room_for(own);
    if (stack == nullptr) return nullptr;
    *stack = {.hash = hash,
              .outer = outer,
              .owner = owner,
              .depth = static_cast<std::uint32_t>(frames.size())};
    if (own == 0) return stack;
    std::memcpy(static_cast<void*>(stack + 1), frames.data(), own * sizeof(std::uintptr_t));
    return stack;
  }

  /// A stack with room for `own` frames behind it.
  KeptStack* make_room_for(std::size_t own) noexcept {
    const std::size_t bytes = sizeof(KeptStack) + own * sizeof(std::uintptr_t);
    if (bytes > chunk_left_ && !begin_chunk()) return nullptr;
    auto* stack = ::new (chunk_) KeptStack;
    chunk_ += bytes;
    chunk_left_ -= bytes;
    return stack;
  }

  /// Small ones first: most programs fill few.
  bool begin_chunk() noexcept {
    const std::size_t bytes = small_chunks_ < kSmallChunks ? kSmallChunk : kLargeChunk;
    chunk_ = static_cast<std::byte*>(Arena::allocate(bytes));
    chunk_left_ = chunk_ == nullptr ? 0 : bytes;
    if (bytes == kSmallChunk) ++small_chunks_;
    return chunk_ != nullptr;
  }

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

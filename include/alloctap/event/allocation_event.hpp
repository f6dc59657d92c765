/// The events that a hook backend passes to its sink, their kinds, and the frames that stacks skip.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "alloctap/arch/frame_record.hpp"
#include "alloctap/event/stack_identity.hpp"
#include "alloctap/os/heap_handle.hpp"

namespace alloctap {

/// The function family that allocated a block. It determines which functions may free the block.
enum class AllocationKind : std::uint8_t {
  kMalloc,
  kAlignedAlloc,
  kNew,
  kNewArray,
  kAlignedNew,
  kAlignedNewArray,
  /// `_aligned_malloc` of Windows' C libraries. Its blocks must not be passed to `free`.
  kAlignedMalloc,
  kCustom,
};

/// The family of functions that frees a block.
enum class DeallocationKind : std::uint8_t {
  kFree,
  kRealloc,
  kDelete,
  kDeleteArray,
  kAlignedDelete,
  kAlignedDeleteArray,
  /// `_aligned_free`, and `_aligned_realloc` and its variants.
  kAlignedFree,
  kCustom,
};

/// A set of return addresses inside an allocator. If an allocator calls a hook, frames of the
/// allocator lie between the program and the hook; their number differs by function. Captured
/// stacks start at the first frame that is not in the set.
///
/// `add` runs on the control plane, before any event refers to the set. `contains` may run inside
/// malloc.
class AllocatorFrames {
 public:
  static constexpr std::size_t kMaxCount = 128;

  /// Adds a return address. Returns false if the set is full; stacks then keep that frame.
  bool add(std::uintptr_t return_address) noexcept {
    const auto place = std::lower_bound(begin(), end(), return_address);
    if (place != end() && *place == return_address) return true;
    if (size_ == kMaxCount) return false;
    std::copy_backward(place, end(), end() + 1);
    *place = return_address;
    ++size_;
    return true;
  }

  [[nodiscard]] bool contains(std::uintptr_t return_address) const noexcept {
    return std::binary_search(addresses_.data(), addresses_.data() + size_, return_address);
  }

  [[nodiscard]] std::size_t size() const noexcept { return size_; }

 private:
  std::uintptr_t* begin() noexcept { return addresses_.data(); }
  std::uintptr_t* end() noexcept { return addresses_.data() + size_; }

  std::array<std::uintptr_t, kMaxCount> addresses_{};
  std::size_t size_ = 0;
};

/// The call site of a hooked call.
struct CallOrigin {
  /// The return address of the hooked call: the program's innermost frame, unless it is in
  /// `allocator`.
  const void* caller = nullptr;
  /// The frame address (CFA or frame pointer) of the hooked function, where unwinding starts;
  /// nullptr if the backend has no frame address.
  const void* frame = nullptr;
  /// A code address in the hooked function at which `frame` is valid.
  [[no_unique_address]] arch::CodeAddress place{};
  /// The return addresses to skip at the innermost end of the stack; nullptr if the program called
  /// the hooked function itself.
  const AllocatorFrames* allocator = nullptr;
};

struct DetachedBlock;

/// A block that the allocator has just returned.
struct AllocationEvent {
  void* pointer = nullptr;
  /// The requested size in bytes.
  std::size_t size = 0;
  /// In bytes; 0 if the call states no alignment.
  std::size_t alignment = 0;
  AllocationKind kind = AllocationKind::kMalloc;
  [[no_unique_address]] os::HeapHandle heap{};
  CallOrigin origin;
  /// The old block, if this allocation ends a successful reallocation; otherwise nullptr.
  /// `finish_reallocate` has already run for the old block. Valid only during the call.
  const DetachedBlock* reallocated = nullptr;
};

/// A block that the program is about to free.
struct DeallocationEvent {
  void* pointer = nullptr;
  /// The block size in bytes that the call states (sized delete); otherwise 0.
  std::size_t stated_size = 0;
  /// The alignment in bytes that the call states (aligned delete); otherwise 0.
  std::size_t stated_alignment = 0;
  DeallocationKind kind = DeallocationKind::kFree;
  [[no_unique_address]] os::HeapHandle heap{};
  CallOrigin origin;
};

/// A new memory mapping of the program: `[address, address + length)`, in whole pages.
struct MappingEvent {
  void* address = nullptr;
  std::size_t length = 0;
  CallOrigin origin;
};

/// The record that the pointer index stores for a live block.
struct BlockRecord {
  StackId stack = kNoStackId;
  std::uint64_t size = 0;
};

/// An allocation with the id of its interned stack, ready to be stored in the container.
struct RecordedAllocation {
  void* pointer = nullptr;
  BlockRecord record;
};

/// The record removed at the start of a reallocation, to be restored if the reallocation fails.
struct DetachedBlock {
  void* pointer = nullptr;
  BlockRecord record;
  /// Whether the index had a record for `pointer`.
  bool known = false;
};

}  // namespace alloctap

/// What a hook backend tells of one call.
#pragma once

#include <cstddef>
#include <cstdint>

#include "alloctap/arch/code_address.hpp"
#include "alloctap/event/allocation_kind.hpp"
#include "alloctap/event/allocator_frames.hpp"
#include "alloctap/event/stack_identity.hpp"
#include "alloctap/os/heap_handle.hpp"

namespace alloctap {

/// Where in the program a call came from.
struct CallOrigin {
  /// The return address of the hooked call: the innermost frame of the program, but for those that
  /// `allocator` names.
  const void* caller = nullptr;
  /// The frame address of the hooked function, whose frame record leads to the caller; nullptr
  /// where the backend has none.
  const void* frame = nullptr;
  /// A place in the hooked function where `frame` is its frame address.
  [[no_unique_address]] arch::CodeAddress place{};
  /// Frames that stacks leave out where they are the innermost; nullptr where there are none,
  /// because the hook stands in front of the allocator.
  const AllocatorFrames* allocator = nullptr;
};

struct DetachedBlock;

/// A block that the host's allocator has just handed out.
struct AllocationEvent {
  void* pointer = nullptr;
  /// Bytes that the program asked for.
  std::size_t size = 0;
  /// Bytes; 0 where the call named none.
  std::size_t alignment = 0;
  AllocationKind kind = AllocationKind::kMalloc;
  [[no_unique_address]] os::HeapHandle heap{};
  CallOrigin origin;
  /// What a reallocation made it of, whose finish precedes this; nullptr where it made it of
  /// nothing. Lives as long as the call.
  const DetachedBlock* reallocated = nullptr;
};

/// A block that the program is about to give back.
struct DeallocationEvent {
  void* pointer = nullptr;
  /// Bytes, where the call stated them (sized delete); else 0.
  std::size_t stated_size = 0;
  /// Bytes, where the call stated it (aligned delete); else 0.
  std::size_t stated_alignment = 0;
  DeallocationKind kind = DeallocationKind::kFree;
  [[no_unique_address]] os::HeapHandle heap{};
  CallOrigin origin;
};

/// Address space that the program has just mapped: `[address, address + length)`, whole pages.
struct MappingEvent {
  void* address = nullptr;
  std::size_t length = 0;
  CallOrigin origin;
};

/// What is known of a live block.
struct BlockRecord {
  StackId stack = kNoStackId;
  std::uint64_t size = 0;
};

/// An allocation with its stack already interned, on its way to the container.
struct RecordedAllocation {
  void* pointer = nullptr;
  BlockRecord record;
};

/// A record taken out for the time of a reallocation, to be put back if that fails.
struct DetachedBlock {
  void* pointer = nullptr;
  BlockRecord record;
  /// Whether there was a record at all.
  bool known = false;
};

}  // namespace alloctap

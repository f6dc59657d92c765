/// Blocks that a program holds, and others that it loses, known by their sizes: small ones, because
/// the larger a block is, the more numbers look like pointers to it.
#pragma once

#include <cstddef>

/// Each way of holding one has a size of its own, from this one on in steps of 16 bytes.
inline constexpr std::size_t kFirstHeldBytes = 1001;
enum class Held : unsigned {
  kGlobal,
  kStatic,
  kInside,
  kBlock,
  kPages,
  kSlot,
  kThreadVariable,
  kHeap,
  kStack,
  kRegister,
  kEnd,
};

/// The same of those that are lost.
inline constexpr std::size_t kFirstLostBytes = 1501;
enum class Lost : unsigned { kBlock, kInFreed, kHead, kTail, kHidden, kBehindEnd, kEnd };

inline std::size_t bytes_of(Held how) { return kFirstHeldBytes + 16 * static_cast<unsigned>(how); }
inline std::size_t bytes_of(Lost how) { return kFirstLostBytes + 16 * static_cast<unsigned>(how); }

/// Makes them all, some on threads that go on for ever.
void hold_and_lose_blocks();

/// Has threads allocate, move and free blocks for a second; none is lost at any moment.
void move_blocks_about();

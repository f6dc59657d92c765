/// What a call or an instruction of the program's touches.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "alloctap/event/allocation_event.hpp"

namespace alloctap {

/// A range of bytes that is read or written.
struct MemoryAccess {
  /// The function that was called, which lives as long as the process; empty where an instruction
  /// of the program's own did it.
  std::string_view function;
  /// Its first byte.
  std::uintptr_t address = 0;
  /// 0 where it is not known how many.
  std::uint64_t bytes = 0;
  bool writes = false;
};

/// A sink that checks what the program reads and writes. All may run inside malloc, on any thread.
/// `room_at` says how many bytes there are from a pointer to the end of its block, and `SIZE_MAX`
/// where no block is known there.
template <class S>
concept AccessSink = requires(const MemoryAccess& access, const CallOrigin& origin,
                              const void* pointer, std::uintptr_t source) {
  { S::checks_strings() } noexcept -> std::same_as<bool>;
  { S::room_at(pointer) } noexcept -> std::same_as<std::size_t>;
  { S::check_access(access, origin) } noexcept -> std::same_as<void>;
  { S::note_overlap(access, source, origin) } noexcept -> std::same_as<void>;
};

}  // namespace alloctap

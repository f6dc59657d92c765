/// A memory access of the program, and the contract of sinks that check accesses.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "alloctap/event/allocation_event.hpp"

namespace alloctap {

/// A read or write of a byte range.
struct MemoryAccess {
  /// The name of the called function, which lives as long as the process. Empty if an instruction
  /// of the program accessed the memory.
  std::string_view function;
  /// The address of the first byte.
  std::uintptr_t address = 0;
  /// The number of bytes; 0 if unknown.
  std::uint64_t bytes = 0;
  bool writes = false;
};

/// A sink that checks the program's reads and writes. All functions may run inside malloc, on any
/// thread. `room_at` returns the number of bytes from a pointer to the end of its block, or
/// `SIZE_MAX` if the block is unknown.
template <class S>
concept AccessSink = requires(const MemoryAccess& access, const CallOrigin& origin,
                              const void* pointer, std::uintptr_t source) {
  { S::checks_strings() } noexcept -> std::same_as<bool>;
  { S::room_at(pointer) } noexcept -> std::same_as<std::size_t>;
  { S::check_access(access, origin) } noexcept -> std::same_as<void>;
  { S::note_overlap(access, source, origin) } noexcept -> std::same_as<void>;
};

}  // namespace alloctap

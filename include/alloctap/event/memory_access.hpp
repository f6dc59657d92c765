/// A memory access of the program, and the sink that checks it.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "alloctap/event/allocation_event.hpp"

namespace alloctap {

/// A read or write of a byte range.
struct MemoryAccess {
  /// The called function, a name that lives as long as the process; empty for an instruction of the
  /// program.
  std::string_view function;
  /// The first byte.
  std::uintptr_t address = 0;
  /// 0 if unknown.
  std::uint64_t bytes = 0;
  bool writes = false;
};

/// A sink that checks the program's reads and writes. All functions may run inside malloc, on any
/// thread. `room_at` returns the bytes between a pointer and the end of its block; `SIZE_MAX` if
/// the block is unknown.
template <class S>
concept AccessSink = requires(const MemoryAccess& access, const CallOrigin& origin,
                              const void* pointer, std::uintptr_t source) {
  { S::checks_strings() } noexcept -> std::same_as<bool>;
  { S::room_at(pointer) } noexcept -> std::same_as<std::size_t>;
  { S::check_access(access, origin) } noexcept -> std::same_as<void>;
  { S::note_overlap(access, source, origin) } noexcept -> std::same_as<void>;
};

}  // namespace alloctap

/// The registers of threads that were stopped, for a look at the process as it is then.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "alloctap/os/thread.hpp"

namespace alloctap::os {

/// What one thread had in its registers.
struct ThreadRegisters {
  ThreadId id = 0;
  /// False: nothing else is known. The thread could not be stopped: a debugger has it, the system
  /// forbids it, or it waits inside the system and cannot be woken.
  bool seen = false;
  std::uintptr_t stack_pointer = 0;
  /// Whether functions may keep something right below the stack pointer: not where the thread is
  /// in a call from there.
  bool has_red_zone = true;
  /// As `thread_pointer()` on that thread.
  std::uintptr_t thread_pointer = 0;
  /// As `thread_storage()` on that thread.
  std::uintptr_t thread_storage = 0;
  /// How many of `values` there are: whatever registers may hold, vector registers included.
  std::size_t count = 0;
  /// How many of `values`, the first ones, are general registers by their DWARF numbers, the
  /// program counter among them; 0 where they are in another order.
  std::size_t general_count = 0;
  std::array<std::uintptr_t, 440> values{};
};

/// How long threads are waited for that do not stop; in nanoseconds.
inline constexpr std::int64_t kFreezePatience = 2'000'000'000;

}  // namespace alloctap::os

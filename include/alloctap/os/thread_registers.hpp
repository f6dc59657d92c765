/// Registers of stopped threads, used as roots of a leak scan.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "alloctap/os/thread.hpp"

namespace alloctap::os {

/// Registers of one thread.
struct ThreadRegisters {
  ThreadId id = 0;
  /// True if the thread was stopped; if false, only `id` is valid. A debugger may hold the thread,
  /// the system may forbid stopping it, or it waits uninterruptibly in the kernel.
  bool seen = false;
  std::uintptr_t stack_pointer = 0;
  /// True if memory below the stack pointer (the ABI's red zone) may be in use. False for a thread
  /// in a call made at that stack pointer.
  bool has_red_zone = true;
  /// The thread's `thread_pointer()`.
  std::uintptr_t thread_pointer = 0;
  /// The thread's `thread_storage()`.
  std::uintptr_t thread_storage = 0;
  /// Number of used `values`: all registers that may hold pointers, including vector registers.
  std::size_t count = 0;
  /// Number of leading `values` that are general registers in DWARF order, including the program
  /// counter; 0 if they are in another order.
  std::size_t general_count = 0;
  std::array<std::uintptr_t, 440> values{};
};

/// Time in nanoseconds after which a thread that does not stop is left running.
inline constexpr std::int64_t kFreezeTimeoutNs = 2'000'000'000;

}  // namespace alloctap::os

/// Registers of stopped threads, roots of a scan of the frozen process.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "alloctap/os/thread.hpp"

namespace alloctap::os {

/// Registers of one thread.
struct ThreadRegisters {
  ThreadId id = 0;
  /// Whether the thread was stopped; if false, only `id` is valid. A debugger may hold it, the
  /// system may forbid it, or it waits uninterruptibly in the kernel.
  bool seen = false;
  std::uintptr_t stack_pointer = 0;
  /// Whether memory below the stack pointer (the ABI's red zone) may be in use. False for a thread
  /// that is in a call made at that stack pointer.
  bool has_red_zone = true;
  /// The thread's `thread_pointer()`.
  std::uintptr_t thread_pointer = 0;
  /// The thread's `thread_storage()`.
  std::uintptr_t thread_storage = 0;
  /// Number of used `values`: all registers that may hold pointers, vector registers included.
  std::size_t count = 0;
  /// Number of leading `values` that are general registers in DWARF order, with the program
  /// counter; 0 if in another order.
  std::size_t general_count = 0;
  std::array<std::uintptr_t, 440> values{};
};

/// Timeout for threads that do not stop, in nanoseconds.
inline constexpr std::int64_t kFreezeTimeoutNs = 2'000'000'000;

}  // namespace alloctap::os

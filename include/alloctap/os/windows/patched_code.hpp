/// Traps by a vectored handler, unwind information in function tables, core synchronization.
#pragma once

#include <array>
#include <atomic>
#include <cstring>

#include "alloctap/os/patched_code.hpp"
#include "alloctap/os/windows/api.hpp"
#include "alloctap/os/windows/thread.hpp"

namespace alloctap::os {

inline constinit std::atomic<ResumePlace> resume_place{nullptr};

/// Handles a trap. The system reports the address of the trapping instruction itself, even for a
/// breakpoint.
inline LONG CALLBACK handle_trap(EXCEPTION_POINTERS* exception) noexcept {
  const DWORD code = exception->ExceptionRecord->ExceptionCode;
  if (code != EXCEPTION_BREAKPOINT && code != EXCEPTION_ILLEGAL_INSTRUCTION) {
    return EXCEPTION_CONTINUE_SEARCH;
  }
  const auto place = reinterpret_cast<std::uintptr_t>(exception->ExceptionRecord->ExceptionAddress);
  const std::uintptr_t next = resume_place.load(std::memory_order_acquire)(place);
  if (next == 0) return EXCEPTION_CONTINUE_SEARCH;
  exception->ContextRecord->Rip = next;
  return EXCEPTION_CONTINUE_EXECUTION;
}

/// Installs the handler in front of existing vectored handlers, which run before frame-based ones.
/// If the program later installs a handler in front, that handler runs first and passes on the
/// exceptions that it does not handle.
inline bool catch_traps(ResumePlace resume) noexcept {
  static constinit bool installed = false;
  resume_place.store(resume, std::memory_order_release);
  constexpr ULONG kFirst = 1;
  if (!installed) installed = ::AddVectoredExceptionHandler(kFirst, &handle_trap) != nullptr;
  return installed;
}

/// The prologue in UNWIND_INFO ("x64 exception handling", Microsoft): its operations in reverse
/// order, each in one or more slots.
struct PrologueSlots {
  static constexpr std::size_t kMaxCount = 255;

  /// Version and flags, prologue size, slot count, frame register.
  std::array<std::uint8_t, 4> header{};
  std::array<std::array<std::uint8_t, 2>, kMaxCount> slots{};
};

/// Returns the number of slots used by the operation that begins with `slot`.
inline std::size_t slots_of_operation(const std::array<std::uint8_t, 2>& slot) noexcept {
  constexpr std::array<std::uint8_t, 11> kSlots{1, 2, 1, 1, 2, 3, 2, 3, 2, 3, 1};
  const unsigned operation = slot[1] & 15U;
  const bool is_far_allocation = operation == 1 && slot[1] >> 4 != 0;
  return is_far_allocation ? 3 : operation < kSlots.size() ? kSlots[operation] : 1;
}

/// Writes to `room` an UNWIND_INFO for an instruction relocated from a function with the
/// UNWIND_INFO `info`. The instruction was `executed` bytes after the function's start. The result
/// has the prologue operations before the instruction, and a prologue of length 0. Returns the
/// number of bytes written; 0 if they do not fit.
inline std::size_t write_executed_part(const std::uint8_t* info, std::uintptr_t executed,
                                       std::span<std::byte> room) noexcept {
  PrologueSlots all;
  std::memcpy(all.header.data(), info, all.header.size());
  const std::size_t count = all.header[2];
  std::memcpy(all.slots.data(), info + all.header.size(), count * 2);
  std::size_t first = 0;
  while (first < count && all.slots[first][0] > executed) {
    first += slots_of_operation(all.slots[first]);
  }
  const std::size_t left = first < count ? count - first : 0;
  const std::size_t bytes = all.header.size() + (left + left % 2) * 2;
  if (bytes > room.size()) return 0;
  constexpr std::uint8_t kVersion = 1;
  const std::array<std::uint8_t, 4> header{kVersion, 0, static_cast<std::uint8_t>(left),
                                           all.header[3]};
  std::memcpy(room.data(), header.data(), header.size());
  std::memcpy(room.data() + header.size(), all.slots.data() + first, left * 2);
  return bytes;
}

inline bool describe_moved_code(std::span<const MovedInstruction> instructions,
                                std::span<std::byte> room) noexcept {
  DWORD64 base = 0;
  const std::uintptr_t entry = instructions.front().from;
  const auto* const function = ::RtlLookupFunctionEntry(entry, &base, nullptr);
  if (function == nullptr) return true;
  const auto* const info = reinterpret_cast<const std::uint8_t*>(base + function->UnwindData);
  constexpr unsigned kIsPart = 4 << 3;
  if ((info[0] & kIsPart) != 0) return false;
  // All addresses in the table are offsets from a common base, which must not be above any address.
  // The offset of unwind data must be even: odd offsets refer to another table entry.
  const std::uintptr_t origin = instructions.front().to & ~std::uintptr_t{15};
  auto* const table = reinterpret_cast<RUNTIME_FUNCTION*>(room.data());
  std::size_t used = instructions.size() * sizeof(RUNTIME_FUNCTION);
  if (used > room.size()) return false;
  for (std::size_t i = 0; i < instructions.size(); ++i) {
    const MovedInstruction& moved = instructions[i];
    const std::uintptr_t executed = moved.from - (base + function->BeginAddress);
    const std::size_t bytes = write_executed_part(info, executed, room.subspan(used));
    if (bytes == 0) return false;
    const auto place = reinterpret_cast<std::uintptr_t>(room.data() + used);
    table[i] = {};
    table[i].BeginAddress = static_cast<DWORD>(moved.to - origin);
    table[i].EndAddress = static_cast<DWORD>(moved.to_end - origin);
    table[i].UnwindData = static_cast<DWORD>(place - origin);
    used += bytes;
  }
  return ::RtlAddFunctionTable(table, static_cast<DWORD>(instructions.size()), origin) != FALSE;
}

/// Suspends and resumes `thread`. Returns true on success, or if the thread is ending. While the
/// thread is suspended, makes only system calls, because the thread may hold any lock.
inline bool stop_for_a_moment(HANDLE thread) noexcept {
  NTSTATUS status = ::NtSuspendThread(thread, nullptr);
  if (status < 0) return has_ended(thread, status);
  // NtSuspendThread is asynchronous; this call waits until the thread has stopped.
  CONTEXT context;
  context.ContextFlags = CONTEXT_CONTROL;
  status = ::NtGetContextThread(thread, &context);
  ::NtResumeThread(thread, nullptr);
  return status >= 0 || has_ended(thread, status);
}

/// Stops all other threads briefly, one after the other, because a return from the kernel
/// serializes. Ignores threads created meanwhile, because they start by such a return. Does not use
/// FlushProcessWriteBuffers, which guarantees only memory order and does nothing in Wine 8.
inline bool synchronize_cores() noexcept {
  bool stopped_all = true;
  visit_threads([&](const Handle& thread) { stopped_all &= stop_for_a_moment(thread.get()); });
  return stopped_all;
}

}  // namespace alloctap::os

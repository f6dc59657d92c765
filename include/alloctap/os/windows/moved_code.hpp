/// Unwind information for relocated code. Sources: "x64 exception handling" (Microsoft), "Struct
/// UNWIND_INFO"; "RtlAddFunctionTable".
#pragma once

#include <array>
#include <cstring>

#include "alloctap/os/moved_code.hpp"
#include "alloctap/os/windows/api.hpp"

namespace alloctap::os {

/// The prologue in UNWIND_INFO: its operations in reverse order, each in one or more slots.
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

/// Writes to `room` an UNWIND_INFO for instructions relocated from `executed` bytes after the start
/// of a function, which has the UNWIND_INFO `info`. The result has the prologue operations before
/// these instructions, and an empty prologue. Returns the number of bytes written; 0 if they do not
/// fit.
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

}  // namespace alloctap::os

/// Cross-modifying code: stores to an entry that other threads run, and safe stub addresses.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "alloctap/arch/x86_64/displaced_code.hpp"

namespace alloctap::arch::x86_64 {

/// The opcode of int3.
inline constexpr std::byte kBreakpointByte{0xCC};

/// int3, and the one-byte opcodes that every processor rejects in 64-bit mode, whatever bytes
/// follow (Intel SDM volume 2, table A-2, marked i64). Excludes 62, C4, C5 and D5, because later
/// processors use them as prefixes.
inline constexpr std::array<std::uint8_t, 16> kTrapBytes{
    0xCC, 0xEA, 0xCE, 0x9A, 0x06, 0x07, 0x0E, 0x16, 0x17, 0x1E, 0x1F, 0x27, 0x2F, 0x37, 0x3F, 0x60,
};

using PatchBytes = std::array<std::byte, kPatchBytes>;

/// The original and the patched bytes at `start`. `begins` marks where an original instruction
/// begins.
struct PatchedText {
  std::uintptr_t start = 0;
  PatchBytes original{};
  PatchBytes patched{};
  std::array<bool, kPatchBytes> begins{};

  /// Returns whether one aligned 8-byte store changes all bytes. The instruction fetch of other
  /// processors sees such a store atomically (AMD APM volume 2, 7.6.1; Intel's processors too).
  [[nodiscard]] bool fits_one_store() const noexcept {
    return start % sizeof(std::uint64_t) + kPatchBytes <= sizeof(std::uint64_t);
  }
};

namespace storing {

inline void store_byte(const PatchedText& text, std::size_t index, std::byte value) noexcept {
  std::atomic_ref(*reinterpret_cast<std::byte*>(text.start + index))
      .store(value, std::memory_order_release);
}

inline void store_at_once(const PatchedText& text, const PatchBytes& bytes) noexcept {
  const std::size_t offset = text.start % sizeof(std::uint64_t);
  const std::atomic_ref word(*reinterpret_cast<std::uint64_t*>(text.start - offset));
  std::uint64_t before = word.load(std::memory_order_relaxed);
  std::uint64_t after = 0;
  do {
    after = before;
    std::memcpy(reinterpret_cast<std::byte*>(&after) + offset, bytes.data(), bytes.size());
  } while (!word.compare_exchange_weak(before, after, std::memory_order_release));
}

/// Stores the bytes at which original instructions begin or, if not `beginnings`, the others.
/// Leaves out byte 0.
inline void store_some(const PatchedText& text, const PatchBytes& bytes, bool beginnings) noexcept {
  for (std::size_t i = 1; i < bytes.size(); ++i) {
    if (text.begins[i] == beginnings) store_byte(text, i, bytes[i]);
  }
}

}  // namespace storing

/// Switches the text to the patched or the original bytes. Precondition: the pages are writable.
/// `synchronize` makes all prior stores visible to every thread's instruction fetch.
///
/// If one store does not suffice, no thread may execute a partly written instruction. So the first
/// byte of each instruction becomes a trap before any other byte changes. Unpatching reverses the
/// order. A thread that traps meanwhile resumes in the trampoline. Linux uses this protocol to
/// patch one instruction of its text at a time (arch/x86/kernel/alternative.c).
template <class Synchronize>
void store_text(const PatchedText& text, bool patched, Synchronize&& synchronize) noexcept {
  const PatchBytes& bytes = patched ? text.patched : text.original;
  if (text.fits_one_store()) return storing::store_at_once(text, bytes);
  storing::store_byte(text, 0, kBreakpointByte);
  if (patched) storing::store_some(text, bytes, true);
  synchronize();
  storing::store_some(text, bytes, false);
  synchronize();
  if (!patched) storing::store_some(text, bytes, true);
  storing::store_byte(text, 0, bytes[0]);
  synchronize();
}

/// Returns for each displacement byte, lowest first, whether the byte must trap because a displaced
/// instruction began at its address.
inline std::array<bool, 4> bound_displacement_bytes(const DisplacedCode& displaced) noexcept {
  std::array<bool, 4> bound{};
  for (const Instruction& instruction : displaced.code()) {
    if (instruction.address == displaced.start) continue;
    bound[instruction.address - displaced.start - 1] = true;
  }
  return bound;
}

/// Calls `visit` with values for the highest displacement byte until `visit` returns true. If
/// `is_bound`, the values are trap bytes. Otherwise addresses below the function come first,
/// nearest first, then those above, farthest first, because the heap may grow there.
template <class Visit>
bool visit_highest_bytes(bool is_bound, Visit&& visit) noexcept {
  if (is_bound) {
    for (const std::uint8_t byte : kTrapBytes) {
      if (visit(byte)) return true;
    }
    return false;
  }
  for (unsigned byte = 0xFF; byte >= 0x80; --byte) {
    if (visit(byte)) return true;
  }
  for (unsigned byte = 0x7F; byte > 0; --byte) {
    if (visit(byte)) return true;
  }
  return visit(0U);
}

/// Calls `visit(displacement)` for values with the highest byte `highest` until `visit` returns
/// true.
template <class Visit>
bool visit_displacements(std::uint32_t highest, const std::array<bool, 4>& bound,
                         Visit&& visit) noexcept {
  constexpr std::uint32_t kTrap = 0xCC;
  constexpr std::uint32_t kSecondStep = 0x40;
  const std::uint32_t low = bound[0] ? kTrap : 0;
  const std::uint32_t first_third = bound[2] ? kTrap : 0;
  const std::uint32_t last_third = bound[2] ? kTrap : 0xFF;
  // Counts down, so that addresses below the function come nearest first.
  for (std::uint32_t third = last_third + 1; third-- > first_third;) {
    for (std::uint32_t second = 0; second <= 0xFF; second += kSecondStep) {
      const std::uint32_t bytes =
          highest << 24 | third << 16 | (bound[1] ? kTrap : second) << 8 | low;
      if (visit(static_cast<std::int32_t>(bytes))) return true;
      if (bound[1]) break;
    }
  }
  return false;
}

/// Calls `visit(stub)` for candidate addresses until `visit` returns true. Returns false if `visit`
/// never does. Visits at most one address per 16 KiB of the jump's reach.
///
/// A thread may be suspended after the first displaced instruction for any time. When the thread
/// resumes, it executes bytes of the jump's displacement. So each displacement byte at which a
/// displaced instruction began must be an opcode that traps, which constrains the stub's address.
/// The trap handler sends the thread to the trampoline; no thread has to be stopped or waited for.
/// Source: Chamith et al., "Instruction Punning", PLDI 2017.
template <class Visit>
bool visit_stub_places(const DisplacedCode& displaced, Visit&& visit) noexcept {
  const auto bound = bound_displacement_bytes(displaced);
  const std::uintptr_t from = displaced.start + kPatchBytes;
  return visit_highest_bytes(bound[3], [&](std::uint32_t highest) {
    return visit_displacements(highest, bound, [&](std::intptr_t displacement) {
      const bool is_below_zero =
          displacement < 0 && from < static_cast<std::uintptr_t>(-displacement);
      return !is_below_zero && visit(from + static_cast<std::uintptr_t>(displacement));
    });
  });
}

}  // namespace alloctap::arch::x86_64

/// Candidate stub addresses that are safe for threads suspended between displaced instructions.
///
/// A thread may be suspended after the first displaced instruction for any time. When the thread
/// resumes, it executes bytes of the jump's displacement. So each displacement byte at which a
/// displaced instruction began must be an opcode that traps. This requirement constrains the
/// displacement, and so the stub's address. The trap handler sends the thread to the trampoline; no
/// thread has to be stopped or waited for. The technique of displacement bytes that are also
/// opcodes is from Chamith et al., "Instruction Punning", PLDI 2017.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "alloctap/arch/x86_64/displaced_code.hpp"
#include "alloctap/arch/x86_64/trap_bytes.hpp"

namespace alloctap::arch::x86_64 {

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

/// Calls `visit` with values for the highest displacement byte until it returns true. If
/// `is_bound`, the values are trap bytes; otherwise the values that lead to the nearest addresses
/// come first. Addresses below the function come first, because the heap may grow above it.
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

/// Calls `visit(displacement)` for values whose highest byte is `highest` until one is accepted.
template <class Visit>
bool visit_displacements(std::uint32_t highest, const std::array<bool, 4>& bound,
                         Visit&& visit) noexcept {
  constexpr std::uint32_t kTrap = 0xCC;
  constexpr std::uint32_t kSecondStep = 0x40;
  const std::uint32_t low = bound[0] ? kTrap : 0;
  const std::uint32_t first_third = bound[2] ? kTrap : 0;
  const std::uint32_t last_third = bound[2] ? kTrap : 0xFF;
  // Counts downwards, so that of the addresses below the function the nearest come first.
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

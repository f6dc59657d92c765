/// The frame record at the frame pointer, and a code address from which to unwind.
#pragma once

#include <cstdint>

#include "alloctap/macros.hpp"

namespace alloctap::arch {

#if defined(__x86_64__) || defined(__aarch64__)

/// The record at the frame pointer (x86-64: System V ABI, 3.2.2; AArch64: AAPCS64, 6.2.3).
struct FrameRecord {
  std::uintptr_t caller_frame;
  std::uintptr_t return_address;
};

/// Whether functions with a frame pointer have a frame record. False on Windows, where rbp may
/// point anywhere into the frame.
#if defined(_WIN32)
inline constexpr bool kHasFrameRecords = false;
#else
inline constexpr bool kHasFrameRecords = true;
#endif

/// Whether a frame record always ends its frame, so that the caller's frame begins after it. True
/// on x86-64, because call pushes the return address and the prologue pushes rbp next.
#if defined(__x86_64__)
inline constexpr bool kRecordEndsFrame = true;
#else
inline constexpr bool kRecordEndsFrame = false;
#endif

/// Returns the end of a record, which is the caller's stack pointer if `kRecordEndsFrame`.
inline std::uintptr_t stack_pointer_of_caller(const FrameRecord* record) noexcept {
  return reinterpret_cast<std::uintptr_t>(record + 1);
}

#else
#error "alloctap/arch/frame_record.hpp does not know this architecture"
#endif

#if defined(__x86_64__) && defined(_WIN32)

/// An address inside a function, with rsp and rbp at that address. Windows code has no frame
/// records, so the unwind rule at the address computes the caller's frame from both registers.
struct CodeAddress {
  std::uintptr_t address = 0;
  std::uintptr_t stack_pointer = 0;
  std::uintptr_t frame_pointer = 0;
};

/// Returns the code address at the point of inlining.
ALLOCTAP_ALWAYS_INLINE CodeAddress this_place() noexcept {
  CodeAddress place;
  ALLOCTAP_ASM volatile(
      "movq %%rbp, %2\n\t"
      "movq %%rsp, %1\n\t"
      "leaq 0f(%%rip), %0\n"
      "0:" : "=r"(place.address),
      "=r"(place.stack_pointer), "=r"(place.frame_pointer));
  return place;
}

#elif defined(__x86_64__)

/// Empty, because the frame record alone leads to the caller's frame (`stack_pointer_of_caller`).
struct CodeAddress {};

/// Returns the code address at the point of inlining.
ALLOCTAP_ALWAYS_INLINE CodeAddress this_place() noexcept { return {}; }

#elif defined(__aarch64__)

/// An address inside a function. It is needed because a frame record may lie anywhere in its frame.
/// The unwind rule at the address states the distance from the record to the caller's frame.
struct CodeAddress {
  std::uintptr_t address = 0;
};

/// Returns the code address at the point of inlining.
ALLOCTAP_ALWAYS_INLINE CodeAddress this_place() noexcept {
  CodeAddress place;
  ALLOCTAP_ASM volatile("adr %0, ." : "=r"(place.address));
  return place;
}

#else
#error "alloctap/arch/frame_record.hpp does not know this architecture"
#endif

}  // namespace alloctap::arch

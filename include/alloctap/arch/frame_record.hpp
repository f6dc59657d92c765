/// The frame record at the frame pointer.
///
/// On x86-64 (System V ABI, 3.2.2) and AArch64 (AAPCS64, 6.2.3), a frame record is the caller's
/// frame pointer, followed by the return address.
#pragma once

#include <cstdint>

namespace alloctap::arch {

#if defined(__x86_64__) || defined(__aarch64__)

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

}  // namespace alloctap::arch

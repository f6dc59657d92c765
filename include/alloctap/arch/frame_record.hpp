/// What a frame pointer points at, on the architectures that share the shape.
///
/// x86-64 (System V ABI, 3.2.2) and AArch64 (AAPCS64, 6.2.3) both keep the caller's frame pointer
/// at the frame pointer and the return address in the word above it.
#pragma once

#include <cstdint>

namespace alloctap::arch {

#if defined(__x86_64__) || defined(__aarch64__)

struct FrameRecord {
  std::uintptr_t caller_frame;
  std::uintptr_t return_address;
};

/// Whether functions with a frame pointer make such a record. On Windows it points elsewhere.
#if defined(_WIN32)
inline constexpr bool kHasFrameRecords = false;
#else
inline constexpr bool kHasFrameRecords = true;
#endif

/// Whether a record is always the end of its function's frame, where the caller's begins: the
/// instructions of x86-64's calls and prologues leave no choice.
#if defined(__x86_64__)
inline constexpr bool kRecordEndsFrame = true;
#else
inline constexpr bool kRecordEndsFrame = false;
#endif

/// The end of a record: where `kRecordEndsFrame`, the caller's stack pointer behind the return to
/// it.
inline std::uintptr_t stack_pointer_of_caller(const FrameRecord* record) noexcept {
  return reinterpret_cast<std::uintptr_t>(record + 1);
}

#else
#error "alloctap/arch/frame_record.hpp does not know this architecture"
#endif

}  // namespace alloctap::arch

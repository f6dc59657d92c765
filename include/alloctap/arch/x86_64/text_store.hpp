/// Cross-modifying code: changes a function's entry while other threads run it.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "alloctap/arch/x86_64/displaced_code.hpp"
#include "alloctap/arch/x86_64/trap_bytes.hpp"

namespace alloctap::arch::x86_64 {

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

/// Stores the bytes at which original instructions begin or, if not `beginnings`, the other bytes.
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

}  // namespace alloctap::arch::x86_64

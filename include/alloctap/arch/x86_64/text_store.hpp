/// Changing the entry of a function while threads run it.
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

/// The bytes at `start` in both states, and where instructions of the unpatched state begin.
struct PatchedText {
  std::uintptr_t start = 0;
  PatchBytes original{};
  PatchBytes patched{};
  std::array<bool, kPatchBytes> begins{};

  /// Whether one aligned store of 8 bytes changes all. Such stores are seen whole by other
  /// processors' instruction fetch (AMD APM volume 2, 7.6.1; Intel's processors alike).
  [[nodiscard]] bool fits_one_store() const noexcept {
    return start % sizeof(std::uint64_t) + kPatchBytes <= sizeof(std::uint64_t);
  }
};

/// The parts of `store_text`, which is below.
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

/// Stores the bytes of `bytes` that begin an instruction, or those that do not.
inline void store_some(const PatchedText& text, const PatchBytes& bytes, bool beginnings) noexcept {
  for (std::size_t i = 1; i < bytes.size(); ++i) {
    if (text.begins[i] == beginnings) store_byte(text, i, bytes[i]);
  }
}

}  // namespace storing

/// Stores one state over the other; the pages are writable. `synchronize` makes every thread see
/// what was stored before.
///
/// Where one store does not do: no thread may meet a half-written instruction. So everywhere where
/// one began there is a trap before any other byte changes, and the way back is the same the other
/// way round; threads that trap meanwhile go on in the trampoline. That is how the kernel patches
/// its own text (Linux, arch/x86/kernel/alternative.c), with more than one instruction to cover.
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

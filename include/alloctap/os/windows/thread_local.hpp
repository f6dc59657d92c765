// Compilers reach thread_local variables by a table that the loader allocates when a thread begins,
// or by calls that allocate: both too late inside malloc. Each thread's own block (TEB) has 64
// words that TlsAlloc hands out; they are zero when a thread begins, and there until it ends. The
// layout is the one that winternl.h states.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "alloctap/macros.hpp"
#include "alloctap/os/windows/api.hpp"
#include "alloctap/os/windows/thread_block.hpp"

namespace alloctap::os {

/// Where the words begin in a thread's block.
inline constexpr std::uint32_t kThreadWords = offsetof(TEB, TlsSlots);

/// `count` words of each thread's block that are neighbours; 0 where there are none left. They are
/// never given back. Takes locks of the system's and allocates nothing.
inline std::uint32_t claim_thread_words(std::size_t count) noexcept {
  constexpr DWORD kWords = TLS_MINIMUM_AVAILABLE;
  std::array<bool, kWords> claimed{};
  std::size_t row = 0;
  DWORD last = 0;
  while (row < count) {
    const DWORD index = ::TlsAlloc();
    // What lies beyond the block is allocated for each thread when it is first used.
    if (index >= kWords) {
      if (index != TLS_OUT_OF_INDEXES) ::TlsFree(index);
      break;
    }
    claimed[index] = true;
    row = row > 0 && index == last + 1 ? row + 1 : 1;
    last = index;
  }
  const bool found = row == count;
  const std::size_t first = found ? last + 1 - count : kWords;
  for (DWORD index = 0; index < kWords; ++index) {
    const bool keep = found && index >= first && index <= last;
    if (claimed[index] && !keep) ::TlsFree(index);
  }
  return found ? kThreadWords + static_cast<std::uint32_t>(first * sizeof(void*)) : 0;
}

/// A `T` for each thread, all zeros at first, that is reached without a call once one thread asked,
/// from a thread's first instruction to its last. `T` needs no destructor, and zeros must be a
/// state of it. `Owner` tells one from another of the same type.
template <class T, class Owner = T>
class ThreadLocal {
  static_assert(std::is_trivially_destructible_v<T> && alignof(T) <= alignof(void*));

 public:
  /// The calling thread's.
  ALLOCTAP_ALWAYS_INLINE static T& mine() noexcept {
    std::uint32_t offset = offset_.load(std::memory_order_relaxed);
    if (offset == kUnknown) [[unlikely]] {
      offset = claim();
    }
    if (offset == kNone) [[unlikely]] {
      return shared_;
    }
    return *reinterpret_cast<T*>(reinterpret_cast<std::uintptr_t>(thread_block()) + offset);
  }

  /// Whether every thread has one of its own. Else all share one, of which nothing may be made.
  static bool is_own() noexcept {
    mine();
    return offset_.load(std::memory_order_relaxed) != kNone;
  }

 private:
  static constexpr std::uint32_t kUnknown = 0;
  static constexpr std::uint32_t kNone = 1;

  /// Two threads may both come here first: what the slower one claimed is lost, once.
  ALLOCTAP_NOINLINE static std::uint32_t claim() noexcept {
    const std::uint32_t place = claim_thread_words((sizeof(T) + sizeof(void*) - 1) / sizeof(void*));
    std::uint32_t offset = kUnknown;
    const std::uint32_t mine = place == 0 ? kNone : place;
    return offset_.compare_exchange_strong(offset, mine) ? mine : offset;
  }

  static inline constinit std::atomic<std::uint32_t> offset_{kUnknown};
  static inline constinit T shared_{};
};

}  // namespace alloctap::os

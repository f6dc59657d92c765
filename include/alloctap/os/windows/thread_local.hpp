/// The thread environment block (TEB), thread-local storage in it, and the guard of GetLastError.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "alloctap/macros.hpp"
#include "alloctap/os/windows/api.hpp"

namespace alloctap::os {

/// Returns the calling thread's TEB. Does not call mingw-w64's NtCurrentTeb, because an optimizing
/// GCC 12 warns about that function.
ALLOCTAP_ALWAYS_INLINE TEB* thread_block() noexcept {
#if defined(__x86_64__) && defined(__GNUC__)
  TEB* block = nullptr;
  ALLOCTAP_ASM volatile("movq %%gs:0x30, %0" : "=r"(block));
  return block;
#else
  return ::NtCurrentTeb();
#endif
}

/// Returns the address of the last word of the stack that the thread of `block` runs on.
inline std::uintptr_t stack_end(const TEB& block) noexcept {
  const auto& thread = reinterpret_cast<const NT_TIB&>(block);
  return reinterpret_cast<std::uintptr_t>(thread.StackBase) - sizeof(void*);
}

/// Offset in the TEB (winternl.h) of 64 words that TlsAlloc assigns. They are zeroed at thread
/// start and valid until the thread ends.
inline constexpr std::uint32_t kThreadWords = offsetof(TEB, TlsSlots);

/// Allocates `count` adjacent TEB words, permanently. Returns their offset; 0 if not available.
/// Takes system locks, but does not allocate memory.
inline std::uint32_t claim_thread_words(std::size_t count) noexcept {
  constexpr DWORD kWords = TLS_MINIMUM_AVAILABLE;
  std::array<bool, kWords> claimed{};
  std::size_t row = 0;
  DWORD last = 0;
  while (row < count) {
    const DWORD index = ::TlsAlloc();
    // Rejects slots outside of the TEB, because they are allocated for each thread at first use.
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

/// A zero-initialized `T` for each thread, valid from the thread's first instruction to its last.
/// Only the first access by any thread makes a call. `T` needs no destructor, and zeros must be a
/// valid state. `Owner` gives each user a separate object of type `T`.
///
/// Compilers' thread_local variables cannot be used inside malloc: they are in a table that the
/// loader allocates at thread start, or accessed by calls that allocate.
template <class T, class Owner = T>
class ThreadLocal {
  static_assert(std::is_trivially_destructible_v<T> && alignof(T) <= alignof(void*));

 public:
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

  /// Returns true if each thread has its own object; else all share one, which must not be used.
  static bool is_own() noexcept {
    mine();
    return offset_.load(std::memory_order_relaxed) != kNone;
  }

 private:
  static constexpr std::uint32_t kUnknown = 0;
  static constexpr std::uint32_t kNone = 1;

  /// Allocates the words. If two threads allocate at once, the slower thread's words stay unused.
  ALLOCTAP_NOINLINE static std::uint32_t claim() noexcept {
    const std::uint32_t place = claim_thread_words((sizeof(T) + sizeof(void*) - 1) / sizeof(void*));
    std::uint32_t offset = kUnknown;
    const std::uint32_t mine = place == 0 ? kNone : place;
    return offset_.compare_exchange_strong(offset, mine) ? mine : offset;
  }

  static inline constinit std::atomic<std::uint32_t> offset_{kUnknown};
  static inline constinit T shared_{};
};

/// Empty: GetLastError needs no address.
struct ErrnoSlot {
  [[nodiscard]] static constexpr ErrnoSlot mine() noexcept { return {}; }
};

/// Saves GetLastError in the constructor and restores it in the destructor. Does not save errno:
/// this folder calls no C library functions that set errno, and reading errno may allocate.
class ErrnoGuard {
 public:
  ErrnoGuard() noexcept = default;
  explicit ErrnoGuard(ErrnoSlot /*mine*/) noexcept {}
  ~ErrnoGuard() { ::SetLastError(saved_); }
  ErrnoGuard(const ErrnoGuard&) = delete;
  ErrnoGuard& operator=(const ErrnoGuard&) = delete;

 private:
  DWORD saved_ = ::GetLastError();
};

}  // namespace alloctap::os

/// Every function that InlineHook patches but dlclose, called by its address, with a replacement
/// that counts.
#pragma once

#include <sys/mman.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <new>

#include "alloctap/hook/allocation_functions.hpp"

namespace alloctap::testing {

/// `entry` is the function as the program knows it, `call` what replaces it.
template <class Function, class Signature = typename Function::Signature>
struct CountedFunction;

template <class Function, class Result, class... Arguments>
struct CountedFunction<Function, Result(Arguments...)> {
  static inline std::atomic<Result (*)(Arguments...)> entry{nullptr};
  static inline std::atomic<Result (*)(Arguments...)> original{nullptr};
  static inline std::atomic<long> calls{0};

  static Result call(Arguments... arguments) {
    calls.fetch_add(1, std::memory_order_relaxed);
    return original.load(std::memory_order_relaxed)(arguments...);
  }
};

/// To be called through its address: no compiler knows what that is, so none leaves it out.
template <class Function>
auto* entry() {
  return CountedFunction<Function>::entry.load(std::memory_order_relaxed);
}

inline constexpr std::size_t kCallBytes = 100;
inline constexpr std::align_val_t kCallAlignment{64};

/// A way to get `kCallBytes` bytes, and to give them back.
struct AllocatorCall {
  void* (*take)();
  void (*give_back)(void*);
};

template <class Function, auto... kArguments>
void give_back(void* block) {
  entry<Function>()(block, kArguments...);
}
template <class Function, auto... kArguments>
void give_back_nothrow(void* block) {
  entry<Function>()(block, kArguments..., std::nothrow);
}
template <class Function, auto... kArguments>
void* take() {
  return entry<Function>()(kArguments...);
}
template <class Function, auto... kArguments>
void* take_nothrow() {
  return entry<Function>()(kArguments..., std::nothrow);
}

inline const std::array<char, kCallBytes>& text_to_copy() {
  static const std::array<char, kCallBytes> text = [] {
    std::array<char, kCallBytes> made{};
    std::memset(made.data(), 'x', made.size() - 1);
    return made;
  }();
  return text;
}

inline void* take_measured() {
  void* const block = entry<functions::Malloc>()(kCallBytes);
  return entry<functions::MallocUsableSize>()(block) >= kCallBytes ? block : nullptr;
}
inline void* take_reallocated() {
  return entry<functions::Realloc>()(entry<functions::Malloc>()(1), kCallBytes);
}
inline void* take_reallocated_array() {
  return entry<functions::Reallocarray>()(entry<functions::Malloc>()(1), 4, kCallBytes / 4);
}
inline void* take_posix_aligned() {
  void* block = nullptr;
  const int error = entry<functions::PosixMemalign>()(&block, 64, kCallBytes);
  return error == 0 ? block : nullptr;
}
inline void* take_copied() { return entry<functions::Strdup>()(text_to_copy().data()); }
inline void* take_cut() { return entry<functions::Strndup>()(text_to_copy().data(), kCallBytes); }

inline constexpr std::size_t kMappedBytes = 4096;
inline void* take_mapped() {
  void* const mapped = entry<functions::Mmap>()(nullptr, kMappedBytes, PROT_READ | PROT_WRITE,
                                                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return entry<functions::Mremap>()(mapped, kMappedBytes, 2 * kMappedBytes, MREMAP_MAYMOVE,
                                    nullptr);
}

/// Together they reach each function.
inline constexpr auto kAllocatorCalls = std::to_array<AllocatorCall>({
    {take_measured, give_back<functions::Free>},
    {take<functions::Calloc, 4, kCallBytes / 4>, give_back<functions::Free>},
    {take_reallocated, give_back<functions::Free>},
    {take_reallocated_array, give_back<functions::Free>},
    {take<functions::Memalign, 64, kCallBytes>, give_back<functions::Free>},
    {take<functions::AlignedAlloc, 64, kCallBytes>, give_back<functions::Free>},
    {take_posix_aligned, give_back<functions::Free>},
    {take<functions::Valloc, kCallBytes>, give_back<functions::Free>},
    {take<functions::Pvalloc, kCallBytes>, give_back<functions::Free>},
    {take_copied, give_back<functions::Free>},
    {take_cut, give_back<functions::Free>},
    {take<functions::New, kCallBytes>, give_back<functions::Delete>},
    {take<functions::New, kCallBytes>, give_back<functions::DeleteSized, kCallBytes>},
    {take_nothrow<functions::NewNothrow, kCallBytes>, give_back_nothrow<functions::DeleteNothrow>},
    {take<functions::NewArray, kCallBytes>, give_back<functions::DeleteArray>},
    {take<functions::NewArray, kCallBytes>, give_back<functions::DeleteArraySized, kCallBytes>},
    {take_nothrow<functions::NewArrayNothrow, kCallBytes>,
     give_back_nothrow<functions::DeleteArrayNothrow>},
    {take<functions::NewAligned, kCallBytes, kCallAlignment>,
     give_back<functions::DeleteAligned, kCallAlignment>},
    {take<functions::NewAligned, kCallBytes, kCallAlignment>,
     give_back<functions::DeleteSizedAligned, kCallBytes, kCallAlignment>},
    {take_nothrow<functions::NewAlignedNothrow, kCallBytes, kCallAlignment>,
     give_back_nothrow<functions::DeleteAlignedNothrow, kCallAlignment>},
    {take<functions::NewArrayAligned, kCallBytes, kCallAlignment>,
     give_back<functions::DeleteArrayAligned, kCallAlignment>},
    {take<functions::NewArrayAligned, kCallBytes, kCallAlignment>,
     give_back<functions::DeleteArraySizedAligned, kCallBytes, kCallAlignment>},
    {take_nothrow<functions::NewArrayAlignedNothrow, kCallBytes, kCallAlignment>,
     give_back_nothrow<functions::DeleteArrayAlignedNothrow, kCallAlignment>},
    {take_mapped, give_back<functions::Munmap, 2 * kMappedBytes>},
});

/// Each call once, all blocks held at the same time; how many did not stay as they were filled.
/// What a call fills is `mark` and the number of the call.
inline int call_all(unsigned mark) {
  std::array<unsigned char*, kAllocatorCalls.size()> blocks{};
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    blocks[i] = static_cast<unsigned char*>(kAllocatorCalls[i].take());
    if (blocks[i] != nullptr) std::memset(blocks[i], static_cast<int>(mark + i), kCallBytes);
  }
  int wrong = 0;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    std::array<unsigned char, kCallBytes> expected{};
    expected.fill(static_cast<unsigned char>(mark + i));
    const bool is_right =
        blocks[i] != nullptr && std::memcmp(blocks[i], expected.data(), kCallBytes) == 0;
    if (!is_right) ++wrong;
    if (blocks[i] != nullptr) kAllocatorCalls[i].give_back(blocks[i]);
  }
  return wrong;
}

}  // namespace alloctap::testing

/// The functions through which memory of LocalAlloc and GlobalAlloc comes and goes: what each is
/// called and what its arguments say.
///
/// Both families are one, over the process's heap. Their arguments and what they answer to bad
/// ones: "LocalAlloc" and the pages beside it, Windows API reference (Microsoft).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "alloctap/hook/function_description.hpp"
#include "alloctap/os/windows/api.hpp"

namespace alloctap {

/// The shape of a function, as handlers see it.
enum class LocalRole : std::uint8_t {
  kAllocate,
  kReallocate,
  kFree,
  kFind,  // from a handle to its memory or back; fixed memory is both
};

/// What flags of a call say, which are the same ones in both families.
struct LocalFlagsOf {
  UINT flags = 0;

  /// Whether a handle is asked for, whose memory may move.
  [[nodiscard]] bool is_movable() const noexcept { return (flags & LMEM_MOVEABLE) != 0; }
  /// Whether a reallocation changes what a block is, and not its size.
  [[nodiscard]] bool modifies() const noexcept { return (flags & LMEM_MODIFY) != 0; }
  /// Whether a reallocation may be of movable memory alone.
  [[nodiscard]] bool is_discardable() const noexcept { return (flags & LMEM_DISCARDABLE) != 0; }

  /// What the heap is to be told where it allocates fixed memory.
  [[nodiscard]] ULONG to_allocate() const noexcept {
    return (flags & LMEM_ZEROINIT) != 0 ? HEAP_ZERO_MEMORY : 0;
  }
  /// And where it reallocates it: that may move if the call says so.
  [[nodiscard]] ULONG to_reallocate() const noexcept {
    return to_allocate() | (is_movable() ? 0U : HEAP_REALLOC_IN_PLACE_ONLY);
  }
};

/// Whether `handle` can be one of memory that may move: no block of a heap begins there.
[[nodiscard]] inline bool is_like_movable(HLOCAL handle) noexcept {
  return (reinterpret_cast<std::uintptr_t>(handle) & sizeof(void*)) != 0;
}

namespace kernel {

struct LocalAlloc {
  static constexpr const char* name = "LocalAlloc";
  static constexpr LocalRole role = LocalRole::kAllocate;
  using Signature = HLOCAL(UINT flags, SIZE_T bytes);
  static SIZE_T size(SIZE_T bytes) noexcept { return bytes; }
};

struct LocalReAlloc {
  static constexpr const char* name = "LocalReAlloc";
  static constexpr LocalRole role = LocalRole::kReallocate;
  using Signature = HLOCAL(HLOCAL handle, SIZE_T bytes, UINT flags);
};

struct LocalFree {
  static constexpr const char* name = "LocalFree";
  static constexpr LocalRole role = LocalRole::kFree;
  using Signature = HLOCAL(HLOCAL handle);
};

/// It looks whether the first byte can be accessed, even where the block has none.
struct LocalLock {
  static constexpr const char* name = "LocalLock";
  static constexpr LocalRole role = LocalRole::kFind;
  using Signature = void*(HLOCAL handle);
};

/// It asks for the user value that Wine gives fixed memory.
struct LocalHandle {
  static constexpr const char* name = "LocalHandle";
  static constexpr LocalRole role = LocalRole::kFind;
  using Signature = HLOCAL(const void* memory);
};

struct GlobalAlloc {
  static constexpr const char* name = "GlobalAlloc";
  static constexpr LocalRole role = LocalRole::kAllocate;
  using Signature = HGLOBAL(UINT flags, SIZE_T bytes);
  /// No block of this family is empty when it comes.
  static SIZE_T size(SIZE_T bytes) noexcept { return bytes == 0 ? 1 : bytes; }
};

struct GlobalReAlloc {
  static constexpr const char* name = "GlobalReAlloc";
  static constexpr LocalRole role = LocalRole::kReallocate;
  using Signature = HGLOBAL(HGLOBAL handle, SIZE_T bytes, UINT flags);
};

struct GlobalFree {
  static constexpr const char* name = "GlobalFree";
  static constexpr LocalRole role = LocalRole::kFree;
  using Signature = HGLOBAL(HGLOBAL handle);
};

/// As `LocalLock`.
struct GlobalLock {
  static constexpr const char* name = "GlobalLock";
  static constexpr LocalRole role = LocalRole::kFind;
  using Signature = void*(HGLOBAL handle);
};

/// As `LocalHandle`.
struct GlobalHandle {
  static constexpr const char* name = "GlobalHandle";
  static constexpr LocalRole role = LocalRole::kFind;
  using Signature = HGLOBAL(const void* memory);
};

}  // namespace kernel

/// Windows has all of them. What else there is of both families asks the heap.
using WindowsLocalFunctions =
    FunctionList<kernel::LocalAlloc, kernel::LocalReAlloc, kernel::LocalFree, kernel::LocalLock,
                 kernel::LocalHandle, kernel::GlobalAlloc, kernel::GlobalReAlloc,
                 kernel::GlobalFree, kernel::GlobalLock, kernel::GlobalHandle>;

/// The libraries that export them. Some are in the first one, others in the second one alone; what
/// the second one has of the same names leads to the first one's.
inline constexpr std::array kLocalLibraries{L"kernelbase.dll", L"kernel32.dll"};

}  // namespace alloctap

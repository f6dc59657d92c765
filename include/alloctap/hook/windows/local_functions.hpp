/// Descriptions of LocalAlloc and GlobalAlloc and their relatives.
///
/// LocalAlloc and GlobalAlloc share one implementation, on the process heap. Arguments and error
/// results: "LocalAlloc" and related pages, Windows API reference (Microsoft).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "alloctap/hook/function_description.hpp"
#include "alloctap/os/windows/api.hpp"

namespace alloctap {

/// Kind of function: selects the handler.
enum class LocalRole : std::uint8_t {
  kAllocate,
  kReallocate,
  kFree,
  kFind,  // from a handle to its memory or back; both are equal for fixed memory
};

/// Flags of a call. LocalAlloc and GlobalAlloc use equal values.
struct LocalFlagsOf {
  UINT flags = 0;

  /// Returns true if the call requests movable memory, which has a handle.
  [[nodiscard]] bool is_movable() const noexcept { return (flags & LMEM_MOVEABLE) != 0; }
  /// Returns true if a reallocation changes attributes instead of the size.
  [[nodiscard]] bool modifies() const noexcept { return (flags & LMEM_MODIFY) != 0; }
  /// Returns true if a reallocation is valid for movable memory only.
  [[nodiscard]] bool is_discardable() const noexcept { return (flags & LMEM_DISCARDABLE) != 0; }

  /// Returns the heap flags of an allocation of fixed memory.
  [[nodiscard]] ULONG to_allocate() const noexcept {
    return (flags & LMEM_ZEROINIT) != 0 ? HEAP_ZERO_MEMORY : 0;
  }
  /// Returns the heap flags to reallocate fixed memory, which may move only with LMEM_MOVEABLE.
  [[nodiscard]] ULONG to_reallocate() const noexcept {
    return to_allocate() | (is_movable() ? 0U : HEAP_REALLOC_IN_PLACE_ONLY);
  }
};

/// Returns true if `handle` may denote movable memory. Heap blocks are aligned differently.
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

/// The system's function accesses the first byte, even of an empty block.
struct LocalLock {
  static constexpr const char* name = "LocalLock";
  static constexpr LocalRole role = LocalRole::kFind;
  using Signature = void*(HLOCAL handle);
};

/// Wine's function reads the user value that Wine gives fixed memory.
struct LocalHandle {
  static constexpr const char* name = "LocalHandle";
  static constexpr LocalRole role = LocalRole::kFind;
  using Signature = HLOCAL(const void* memory);
};

struct GlobalAlloc {
  static constexpr const char* name = "GlobalAlloc";
  static constexpr LocalRole role = LocalRole::kAllocate;
  using Signature = HGLOBAL(UINT flags, SIZE_T bytes);
  /// GlobalAlloc never allocates an empty block.
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

/// See `LocalLock`.
struct GlobalLock {
  static constexpr const char* name = "GlobalLock";
  static constexpr LocalRole role = LocalRole::kFind;
  using Signature = void*(HGLOBAL handle);
};

/// See `LocalHandle`.
struct GlobalHandle {
  static constexpr const char* name = "GlobalHandle";
  static constexpr LocalRole role = LocalRole::kFind;
  using Signature = HGLOBAL(const void* memory);
};

}  // namespace kernel

/// Functions that every Windows exports. Other Local and Global functions call heap functions.
using WindowsLocalFunctions =
    FunctionList<kernel::LocalAlloc, kernel::LocalReAlloc, kernel::LocalFree, kernel::LocalLock,
                 kernel::LocalHandle, kernel::GlobalAlloc, kernel::GlobalReAlloc,
                 kernel::GlobalFree, kernel::GlobalLock, kernel::GlobalHandle>;

/// Libraries that export the functions. Some functions exist only in kernel32.dll; kernel32.dll
/// forwards the others to kernelbase.dll.
inline constexpr std::array kLocalLibraries{L"kernelbase.dll", L"kernel32.dll"};

}  // namespace alloctap

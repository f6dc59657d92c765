/// Descriptions, handlers and patches of LocalAlloc, GlobalAlloc and their relatives.
///
/// LocalAlloc and GlobalAlloc share one implementation, on the process heap. Arguments and error
/// results: "LocalAlloc" and related pages, Windows API reference (Microsoft).
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "alloctap/event/block_checks.hpp"
#include "alloctap/hook/hooked_function.hpp"
#include "alloctap/hook/module_selection.hpp"
#include "alloctap/hook/windows/checked_blocks.hpp"
#include "alloctap/hook/windows/functions.hpp"
#include "alloctap/hook/windows/heap_calls.hpp"
#include "alloctap/hook/windows/system_function.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/os/thread_local.hpp"
#include "alloctap/os/windows/api.hpp"
#include "alloctap/os/windows/module_symbols.hpp"
#include "alloctap/runtime/reentrancy_guard.hpp"
#include "alloctap/runtime/static_objects.hpp"

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

/// Hooked because the system's function accesses the first byte, even of an empty block.
struct LocalLock {
  static constexpr const char* name = "LocalLock";
  static constexpr LocalRole role = LocalRole::kFind;
  using Signature = void*(HLOCAL handle);
};

/// Hooked because Wine's function reads the user value of fixed memory, which checked blocks lack.
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

/// Handlers of `WindowsLocalFunctions` for a `CheckingSink`. They allocate and free fixed memory in
/// the process heap, like HeapAlloc and HeapFree. Needed because the system's functions hide bad
/// frees from the heap. They may also give fixed memory a user value (Wine does), and the heap
/// hooks do not check such memory.
///
/// Calls with movable memory, or with blocks unknown to the sink, pass to the system. A bad free
/// returns the handle and a bad reallocation null, both with ERROR_INVALID_HANDLE. LMEM_MODIFY has
/// no effect on fixed memory. Without LMEM_MOVEABLE, a block shrinks in place and never grows.
///
/// `Originals` is the class that `WindowsCheckedCalls` uses; it also has the originals of
/// `WindowsLocalFunctions`. Run inside malloc, on any thread.
template <class Originals, class Sink>
struct WindowsLocalCalls {
  using Heaps = WindowsRefusableCalls<Originals, Sink>;
  using Blocks = WindowsCheckedBlocks<Originals, Sink>;
  using Verdict = BlockLookup::Verdict;

  /// Makes the handlers active. Call once all functions are redirected. Cannot be undone.
  static void begin() noexcept { is_complete_.store(true, std::memory_order_release); }

  template <class Function>
  static HLOCAL allocate(const CallOrigin& origin, UINT flags, SIZE_T bytes) {
    const LocalFlagsOf wanted{flags};
    if (!is_active() || wanted.is_movable() || ReentrancyGuard::inside()) {
      return Originals::template get<Function>()(flags, bytes);
    }
    void* const block = Heaps::template allocate<ntdll::RtlAllocateHeap>(
        origin, ::GetProcessHeap(), wanted.to_allocate(), Function::size(bytes));
    if (block == nullptr) ::SetLastError(ERROR_NOT_ENOUGH_MEMORY);
    return block;
  }

  template <class Function>
  static HLOCAL reallocate(const CallOrigin& origin, HLOCAL old, SIZE_T bytes, UINT flags) {
    auto* const original = Originals::template get<Function>();
    if (is_systems(old)) return original(old, bytes, flags);
    switch (look_up(gone(old, DeallocationKind::kRealloc, origin))) {
      case Verdict::kKnown:
        return reallocate_known(origin, old, bytes, {flags});
      case Verdict::kUnknown:
        return original(old, bytes, flags);
      case Verdict::kRefused:
        break;
    }
    ::SetLastError(ERROR_INVALID_HANDLE);
    return nullptr;
  }

  template <class Function>
  static HLOCAL deallocate(const CallOrigin& origin, HLOCAL handle) {
    auto* const original = Originals::template get<Function>();
    if (is_systems(handle)) return original(handle);
    const ReentrancyGuard guard;
    if (!guard.is_outermost()) return Blocks::release_inside(handle) ? nullptr : original(handle);
    Blocks::note_unknown_block(::GetProcessHeap(), handle);
    switch (Blocks::release(gone(handle, DeallocationKind::kFree, origin))) {
      case ReleasePlan::Action::kPassOn:
        return original(handle);
      case ReleasePlan::Action::kRelease:
      case ReleasePlan::Action::kReturnedToPool:
        return nullptr;
      case ReleasePlan::Action::kRefuse:
        break;
    }
    ::SetLastError(ERROR_INVALID_HANDLE);
    return handle;
  }

  template <class Function, class Handle>
  static void* find(Handle handle) {
    const bool is_ours = Sink::usable_size(handle).verdict == Verdict::kKnown;
    return is_ours ? const_cast<void*>(static_cast<const void*>(handle))
                   : Originals::template get<Function>()(handle);
  }

 private:
  static bool is_active() noexcept {
    return Originals::checking() && is_complete_.load(std::memory_order_acquire);
  }

  /// Returns true for null, for a handle of movable memory, or while the handlers are not active.
  static bool is_systems(HLOCAL handle) noexcept {
    if (handle == nullptr || !is_active()) return true;
    if (!is_like_movable(handle)) return false;
    const os::ErrnoGuard preserve_error;
    return ::LocalFlags(handle) != LMEM_INVALID_HANDLE;
  }

  static DeallocationEvent gone(void* block, DeallocationKind kind,
                                const CallOrigin& origin) noexcept {
    return Blocks::Events::gone(::GetProcessHeap(), block, kind, origin);
  }

  /// Returns the sink's verdict on a reallocation. Registers an unknown block as unchecked, because
  /// the system passes the block to a heap hook next.
  static Verdict look_up(const DeallocationEvent& gone) noexcept {
    const ReentrancyGuard guard;
    if (!guard.is_outermost()) return Sink::usable_size(gone.pointer).verdict;
    Blocks::note_unknown_block(gone.heap.value, gone.pointer);
    const Verdict verdict = Sink::before_reallocate(gone).verdict;
    if (verdict == Verdict::kUnknown) Blocks::note(gone.pointer);
    return verdict;
  }

  static HLOCAL reallocate_known(const CallOrigin& origin, HLOCAL old, SIZE_T bytes,
                                 LocalFlagsOf wanted) {
    if (wanted.modifies()) return old;
    if (wanted.is_discardable()) {
      ::SetLastError(ERROR_INVALID_PARAMETER);
      return nullptr;
    }
    void* const block = Heaps::template reallocate<ntdll::RtlReAllocateHeap>(
        origin, ::GetProcessHeap(), wanted.to_reallocate(), old, bytes);
    if (block == nullptr) ::SetLastError(ERROR_NOT_ENOUGH_MEMORY);
    return block;
  }

  static inline constinit std::atomic<bool> is_complete_{false};
};

/// Entry point of a patched function; see `WindowsEntry`.
template <class Function, class Sink, class Signature = typename Function::Signature>
struct WindowsLocalEntry;

template <class Function, class Sink, class Result, class... Arguments>
struct WindowsLocalEntry<Function, Sink, Result(Arguments...)> {
  ALLOCTAP_NOINLINE static Result call(Arguments... arguments) {
    using Calls = WindowsLocalCalls<WindowsOriginals<Sink>, Sink>;
    const CallOrigin origin = ALLOCTAP_CALL_ORIGIN();
    if constexpr (Function::role == LocalRole::kAllocate) {
      return Calls::template allocate<Function>(origin, arguments...);
    } else if constexpr (Function::role == LocalRole::kReallocate) {
      return Calls::template reallocate<Function>(origin, arguments...);
    } else if constexpr (Function::role == LocalRole::kFree) {
      return Calls::template deallocate<Function>(origin, arguments...);
    } else {
      return Calls::template find<Function>(arguments...);
    }
  }
};

/// Patches of `WindowsLocalFunctions`. They stay for ever, because live checked blocks must be
/// freed through them; the libraries are never unloaded. If any function cannot be patched, all
/// stay unpatched, and the heap hooks check the heap blocks that the system allocates.
class WindowsLocalPatches {
 public:
  /// Requires the control lock and patched heap functions. Waits for the loader lock.
  template <CheckingSink Sink>
  static void start() {
    if (is_started_) return;
    is_started_ = true;
    const ReentrancyGuard guard;
    WindowsPatchGroup& patches = patches_.get();
    if (!prepare<Sink>(patches) || !patches.enable()) return patches.clear();
    WindowsLocalCalls<WindowsOriginals<Sink>, Sink>::begin();
  }

 private:
  template <class Sink>
  static bool prepare(WindowsPatchGroup& patches) {
    const MemoryRegions regions = MemoryRegions::read();
    bool has_all = true;
    WindowsLocalFunctions::for_each([&](auto function) {
      using Function = decltype(function);
      const auto target = WindowsPatchGroup::target_at(find(Function::name), Function::name);
      has_all = has_all && target.bytes != 0;
      if (!has_all) return;
      auto* const handler = &WindowsLocalEntry<Function, Sink>::call;
      const std::uintptr_t original = patches.add(target, handler, regions);
      has_all = original != 0;
      if (has_all) WindowsOriginals<Sink>::template set<Function>(original);
    });
    return has_all;
  }

  /// Returns the function's address, or 0 if no library exports it.
  static std::uintptr_t find(const char* name) noexcept {
    for (const wchar_t* library : kLocalLibraries) {
      const auto module = reinterpret_cast<std::uintptr_t>(::GetModuleHandleW(library));
      const std::uintptr_t address = os::ExportTable(module).find(name);
      if (address != 0) return address;
    }
    return 0;
  }

  static inline constinit bool is_started_ = false;
  static inline constinit NoDestroyLazy<WindowsPatchGroup> patches_;
};

}  // namespace alloctap

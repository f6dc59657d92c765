/// Handlers for aligned allocation functions of Windows' C libraries, if blocks are checked.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "alloctap/event/block_checks.hpp"
#include "alloctap/event/refusing_sink.hpp"
#include "alloctap/hook/fault_injected_call.hpp"
#include "alloctap/hook/original_functions.hpp"
#include "alloctap/hook/windows/aligned_functions.hpp"
#include "alloctap/hook/windows/aligned_memory.hpp"
#include "alloctap/hook/windows/checked_blocks.hpp"
#include "alloctap/hook/windows/functions.hpp"
#include "alloctap/hook/windows/originals.hpp"
#include "alloctap/os/errno_guard.hpp"
#include "alloctap/runtime/reentrancy_guard.hpp"

namespace alloctap {

/// Originals that handlers of the C library at index `Library` in `kAlignedLibraries` call. Set
/// before any call is redirected and never cleared. Thread-safe; readable inside malloc.
template <class Sink, std::size_t Library>
class WindowsAlignedOriginals : public OriginalFunctions<WindowsAlignedOriginals<Sink, Library>> {
 public:
  /// Returns true if all functions are redirected and the library is loaded.
  static bool complete() noexcept { return complete_.load(std::memory_order_acquire); }
  static void set_complete(bool is) noexcept { complete_.store(is, std::memory_order_release); }

  /// Returns the heap that the library allocates from, which it creates in its DllMain.
  static HANDLE heap() noexcept {
    auto* const find = find_heap_.load(std::memory_order_acquire);
    return find == nullptr ? ::GetProcessHeap() : reinterpret_cast<HANDLE>(find());
  }
  /// Sets the address of the library's `_get_heap_handle`, or 0 if it is not exported.
  static void set_find_heap(std::uintptr_t find) noexcept {
    find_heap_.store(reinterpret_cast<FindHeap*>(find), std::memory_order_release);
  }

 private:
  using FindHeap = std::intptr_t();

  static inline constinit std::atomic<FindHeap*> find_heap_{nullptr};
  static inline constinit std::atomic<bool> complete_{false};
};

/// Handlers of `WindowsAlignedFunctions` for a `CheckingSink`. They check the aligned block instead
/// of the larger heap block around it. Checked blocks lie in the process heap or beside a guard
/// page.
///
/// The library still serves unchecked blocks, invalid arguments, offsets that are no multiple of
/// the alignment, and requests for which the checks have no memory. It also serves blocks that it
/// allocated: the word before such a block points to a known heap block. The heap hooks see all
/// blocks of the library.
///
/// Run inside malloc, on any thread.
template <class Sink, std::size_t Library>
struct WindowsAlignedCalls {
  using Heaps = WindowsOriginals<Sink>;
  using Originals = WindowsAlignedOriginals<Sink, Library>;
  using Blocks = WindowsCheckedBlocks<Heaps, Sink>;
  using Verdict = BlockLookup::Verdict;

  template <class Function, class... Arguments>
  static void* allocate(const CallOrigin& origin, Arguments... arguments) {
    const AlignedRequest request = Function::request(arguments...);
    return allocate_for(origin, request, Originals::template get<Function>(), arguments...);
  }

  /// Passes unknown blocks to the library. Size 0 frees the block and returns null.
  template <class Function, class... Arguments>
  static void* reallocate(const CallOrigin& origin, void* old, Arguments... arguments) {
    const AlignedRequest request = Function::request(old, arguments...);
    auto* const original = Originals::template get<Function>();
    if (old == nullptr) return allocate_for(origin, request, original, old, arguments...);
    if (!is_active() || !request.is_valid()) return original(old, arguments...);
    const BlockLookup extent = look_up(gone(old, origin));
    if (extent.verdict == Verdict::kUnknown) return original(old, arguments...);
    if (extent.verdict == Verdict::kRefused) return nullptr;
    return move(origin, request, old, extent.size);
  }

  static void deallocate(const CallOrigin& origin, void* block) {
    const bool is_ours = block != nullptr && is_active() && release(gone(block, origin));
    if (!is_ours) Originals::template get<crt::AlignedFree>()(block);
  }

  static std::size_t measure(void* block, std::size_t alignment, std::size_t offset) {
    const BlockLookup extent = Sink::usable_size(block);
    if (block != nullptr && extent.verdict == Verdict::kKnown) return extent.size;
    return Originals::template get<crt::AlignedMsize>()(block, alignment, offset);
  }

 private:
  static bool is_active() noexcept { return Heaps::checking() && Originals::complete(); }

  static DeallocationEvent gone(void* block, const CallOrigin& origin) noexcept {
    return Blocks::Events::gone(::GetProcessHeap(), block, DeallocationKind::kAlignedFree, origin);
  }

  /// Allocates a checked block, or calls `original(arguments...)` if the block cannot be checked.
  template <class Original, class... Arguments>
  static void* allocate_for(const CallOrigin& origin, const AlignedRequest& request,
                            Original* original, Arguments... arguments) {
    const auto serve = [&] {
      void* const block = allocate_checked(origin, request);
      return block != nullptr ? block : original(arguments...);
    };
    if (!is_active() || ReentrancyGuard::inside() || !request.is_plain()) {
      return original(arguments...);
    }
    if constexpr (RefusingSink<Sink>) {
      if (Sink::may_refuse()) return call_or_refuse(origin, request, serve);
    }
    return serve();
  }

  /// Calls `serve` unless the sink refuses the call. A refused call requests an impossible size
  /// from the library, so that its errors are the library's.
  template <class Serve>
  static void* call_or_refuse(const CallOrigin& origin, const AlignedRequest& request,
                              Serve& serve) {
    constexpr std::size_t kMoreThanThereIs = std::size_t{1} << 60;
    const FaultInjectedCall<Sink> asked(origin, request.size);
    if (!asked.is_refused()) return serve();
    const ReentrancyGuard guard;
    return Originals::template get<crt::AlignedMalloc>()(kMoreThanThereIs, request.alignment);
  }

  /// Allocates a checked block. Returns nullptr if the library must allocate the block.
  static void* allocate_checked(const CallOrigin& origin, const AlignedRequest& request) {
    const ReentrancyGuard guard;
    const HANDLE heap = ::GetProcessHeap();
    const AllocationRequest wanted{.size = request.size,
                                   .alignment = request.real_alignment(),
                                   .kind = AllocationKind::kAlignedMalloc,
                                   .has_content = request.is_zeroed,
                                   .heap = {heap}};
    const BlockPlan plan = Sink::plan_block(wanted);
    if (plan.number == 0) return nullptr;
    void* const raw = plan.place != nullptr ? plan.place : allocate_raw(heap, plan, wanted);
    if (raw == nullptr) {
      Sink::drop_plan(plan);
      return nullptr;
    }
    void* const block = Sink::adopt_block(plan, raw, wanted, origin);
    if (Sink::usable_size(block).verdict != Verdict::kKnown) return give_up(heap, raw);
    if (request.is_zeroed) std::memset(block, 0, request.size);
    if (Heaps::recording()) report(wanted, block, origin);
    return block;
  }

  static void* allocate_raw(HANDLE heap, const BlockPlan& plan, const AllocationRequest& wanted) {
    auto* const original = Heaps::template get<ntdll::RtlAllocateHeap>();
    return WindowsAlignedMemory::allocate(
        plan.bytes, wanted.alignment, [&](std::size_t bytes) { return original(heap, 0, bytes); });
  }

  /// Frees `raw`, which is unchecked, because the library could not free it later. Returns nullptr.
  static void* give_up(HANDLE heap, void* raw) noexcept {
    const os::ErrnoGuard preserve_error;
    static_cast<void>(Sink::forget_unchecked(raw));
    Heaps::template get<ntdll::RtlFreeHeap>()(heap, 0, WindowsAlignedMemory::block_of(raw));
    return nullptr;
  }

  static void report(const AllocationRequest& wanted, void* block,
                     const CallOrigin& origin) noexcept {
    const os::ErrnoGuard preserve_error;
    Sink::on_allocate(AllocationEvent{.pointer = block,
                                      .size = wanted.size,
                                      .alignment = wanted.alignment,
                                      .kind = wanted.kind,
                                      .heap = wanted.heap,
                                      .origin = origin});
  }

  /// Returns the sink's verdict on a reallocation; kUnknown if the library allocated the block.
  static BlockLookup look_up(const DeallocationEvent& gone) {
    const ReentrancyGuard guard;
    if (!guard.is_outermost()) return Sink::usable_size(gone.pointer);
    if (is_librarys(gone.pointer)) return {};
    const BlockLookup extent = Sink::before_reallocate(gone);
    if (extent.verdict == Verdict::kRefused) ::SetLastError(ERROR_INVALID_PARAMETER);
    return extent;
  }

  /// Returns false if the library must free the block; true if it was freed or refused.
  static bool release(const DeallocationEvent& gone) {
    const ReentrancyGuard guard;
    if (!guard.is_outermost()) return Blocks::release_inside(gone.pointer);
    if (is_librarys(gone.pointer)) return false;
    const ReleasePlan::Action action = Blocks::release(gone);
    if (action == ReleasePlan::Action::kRefuse) ::SetLastError(ERROR_INVALID_PARAMETER);
    return action != ReleasePlan::Action::kPassOn;
  }

  static void* move(const CallOrigin& origin, const AlignedRequest& request, void* old,
                    std::size_t old_size) {
    if (request.size == 0) {
      static_cast<void>(release(gone(old, origin)));
      return nullptr;
    }
    void* const block =
        allocate_for(origin, request, Originals::template get<crt::AlignedOffsetMalloc>(),
                     request.size, request.alignment, request.offset);
    if (block == nullptr) return nullptr;
    const std::size_t kept = std::min(request.size, old_size);
    std::memcpy(block, old, kept);
    if (request.is_zeroed) std::memset(static_cast<char*>(block) + kept, 0, request.size - kept);
    static_cast<void>(release(gone(old, origin)));
    return block;
  }

  /// Returns true if the library allocated `block`. The word before `block` then points to a heap
  /// block around `block`. Returns false if the sink knows `block` itself.
  static bool is_librarys(void* block) noexcept {
    if (Sink::usable_size(block).verdict == Verdict::kKnown) return false;
    const os::ErrnoGuard preserve_error;
    const std::uintptr_t around = WindowsAlignedMemory::librarys_word(block);
    const std::uintptr_t distance = reinterpret_cast<std::uintptr_t>(block) - around;
    if (around == 0 || distance < sizeof(void*)) return false;
    auto* const outer = reinterpret_cast<void*>(around);
    const BlockLookup known = Sink::usable_size(outer);
    if (known.verdict == Verdict::kKnown) return distance <= known.size;
    const HANDLE heap = Originals::heap();
    const auto is_block = Heaps::template get<ntdll::RtlValidateHeap>()(heap, 0, outer) & 0xFF;
    return is_block != 0 && distance <= Heaps::template get<ntdll::RtlSizeHeap>()(heap, 0, outer);
  }
};

}  // namespace alloctap

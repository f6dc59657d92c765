/// Descriptions, handlers and patches of the aligned allocation functions of Windows' C libraries.
///
/// GCC's and Microsoft's aligned operators new and delete call these functions. Arguments and error
/// results: "_aligned_malloc" and related pages, C runtime library reference (Microsoft).
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "alloctap/event/block_checks.hpp"
#include "alloctap/event/event_sink.hpp"
#include "alloctap/hook/hooked_function.hpp"
#include "alloctap/hook/module_selection.hpp"
#include "alloctap/hook/windows/checked_blocks.hpp"
#include "alloctap/hook/windows/functions.hpp"
#include "alloctap/hook/windows/system_function.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/os/module_symbols.hpp"
#include "alloctap/os/thread_local.hpp"
#include "alloctap/os/windows/module_symbols.hpp"
#include "alloctap/os/windows/wide_path.hpp"
#include "alloctap/runtime/reentrancy_guard.hpp"
#include "alloctap/runtime/static_objects.hpp"

namespace alloctap {

/// Kind of function: selects the handler.
enum class AlignedRole : std::uint8_t { kAllocate, kReallocate, kFree, kMeasure };

/// Arguments of a call, in bytes.
struct AlignedRequest {
  std::size_t size = 0;
  std::size_t alignment = 0;
  /// Offset in bytes from the block's start to the byte that must be aligned.
  std::size_t offset = 0;
  /// Whether bytes beyond the old block's size must be zeroed.
  bool is_zeroed = false;

  /// Returns the alignment that the library applies, which is at least that of a pointer.
  [[nodiscard]] std::size_t real_alignment() const noexcept {
    return std::max(alignment, sizeof(void*));
  }

  /// Returns true if the library accepts the arguments.
  [[nodiscard]] bool is_valid() const noexcept {
    return (alignment == 0 || std::has_single_bit(alignment)) && (offset == 0 || offset < size);
  }

  /// Returns true if the arguments are valid and not too large, and `offset` is a multiple of the
  /// alignment, so that the block's first byte is aligned.
  [[nodiscard]] bool is_plain() const noexcept {
    return is_valid() && alignment <= kLargest && size <= kLargest &&
           offset % real_alignment() == 0;
  }

  /// Size of a request whose `count * size` overflows.
  static constexpr std::size_t kTooMuch = SIZE_MAX;

 private:
  static constexpr std::size_t kLargest = PTRDIFF_MAX / 4;
};

namespace crt {

[[nodiscard]] inline std::size_t multiply(std::size_t count, std::size_t size) noexcept {
  const bool fits = size == 0 || count <= AlignedRequest::kTooMuch / size;
  return fits ? count * size : AlignedRequest::kTooMuch;
}

struct AlignedMalloc {
  static constexpr const char* name = "_aligned_malloc";
  static constexpr AlignedRole role = AlignedRole::kAllocate;
  using Signature = void*(std::size_t size, std::size_t alignment);
  static AlignedRequest request(std::size_t size, std::size_t alignment) noexcept {
    return {size, alignment};
  }
};

struct AlignedOffsetMalloc {
  static constexpr const char* name = "_aligned_offset_malloc";
  static constexpr AlignedRole role = AlignedRole::kAllocate;
  using Signature = void*(std::size_t size, std::size_t alignment, std::size_t offset);
  static AlignedRequest request(std::size_t size, std::size_t alignment,
                                std::size_t offset) noexcept {
    return {size, alignment, offset};
  }
};

struct AlignedRealloc {
  static constexpr const char* name = "_aligned_realloc";
  static constexpr AlignedRole role = AlignedRole::kReallocate;
  using Signature = void*(void* block, std::size_t size, std::size_t alignment);
  static AlignedRequest request(void*, std::size_t size, std::size_t alignment) noexcept {
    return {size, alignment};
  }
};

struct AlignedOffsetRealloc {
  static constexpr const char* name = "_aligned_offset_realloc";
  static constexpr AlignedRole role = AlignedRole::kReallocate;
  using Signature = void*(void* block, std::size_t size, std::size_t alignment, std::size_t offset);
  static AlignedRequest request(void*, std::size_t size, std::size_t alignment,
                                std::size_t offset) noexcept {
    return {size, alignment, offset};
  }
};

struct AlignedRecalloc {
  static constexpr const char* name = "_aligned_recalloc";
  static constexpr AlignedRole role = AlignedRole::kReallocate;
  using Signature = void*(void* block, std::size_t count, std::size_t size, std::size_t alignment);
  static AlignedRequest request(void*, std::size_t count, std::size_t size,
                                std::size_t alignment) noexcept {
    return {multiply(count, size), alignment, 0, true};
  }
};

struct AlignedOffsetRecalloc {
  static constexpr const char* name = "_aligned_offset_recalloc";
  static constexpr AlignedRole role = AlignedRole::kReallocate;
  using Signature = void*(void* block, std::size_t count, std::size_t size, std::size_t alignment,
                          std::size_t offset);
  static AlignedRequest request(void*, std::size_t count, std::size_t size, std::size_t alignment,
                                std::size_t offset) noexcept {
    return {multiply(count, size), alignment, offset, true};
  }
};

struct AlignedFree {
  static constexpr const char* name = "_aligned_free";
  static constexpr AlignedRole role = AlignedRole::kFree;
  using Signature = void(void* block);
};

struct AlignedMsize {
  static constexpr const char* name = "_aligned_msize";
  static constexpr AlignedRole role = AlignedRole::kMeasure;
  using Signature = std::size_t(void* block, std::size_t alignment, std::size_t offset);
};

}  // namespace crt

/// Functions to hook. A library may lack some, but must export _aligned_malloc, _aligned_free and
/// _aligned_offset_malloc.
using WindowsAlignedFunctions =
    FunctionList<crt::AlignedMalloc, crt::AlignedFree, crt::AlignedOffsetMalloc,
                 crt::AlignedRealloc, crt::AlignedOffsetRealloc, crt::AlignedRecalloc,
                 crt::AlignedOffsetRecalloc, crt::AlignedMsize>;

/// Libraries that export the functions. Each library has its own implementation.
inline constexpr std::array<std::string_view, 2> kAlignedLibraries{"msvcrt.dll", "ucrtbase.dll"};

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
/// Some calls still go to the library: calls for unchecked blocks, with invalid arguments, with
/// offsets that are no multiple of the alignment, or for which the checks have no memory. Frees of
/// the library's own blocks also go to the library; the word before such a block points to a known
/// heap block. The heap hooks see all blocks of the library.
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
  /// from the library, so that the library sets the error.
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

  /// Returns false if the library must free the block; true if the block was freed, or if a check
  /// refused the free.
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

/// Entry point of a patched function of the library at index `Library`; see `WindowsEntry`.
template <class Function, class Sink, std::size_t Library,
          class Signature = typename Function::Signature>
struct WindowsAlignedEntry;

template <class Function, class Sink, std::size_t Library, class Result, class... Arguments>
struct WindowsAlignedEntry<Function, Sink, Library, Result(Arguments...)> {
  ALLOCTAP_NOINLINE static Result call(Arguments... arguments) {
    using Calls = WindowsAlignedCalls<Sink, Library>;
    const CallOrigin origin = ALLOCTAP_CALL_ORIGIN();
    if constexpr (Function::role == AlignedRole::kAllocate) {
      return Calls::template allocate<Function>(origin, arguments...);
    } else if constexpr (Function::role == AlignedRole::kReallocate) {
      return Calls::template reallocate<Function>(origin, arguments...);
    } else if constexpr (Function::role == AlignedRole::kFree) {
      return Calls::deallocate(origin, arguments...);
    } else {
      return Calls::measure(arguments...);
    }
  }
};

/// Patches of `WindowsAlignedFunctions` for each C library, prepared when the library is loaded.
/// Patches stay, because live checked blocks must be freed through them. If a function cannot be
/// patched, its library is left unpatched. The heap hooks then check the larger heap blocks around
/// the library's aligned blocks.
class WindowsAlignedPatches {
 public:
  /// Requires the control lock and patched heap functions. Waits for the loader lock.
  template <CheckingSink Sink>
  static void start() {
    if (attach_.load(std::memory_order_relaxed) != nullptr) return;
    attach_.store(&attach<Sink>, std::memory_order_release);
    static_cast<void>(notices_.start());
    std::array<std::uintptr_t, kAlignedLibraries.size()> found{};
    os::visit_loader_modules([&](const os::LoaderModule& module) {
      std::array<char, 1024> buffer;
      const std::string_view path = os::to_utf8(module.path, buffer);
      os::use_slashes(std::span(buffer).first(path.size()));
      const std::size_t library = library_at(path);
      if (library < found.size()) found[library] = module.start;
    });
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (found[i] != 0 && os::pin_module(reinterpret_cast<const void*>(found[i]))) {
        attach<Sink>(i, found[i]);
      }
    }
  }

 private:
  using Attach = void (*)(std::size_t library, std::uintptr_t module);

  /// Returns the index in `kAlignedLibraries`, or the array's size if it lacks the library.
  static std::size_t library_at(std::string_view path) noexcept {
    const std::string_view name = path.substr(path.find_last_of('/') + 1);
    std::size_t i = 0;
    while (i < kAlignedLibraries.size() && !os::is_same_path(kAlignedLibraries[i], name)) ++i;
    return i;
  }

  /// Runs with the loader lock held. Allocates from a heap, as the loader does under this lock.
  static void on_notice(const os::ModuleNotice& notice) noexcept {
    const std::size_t library = library_at(notice.path);
    const Attach attach = attach_.load(std::memory_order_acquire);
    if (library == kAlignedLibraries.size() || attach == nullptr) return;
    const bool is_loaded = notice.what == os::ModuleNotice::What::kLoaded;
    attach(library, is_loaded ? notice.start : 0);
  }

  /// `module` is 0 if the library was unloaded. A reloaded library is not patched again.
  template <class Sink, std::size_t Library = 0>
  static void attach(std::size_t library, std::uintptr_t module) {
    if constexpr (Library < kAlignedLibraries.size()) {
      if (library != Library) return attach<Sink, Library + 1>(library, module);
      using Originals = WindowsAlignedOriginals<Sink, Library>;
      if (module == 0) return Originals::set_complete(false);
      if (taken_up_[Library].exchange(true)) return;
      const ReentrancyGuard guard;
      WindowsPatchGroup& patches = patches_[Library].get();
      if (!prepare<Sink, Library>(module, patches) || !patches.enable()) return patches.clear();
      Originals::set_complete(true);
    }
  }

  /// Returns false if an exported function cannot be patched, or a required function is missing.
  template <class Sink, std::size_t Library>
  static bool prepare(std::uintptr_t module, WindowsPatchGroup& patches) {
    using Originals = WindowsAlignedOriginals<Sink, Library>;
    const os::ExportTable exports(module);
    const MemoryRegions regions = MemoryRegions::read();
    Originals::set_find_heap(exports.find("_get_heap_handle"));
    bool has_all = true;
    WindowsAlignedFunctions::for_each([&](auto function) {
      using Function = decltype(function);
      const auto target =
          WindowsPatchGroup::target_at(exports.find(Function::name), Function::name);
      if (!has_all || target.bytes == 0) return;
      auto* const handler = &WindowsAlignedEntry<Function, Sink, Library>::call;
      const std::uintptr_t original = patches.add(target, handler, regions);
      has_all = original != 0;
      if (has_all) Originals::template set<Function>(original);
    });
    return has_all && Originals::template get<crt::AlignedMalloc>() != nullptr &&
           Originals::template get<crt::AlignedOffsetMalloc>() != nullptr &&
           Originals::template get<crt::AlignedFree>() != nullptr;
  }

  static inline constinit std::atomic<Attach> attach_{nullptr};
  static inline constinit std::array<std::atomic<bool>, kAlignedLibraries.size()> taken_up_{};
  static inline constinit std::array<NoDestroyLazy<WindowsPatchGroup>, kAlignedLibraries.size()>
      patches_;
  static inline constinit os::ModuleNotices notices_{&on_notice};
};

}  // namespace alloctap

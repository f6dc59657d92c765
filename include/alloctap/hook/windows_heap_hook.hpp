/// Backend that patches ntdll.dll's heap, page and view functions (Windows).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "alloctap/hook/hook_backend.hpp"
#include "alloctap/hook/inline/function_patch.hpp"
#include "alloctap/hook/module_selection.hpp"
#include "alloctap/hook/windows/aligned_functions.hpp"
#include "alloctap/hook/windows/entry_points.hpp"
#include "alloctap/hook/windows/heap_calls.hpp"
#include "alloctap/hook/windows/local_functions.hpp"
#include "alloctap/hook/windows/string_slots.hpp"
#include "alloctap/hook/windows/system_function.hpp"
#include "alloctap/os/module_symbols.hpp"
#include "alloctap/runtime/static_objects.hpp"
#include "alloctap/status.hpp"

namespace alloctap {

/// All allocation APIs end in the functions of `functions.hpp`. This backend patches the functions'
/// prologues (`function_patch.hpp`), so it sees calls from any module, including ntdll.dll's own.
/// `uninstall` restores the code byte for byte, unless blocks are checked. Live checked blocks may
/// begin inside a heap block, so the patches then stay, and no other tracker can hook this process.
/// The module with the handlers is never unloaded, because threads may be inside a handler.
///
/// `install` is all or nothing: if a function cannot be patched, it undoes the other patches and
/// returns the reason. It skips functions that this Windows lacks. Recording begins after all
/// functions are patched. While `install` has stopped a thread, it takes no lock that the thread
/// may hold. If the tracker is linked into the executable and has no checks, `install` does not
/// wait for the loader lock.
///
/// With checks, `_aligned_malloc` is also hooked in the C libraries (`aligned_functions.hpp`),
/// because the heap sees only a larger block around the aligned block. LocalAlloc and GlobalAlloc
/// are hooked (`local_functions.hpp`), because the system hides bad frees of fixed blocks from the
/// heap.
///
/// Choose `WindowsImportHook` if the process forbids changing code (dynamic code policy).
struct WindowsHeapHook {
  static constexpr std::string_view name = "windows-heap";
  static constexpr HookFeatures features{.earlier_blocks = true};
  static constexpr HookCapabilities capabilities{
      .target = HookTarget::kProcessAllocator,
      .owns_every_free = true,
      .checks_blocks = true,
      .uses_guard_pages = true,
      .may_refuse = true,
      .sees_later_modules = true,
      .sees_mappings = true,
      .blind_spots =
          "calls before the start, what a call allocates below for itself, allocators that take "
          "their pages by system calls of their own, stacks of threads, which of malloc, new and "
          "HeapAlloc a block came from",
  };

  template <EventSink Sink>
  static Status install() {
    if (stays_) return install_again<Sink>();
    std::vector<FunctionPatch>& patches = patches_.get();
    patches.clear();
    Status status = prepare<Sink>(patches);
    for (FunctionPatch& patch : patches) {
      if (status.ok()) status = patch.enable();
    }
    if (!status.ok()) {
      patches.clear();
      return status;
    }
    stop_ = &stop_recording<Sink>;
    if constexpr (CheckingSink<Sink>) {
      stays_ = true;
      WindowsOriginals<Sink>::begin_checking();
    }
    WindowsOriginals<Sink>::set_recording(true);
    PreexistingBlocks::note();
    start_beside_heaps<Sink>();
    start_strings<Sink>();
    return status;
  }

  /// Returns nullopt if there were too many blocks, or if the heaps could not be walked.
  [[nodiscard]] static std::optional<std::span<const AddressRange>> earlier_blocks() noexcept {
    return PreexistingBlocks::get();
  }

  static void uninstall() noexcept {
    if (stop_strings_ != nullptr) stop_strings_();
    stop_strings_ = nullptr;
    if (stop_ != nullptr) stop_();
    if (!stays_) patches_.get().clear();
  }

 private:
  template <EventSink Sink>
  static Status install_again() {
    if (stop_ != &stop_recording<Sink>) {
      return Status::failed_precondition(
          "WindowsHeapHook: a tracker that checks blocks has the functions of ntdll.dll until the "
          "process ends, because it alone can give back the blocks that came from it. Let that one "
          "be the process's only tracker with this hook");
    }
    WindowsOriginals<Sink>::set_recording(true);
    PreexistingBlocks::note();
    start_beside_heaps<Sink>();
    start_strings<Sink>();
    return Status();
  }

  template <EventSink Sink>
  static void stop_recording() noexcept {
    WindowsOriginals<Sink>::set_recording(false);
  }

  /// Hooks the aligned functions, LocalAlloc and GlobalAlloc, if blocks are checked.
  template <EventSink Sink>
  static void start_beside_heaps() {
    if constexpr (CheckingSink<Sink> && requires { Sink::has_checks(); }) {
      if (!Sink::has_checks()) return;
      WindowsAlignedPatches::start<Sink>();
      WindowsLocalPatches::start<Sink>();
    }
  }

  /// Redirects the string functions, for `StringChecks`.
  template <EventSink Sink>
  static void start_strings() noexcept {
    if constexpr (requires { requires Sink::kMayCheckStrings; }) {
      if (!Sink::checks_strings()) return;
      WindowsStringSlots::clear();
      for_each_string_target<Sink>(WindowsStringSlots::add);
      WindowsStringSlots::start();
      stop_strings_ = &WindowsStringSlots::stop;
    }
  }

  /// Prepares the patches without enabling them. Publishes the addresses of all originals.
  template <EventSink Sink>
  static Status prepare(std::vector<FunctionPatch>& patches) {
    Status status;
    const MemoryRegions regions = MemoryRegions::read();
    WindowsFunctionsFor<Sink>::for_each([&](auto function) {
      using Function = decltype(function);
      const auto handler = reinterpret_cast<const void*>(&WindowsEntry<Function, Sink>::call);
      const PatchTarget target = find_system_target(Function::name);
      if (!status.ok() || target.address == nullptr) return;
      // Only the handler's module is pinned, because ntdll.dll is never unloaded.
      os::pin_module(handler);
      auto patch = FunctionPatch::prepare(target, handler, regions);
      if (!patch.ok()) {
        status = patch.status();
        return;
      }
      auto* const original = patch->original(&WindowsEntry<Function, Sink>::call);
      WindowsOriginals<Sink>::template set<Function>(reinterpret_cast<std::uintptr_t>(original));
      patches.push_back(*std::move(patch));
    });
    if (status.ok() && patches.empty()) {
      return Status::internal("WindowsHeapHook: ntdll.dll exports none of the functions");
    }
    return status;
  }

  using Stop = void (*)() noexcept;
  static inline constinit Stop stop_ = nullptr;
  static inline constinit Stop stop_strings_ = nullptr;
  /// True if the functions stay patched after `uninstall`.
  static inline constinit bool stays_ = false;
  static inline constinit NoDestroyLazy<std::vector<FunctionPatch>> patches_;
};

static_assert(HookBackend<WindowsHeapHook>);

}  // namespace alloctap

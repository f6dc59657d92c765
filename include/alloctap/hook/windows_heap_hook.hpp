/// Hooks heaps, pages and views on Windows in the functions of ntdll.dll themselves.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "alloctap/hook/hook_backend.hpp"
#include "alloctap/hook/inline/function_patch.hpp"
#include "alloctap/hook/memory_regions.hpp"
#include "alloctap/hook/windows/aligned_patches.hpp"
#include "alloctap/hook/windows/entry_points.hpp"
#include "alloctap/hook/windows/local_patches.hpp"
#include "alloctap/hook/windows/preexisting_blocks.hpp"
#include "alloctap/hook/windows/string_entries.hpp"
#include "alloctap/hook/windows/string_slots.hpp"
#include "alloctap/hook/windows/system_function.hpp"
#include "alloctap/os/module_symbols.hpp"
#include "alloctap/runtime/no_destroy_lazy.hpp"
#include "alloctap/status.hpp"

namespace alloctap {

/// Whatever a program allocates with ends in the functions of `functions.hpp`. They are
/// patched (`function_patch.hpp`): a call is seen wherever it comes from, ntdll.dll itself
/// included. When the tracker stops they are restored, byte for byte; but not where it checks
/// blocks, because those that are still out there may begin inside of a block of the heap's: then
/// no other tracker can hook them in this process. The module with the handlers is never unloaded:
/// threads may be inside them.
///
/// All or nothing: if one of them cannot be patched, `install` fails with that one's reason, and
/// all are as they were. Functions that this Windows does not have are left out. Calls are recorded
/// from the moment when all of them are patched. No thread is stopped with a lock that this needs,
/// and the loader is not asked.
///
/// A tracker that checks blocks has those of `_aligned_malloc` from the C libraries' own functions
/// (`aligned_patches.hpp`), because in the heap they lie inside of larger ones; and those
/// of LocalAlloc and GlobalAlloc that do not move from theirs (`local_patches.hpp`),
/// because the system shows the heap no bad free of them.
///
/// Where code must not be changed (a process's policy on dynamic code), `WindowsImportHook` may do.
struct WindowsHeapHook {
  static constexpr std::string_view name = "windows-heap";
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

  /// Where they were few.
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

  /// For checks of blocks.
  template <EventSink Sink>
  static void start_beside_heaps() {
    if constexpr (CheckingSink<Sink> && requires { Sink::has_checks(); }) {
      if (!Sink::has_checks()) return;
      WindowsAlignedPatches::start<Sink>();
      WindowsLocalPatches::start<Sink>();
    }
  }

  /// For `StringChecks`.
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

  /// None changed yet; originals are known before any is patched.
  template <EventSink Sink>
  static Status prepare(std::vector<FunctionPatch>& patches) {
    Status status;
    const MemoryRegions regions = MemoryRegions::read();
    WindowsFunctionsFor<Sink>::for_each([&](auto function) {
      using Function = decltype(function);
      const auto handler = reinterpret_cast<const void*>(&WindowsEntry<Function, Sink>::call);
      const PatchTarget target = find_system_target(Function::name);
      if (!status.ok() || target.address == nullptr) return;
      // Of the target's module nobody can let go.
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
  /// Whether the functions stay patched.
  static inline constinit bool stays_ = false;
  static inline constinit NoDestroyLazy<std::vector<FunctionPatch>> patches_;
};

static_assert(HookBackend<WindowsHeapHook>);

}  // namespace alloctap

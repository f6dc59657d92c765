/// Patches the aligned allocation functions of Windows' C libraries.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "alloctap/event/block_checks.hpp"
#include "alloctap/hook/memory_regions.hpp"
#include "alloctap/hook/windows/aligned_calls.hpp"
#include "alloctap/hook/windows/aligned_functions.hpp"
#include "alloctap/hook/windows/patch_group.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/os/module_notices.hpp"
#include "alloctap/os/windows/export_table.hpp"
#include "alloctap/os/windows/loader_modules.hpp"
#include "alloctap/os/windows/system_path.hpp"
#include "alloctap/os/windows/utf8.hpp"
#include "alloctap/os/windows/wide_path.hpp"
#include "alloctap/runtime/no_destroy_lazy.hpp"
#include "alloctap/runtime/reentrancy_guard.hpp"

namespace alloctap {

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

/// Patches for each C library, prepared when the library is loaded. Patches stay, because live
/// checked blocks must be freed through them. If a function cannot be patched, its library is left
/// unpatched. The heap hooks then check the larger heap blocks around the library's aligned blocks.
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

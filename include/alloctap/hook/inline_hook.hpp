/// Hooks the allocation functions themselves, for every caller in the process.
#pragma once

#include <absl/status/status.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "alloctap/guard/late_construction.hpp"
#include "alloctap/hook/allocation_functions.hpp"
#include "alloctap/hook/function_patch.hpp"
#include "alloctap/hook/function_patch/thunk.hpp"
#include "alloctap/hook/hook_backend.hpp"
#include "alloctap/hook/redirected_entry.hpp"
#include "alloctap/os/function_symbol.hpp"
#include "alloctap/os/module_symbols.hpp"

namespace alloctap {

/// The functions that the program knows by the names of `AllocationFunctions` are patched
/// (`function_patch.hpp`): a call is seen wherever it comes from and whatever it went through.
/// Functions that are one under several names are patched once. When the tracker stops they are
/// restored, byte for byte.
///
/// All or nothing: if one of them cannot be patched, `install` fails with that one's reason, and
/// all are as they were. Calls are recorded from the moment when all of them are patched.
struct InlineHook {
  static constexpr std::string_view name = "inline";
  static constexpr HookCapabilities capabilities{
      .target = HookTarget::kProcessAllocator,
      .owns_every_free = true,
      .may_refuse = true,
      .sees_later_modules = true,
      .sees_mappings = true,
      // When a thread ends, glibc calls free for what lies in its cache, once more, and for the
      // cache.
      .misses_allocations = true,
      .blind_spots =
          "calls before the start, allocators that a module brings for itself, calls that the C "
          "library makes past its own functions, raw system calls",
  };

  template <EventSink Sink>
  static absl::Status install() {
    std::vector<FunctionPatch>& patches = patches_.get();
    patches.clear();
    absl::Status status = prepare<Sink>(patches);
    for (FunctionPatch& patch : patches) {
      if (status.ok()) status = patch.enable();
    }
    if (!status.ok()) {
      patches.clear();
      return status;
    }
    stop_ = []() noexcept { RedirectedOriginals<Sink>::set_recording(false); };
    RedirectedOriginals<Sink>::set_recording(true);
    return status;
  }

  static void uninstall() noexcept {
    if (stop_ != nullptr) stop_();
    patches_.get().clear();
  }

  /// In a forked child that is not to be tracked: the functions stay patched, and calls pass
  /// through. Restoring them would take the child, which mostly calls exec next, a hundred system
  /// calls.
  static void abandon() noexcept {
    if (stop_ != nullptr) stop_();
  }

  /// For a library that is preloaded, starts the tracker in its constructor and exports a dlclose
  /// which tells the sink; to be called before the first start. What is closed is told once. And no
  /// module is pinned: those that are there then stay, and the loader would take a call of dlopen
  /// for the time to run everyone's constructors.
  static void serves_preloaded_library() noexcept { preloaded_ = true; }

 private:
  /// dlclose: what a module's destructors free is the program's, so no guard is held.
  template <EventSink Sink>
  struct Close {
    static inline constinit std::atomic<int (*)(void*)> original{nullptr};
    ALLOCTAP_NOINLINE static int call(void* handle) {
      auto* const close = original.load(std::memory_order_acquire);
      if (!RedirectedOriginals<Sink>::recording()) return close(handle);
      Sink::on_modules_unloading();
      const int error = close(handle);
      Sink::on_modules_unloaded();
      return error;
    }
  };

  /// Every function once, none changed yet; originals are known before any is patched.
  template <EventSink Sink>
  static absl::Status prepare(std::vector<FunctionPatch>& patches) {
    std::vector<const void*> seen;
    absl::Status status;
    const auto add = [&](const char* symbol, auto* handler, auto&& publish) {
      if (!status.ok()) return;
      const PatchTarget target = find(symbol);
      if (target.address == nullptr) return;
      if (std::find(seen.begin(), seen.end(), target.address) != seen.end()) return;
      seen.push_back(target.address);
      auto patch = FunctionPatch::prepare(target, reinterpret_cast<const void*>(handler));
      if (!patch.ok()) {
        status = patch.status();
        return;
      }
      publish(patch->original(handler));
      patches.push_back(*std::move(patch));
    };
    AllocationFunctions::for_each([&](auto function) {
      using Function = decltype(function);
      add(Function::name, &RedirectedEntry<Function, Sink>::call, [](auto* original) {
        RedirectedOriginals<Sink>::template set<Function>(
            reinterpret_cast<std::uintptr_t>(original));
      });
    });
    if (!preloaded_) {
      add("dlclose", &Close<Sink>::call, [](auto* original) { Close<Sink>::original = original; });
    }
    return status;
  }

  /// The function of that name; no address if there is none. A symbol without a length is a stub of
  /// the program, which stands for the function.
  static PatchTarget find(const char* symbol) {
    PatchTarget target{
        .address = os::default_symbol(symbol), .name = symbol, .modules_stay = preloaded_};
    if (target.address == nullptr) return target;
    target.bytes = os::find_function_symbol(target.address).bytes;
    if (target.bytes == 0) target.address = follow_thunks(target.address);
    return target;
  }

  using Stop = void (*)() noexcept;
  static inline constinit Stop stop_ = nullptr;
  static inline constinit bool preloaded_ = false;
  static inline constinit LateConstruction<std::vector<FunctionPatch>> patches_;
};

static_assert(HookBackend<InlineHook>);

}  // namespace alloctap

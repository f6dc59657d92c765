/// Backend that patches the prologues of the allocation functions, for every caller in the process.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "alloctap/hook/allocation_functions.hpp"
#include "alloctap/hook/hook_backend.hpp"
#include "alloctap/hook/inline/function_patch.hpp"
#include "alloctap/hook/inline/patch_target.hpp"
#include "alloctap/hook/module_unloading.hpp"
#include "alloctap/hook/program_operators.hpp"
#include "alloctap/hook/redirected_entry.hpp"
#include "alloctap/os/module_symbols.hpp"
#include "alloctap/runtime/static_objects.hpp"
#include "alloctap/status.hpp"

namespace alloctap {

/// List of the functions that cannot be patched, as a clause for reports. Constant-initialized; not
/// thread-safe.
class UnpatchedFunctions {
 public:
  void clear() noexcept { used_ = 0; }

  void add(std::string_view name) noexcept {
    if (std::string_view(text_, used_).find(name) != std::string_view::npos) return;
    append(used_ == 0 ? "functions that cannot be patched (" : ", ");
    append(name);
  }

  /// Returns the clause, then the clause `besides` (other blind spots). Valid until the next call.
  std::string_view text(std::string_view besides) noexcept {
    if (used_ == 0) return besides;
    const std::size_t names = used_;
    append("), ");
    append(besides);
    return {text_, std::exchange(used_, names)};
  }

 private:
  void append(std::string_view text) noexcept {
    const std::size_t count = std::min(text.size(), sizeof text_ - used_);
    std::copy_n(text.data(), count, text_ + used_);
    used_ += count;
  }

  char text_[1024] = {};
  std::size_t used_ = 0;
};

/// Backend that patches all `AllocationFunctions` that the program can resolve
/// (`function_patch.hpp`). It sees calls however they reach the function. If several symbols name
/// one function, it is patched once. `uninstall` restores the code byte for byte.
///
/// Functions that are too short, or whose code cannot be relocated, stay unpatched, and reports
/// name them. If an operator cannot be patched, all operators stay unpatched, and their blocks are
/// recorded as blocks of malloc. `install` fails without side effects if malloc or free cannot be
/// patched, or on any other error. Recording begins after all functions are patched.
struct InlineHook {
  static constexpr std::string_view name = "inline";
  static constexpr HookFeatures features{.active_capabilities = true};
  static constexpr HookCapabilities capabilities{
      .target = HookTarget::kProcessAllocator,
      .owns_every_free = true,
      .may_refuse = true,
      .sees_later_modules = true,
      .sees_mappings = true,
      // At thread exit, glibc frees the tcache and its blocks, which the program already freed.
      .misses_allocations = true,
      .blind_spots =
          "calls before the start, allocators that a module brings for itself, calls that the C "
          "library makes past its own functions, raw system calls",
  };

  template <EventSink Sink>
  static Status install() {
    std::vector<FunctionPatch>& patches = patches_.get();
    ProgramOperators::find();
    left_out_.clear();
    Status status = prepare_until_settled<Sink>(patches);
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

  /// Returns `capabilities`, with additional blind spots: functions that the last start could not
  /// patch.
  [[nodiscard]] static HookCapabilities active_capabilities() noexcept {
    HookCapabilities active = capabilities;
    active.blind_spots = left_out_.text(capabilities.blind_spots);
    return active;
  }

  /// Makes all calls pass through in a forked child that is not tracked. The functions stay
  /// patched: restoring them takes a hundred system calls, and most children call exec next.
  static void abandon() noexcept {
    if (stop_ != nullptr) stop_();
  }

  /// Call before the first start from a preloaded library that starts the tracker in its
  /// constructor and interposes dlclose. dlclose is then not patched, because the sink would be
  /// notified twice. No module is pinned, because pinning calls dlopen, which would run all other
  /// constructors early. Modules that are loaded before the constructor runs are never unloaded
  /// anyway.
  static void serves_preloaded_library() noexcept { preloaded_ = true; }

 private:
  /// Handler of dlclose. Holds no `ReentrancyGuard` during the original call, because frees in the
  /// closed module's destructors count as frees by the program.
  template <EventSink Sink>
  struct Close {
    static inline constinit std::atomic<int (*)(void*)> original{nullptr};
    ALLOCTAP_NOINLINE static int call(void* handle) {
      auto* const close = original.load(std::memory_order_acquire);
      if (!RedirectedOriginals<Sink>::recording()) return close(handle);
      leave_out_caller();
      Sink::on_modules_unloading();
      const int error = close(handle);
      Sink::on_modules_unloaded();
      return error;
    }
  };

  /// The patches that one start prepares, not yet enabled.
  struct Preparation {
    std::vector<FunctionPatch>& patches;
    std::vector<const void*> seen = {};
    Status status = {};
    /// True if an operator cannot be patched. Preparation must then be repeated without operators.
    bool has_left_out_operators = false;

    /// Prepares the patch of `symbol` and publishes the original. Ignores undefined symbols,
    /// aliases of prepared functions, and errors for which `is_left_out` returns true.
    template <class Handler, class Publish, class IsLeftOut>
    void add(const char* symbol, Handler* handler, Publish publish, IsLeftOut is_left_out) {
      const PatchTarget target = find(symbol);
      if (!status.ok() || target.address == nullptr || has(target.address)) return;
      auto patch = FunctionPatch::prepare(target, reinterpret_cast<const void*>(handler));
      if (patch.ok()) {
        seen.push_back(target.address);
        publish(patch->original(handler));
        patches.push_back(*std::move(patch));
      } else if (!has(follow_thunks(target.address)) && !is_left_out(patch.status())) {
        status = patch.status();
      }
    }

   private:
    [[nodiscard]] bool has(const void* address) const {
      return std::find(seen.begin(), seen.end(), address) != seen.end();
    }
  };

  template <EventSink Sink>
  static Status prepare_until_settled(std::vector<FunctionPatch>& patches) {
    for (;;) {
      patches.clear();
      Preparation preparation{.patches = patches};
      prepare<Sink>(preparation);
      if (!preparation.has_left_out_operators || !preparation.status.ok())
        return preparation.status;
    }
  }

  /// Prepares all patches. Publishes the addresses of all originals before any function is patched.
  template <EventSink Sink>
  static void prepare(Preparation& preparation) {
    AllocationFunctions::for_each([&](auto function) {
      using Function = decltype(function);
      if (ProgramOperators::serve<Function>()) return;
      preparation.add(
          Function::name, &RedirectedEntry<Function, Sink>::call,
          [](auto* original) {
            RedirectedOriginals<Sink>::template set<Function>(
                reinterpret_cast<std::uintptr_t>(original));
          },
          [&](const Status& status) { return leave_out<Function>(status, preparation); });
    });
    if (preloaded_) return;
    preparation.add(
        "dlclose", &Close<Sink>::call, [](auto* original) { Close<Sink>::original = original; },
        [](const Status&) { return false; });
  }

  /// Adds `Function` to the list of unpatched functions. Adds nothing and returns false if the
  /// tracker needs `Function`, or if the error is not specific to `Function`.
  template <class Function>
  static bool leave_out(const Status& status, Preparation& preparation) noexcept {
    constexpr bool kIsNeeded =
        std::is_same_v<Function, functions::Malloc> || std::is_same_v<Function, functions::Free>;
    if (kIsNeeded || status.code() != StatusCode::kUnimplemented) return false;
    left_out_.add(Function::name);
    if constexpr (kIsOperator<Function>) {
      ProgramOperators::pass_through();
      preparation.has_left_out_operators = true;
    }
    return true;
  }

  /// Returns the function that `symbol` names; the address is null if `symbol` is undefined. A
  /// symbol without a size is a stub in the executable; the result is then the stub's destination.
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
  static inline constinit UnpatchedFunctions left_out_;
  static inline constinit NoDestroyLazy<std::vector<FunctionPatch>> patches_;
};

static_assert(HookBackend<InlineHook>);

}  // namespace alloctap

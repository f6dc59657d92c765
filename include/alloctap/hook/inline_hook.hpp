/// Hooks the allocation functions themselves, for every caller in the process.
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
#include "alloctap/hook/inline/thunk.hpp"
#include "alloctap/hook/internal_frames.hpp"
#include "alloctap/hook/program_operators.hpp"
#include "alloctap/hook/redirected_entry.hpp"
#include "alloctap/os/function_symbol.hpp"
#include "alloctap/os/module_symbols.hpp"
#include "alloctap/runtime/no_destroy_lazy.hpp"
#include "alloctap/status.hpp"

namespace alloctap {

/// Names of functions that cannot be patched, and the clause of a report that lists them.
/// Constant-initialized; not thread-safe.
class UnpatchedFunctions {
 public:
  void clear() noexcept { used_ = 0; }

  void add(std::string_view name) noexcept {
    if (std::string_view(text_, used_).find(name) != std::string_view::npos) return;
    append(used_ == 0 ? "functions that cannot be patched (" : ", ");
    append(name);
  }

  /// Valid until the next call of this object. `besides` is what else is not seen.
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

/// The functions that the program knows by the names of `AllocationFunctions` are patched
/// (`function_patch.hpp`): a call is seen wherever it comes from and whatever it went through.
/// Functions that are one under several names are patched once. When the tracker stops they are
/// restored, byte for byte.
///
/// A function that is too short to patch, or has code that cannot be moved, is left out, and
/// reports name it; operators new and delete are left out together, and their blocks
/// recorded as malloc's. Without malloc or free, or for any other reason, `install` fails, and all
/// are as they were. Calls are recorded from the moment when all are patched.
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

  /// With the functions that were left out at the last start.
  [[nodiscard]] static HookCapabilities active_capabilities() noexcept {
    HookCapabilities active = capabilities;
    active.blind_spots = left_out_.text(capabilities.blind_spots);
    return active;
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
      leave_out_caller();
      Sink::on_modules_unloading();
      const int error = close(handle);
      Sink::on_modules_unloaded();
      return error;
    }
  };

  /// Which patches one start needs, none enabled yet.
  struct Preparation {
    std::vector<FunctionPatch>& patches;
    std::vector<const void*> seen = {};
    Status status = {};
    /// Whether operators are to be left out, of which some may be in `patches`.
    bool has_left_out_operators = false;

    /// Prepares the patch of `symbol`, where there is such a function and it is none of those
    /// before; `publish` stores the original. An error that `is_left_out` takes is none.
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

  /// Originals are known before any function is patched.
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

  /// False where the tracker is of no use without `Function`, or the reason is not the function's.
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
  static inline constinit UnpatchedFunctions left_out_;
  static inline constinit NoDestroyLazy<std::vector<FunctionPatch>> patches_;
};

static_assert(HookBackend<InlineHook>);

}  // namespace alloctap

/// Backend that patches GOT slots of chosen modules (ELF).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

#include "alloctap/hook/allocation_functions.hpp"
#include "alloctap/hook/hook_backend.hpp"
#include "alloctap/hook/plt/engine.hpp"
#include "alloctap/hook/program_operators.hpp"
#include "alloctap/hook/redirected_entry.hpp"
#include "alloctap/os/module_symbols.hpp"
#include "alloctap/status.hpp"

namespace alloctap {

/// A module calls imported functions through GOT slots that the loader fills. This backend stores
/// handlers in the slots of chosen modules, and restores the slots when the tracker stops. Calls
/// from other modules cost nothing and are not seen.
///
/// Each function list is a group with its own module patterns. By default, heap functions are
/// hooked in all modules and mapping functions in no module. This example also hooks an engine's
/// own functions, by default in all modules that import them:
///
/// - `struct EngineAllocate : functions::Allocates<AllocationKind::kMalloc>` with `name`,
///   `Signature` and `request` (`hooked_function.hpp`), and `EngineFree` accordingly;
/// - `using EngineFunctions = FunctionList<EngineAllocate, EngineFree>;`
/// - `using Hook = PltHookWith<EngineFunctions>;` in the config;
/// - `Hook::modules_matching("/libgame[^/]*$")` for heap functions,
///   `Hook::group<MappingFunctions>().modules_matching("/libgpu")`,
///   `Hook::group<EngineFunctions>().modules_not_matching("/libaudio")`.
///
/// Choose modules before `Tracker::start()`. Control plane. `refresh` and `report` are thread-safe,
/// but must not be called from a dump's output.
template <class... EngineLists>
class PltHookWith {
 public:
  static constexpr std::string_view name = "plt";
  static constexpr HookCapabilities capabilities{
      .target = HookTarget::kProcessAllocator,
      .owns_every_free = false,
      .may_refuse = true,
      .sees_later_modules = true,
      .sees_mappings = true,
      .misses_allocations = true,
      .blind_spots =
          "calls from modules that were not chosen, from constructors of modules opened later, "
          "from "
          "the loader and from other namespaces (dlmopen), calls bound inside a module (static "
          "allocators, -Bsymbolic), addresses that dlsym returned, mappings unless they were asked "
          "for, raw system calls",
  };

  /// Returns the `ModuleSelection` of the function group `List`.
  template <class List>
  [[nodiscard]] static ModuleSelection& group() noexcept {
    return selection_<List>;
  }

  /// Shorthands for functions of the heap group's `ModuleSelection`.
  static Status modules_matching(const std::string& pattern) {
    return group<HeapFunctions>().modules_matching(pattern);
  }
  static Status modules_not_matching(const std::string& pattern) {
    return group<HeapFunctions>().modules_not_matching(pattern);
  }
  static void modules_where(ModuleSelection::Predicate predicate) {
    group<HeapFunctions>().modules_where(predicate);
  }

  /// Removes all patterns of all groups. Must not be called while a tracker runs.
  static void clear_modules() {
    group<HeapFunctions>().clear();
    group<MappingFunctions>().clear();
    (group<EngineLists>().clear(), ...);
  }

  /// Excludes the module that contains the address `code`, for example a preloaded library with the
  /// tracker. Returns false if four modules are already excluded.
  static bool leave_alone(const void* code) noexcept {
    for (const void*& place : PltState::left_alone) {
      if (place != nullptr && place != code) continue;
      place = code;
      return true;
    }
    return false;
  }

  /// Call before the first start from a preloaded library whose interposed dlclose notifies the
  /// sink. The hooked dlclose then does not notify the sink a second time.
  static void reports_modules(bool told = true) noexcept {
    PltLoaderCalls::set_other_notices(told);
  }

  /// Hooks modules opened since the last walk over the GOT slots. Needed for modules opened without
  /// dlopen, or to hook modules at once. If another thread holds the control lock for over 0.1 s,
  /// the modules are hooked at this thread's next dlopen, dlsym or dlclose.
  static void refresh() noexcept { static_cast<void>(PltEngine::refresh()); }

  /// Returns how many slots of each module are hooked now, and why slots are not hooked.
  [[nodiscard]] static PltReport report() { return PltEngine::report(); }

  template <EventSink Sink>
  static Status install() {
    plt_state().targets.clear();
    plt_state().selections = kSelections;
    bool fits = PltLoaderCalls::add_to(plt_state().targets) && add<HeapFunctions, Sink>(0) &&
                add<MappingFunctions, Sink>(1);
    std::uint32_t next = 2;
    ((fits = fits && add<EngineLists, Sink>(next++)), ...);
    if (!fits) {
      return Status::invalid_argument("PltHook: more than ", PltTargets::kMaxCount,
                                      " functions to hook");
    }
    static constexpr PltLoaderCallbacks kCallbacks{
        .refresh = &PltEngine::refresh,
        .unloading = []() noexcept { Sink::on_modules_unloading(); },
        .unloaded = []() noexcept { Sink::on_modules_unloaded(); }};
    PltLoaderCalls::set(kCallbacks);
    stop_ = []() noexcept { RedirectedOriginals<Sink>::set_recording(false); };
    RedirectedOriginals<Sink>::set_recording(true);
    Status status = PltEngine::install();
    if (!status.ok()) RedirectedOriginals<Sink>::set_recording(false);
    ProgramOperators::find(&has_hooked_slots);
    return status;
  }

  /// Makes calls pass through in a forked child that is not tracked. Slots keep their handlers:
  /// restoring needs the loader's lock, which a thread of the parent may have held at the fork.
  static void abandon() noexcept {
    PltState::active.store(false, std::memory_order_release);
    if (stop_ != nullptr) stop_();
  }

  static void uninstall() noexcept {
    if (stop_ == nullptr) return;
    PltEngine::uninstall();
    stop_();
  }

 private:
  static_assert(sizeof...(EngineLists) + 2 < kLoaderGroup, "too many groups of functions");

  /// Returns true if the module that starts at `module` has a hooked slot. Requires the control
  /// lock.
  static bool has_hooked_slots(std::uintptr_t module) noexcept {
    const auto& slots = plt_state().hooked;
    return std::any_of(slots.begin(), slots.end(), [=](const HookedSlot& slot) {
      return os::find_module(slot.address).start == module;
    });
  }

  template <class List, EventSink Sink>
  [[nodiscard]] static bool add(std::uint32_t group) noexcept {
    bool fits = true;
    List::for_each([&](auto function) {
      using Function = decltype(function);
      fits =
          fits &&
          plt_state().targets.add(
              {.name = Function::name,
               .handler = reinterpret_cast<std::uintptr_t>(&RedirectedEntry<Function, Sink>::call),
               .group = group,
               .publish = &RedirectedOriginals<Sink>::template set<Function>});
    });
    return fits;
  }

  template <class List>
  static inline constinit ModuleSelection selection_{!std::is_same_v<List, MappingFunctions>};

  static constexpr std::array<const ModuleSelection*, 2 + sizeof...(EngineLists)> kSelections{
      &selection_<HeapFunctions>, &selection_<MappingFunctions>, &selection_<EngineLists>...};

  using Stop = void (*)() noexcept;
  static inline constinit Stop stop_ = nullptr;
};

using PltHook = PltHookWith<>;

static_assert(HookBackend<PltHook>);

}  // namespace alloctap

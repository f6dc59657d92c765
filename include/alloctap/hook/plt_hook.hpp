/// Hooks the calls of chosen modules, in the slots through which they call.
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
#include "alloctap/os/find_module.hpp"
#include "alloctap/status.hpp"

namespace alloctap {

/// A module calls what it imports through slots that the loader fills with addresses. This backend
/// puts its handlers there, in the modules that patterns choose, and gives the slots back what they
/// held when the tracker stops. Calls of other modules cost nothing and are not seen.
///
/// Each list of functions is a group with patterns of its own. The heap's functions are hooked in
/// all modules unless patterns say otherwise; pages are opt-in; an engine's own functions are
/// hooked where they are imported:
///
/// - `struct EngineAllocate : functions::Allocates<AllocationKind::kMalloc>` with `name`,
///   `Signature` and `request` (`function_description.hpp`), and the like for what frees;
/// - `using EngineFunctions = FunctionList<EngineAllocate, EngineFree>;`
/// - `using Hook = PltHookWith<EngineFunctions>;` in the config;
/// - `Hook::modules_matching("/libgame[^/]*$")` for the heap's functions,
///   `Hook::group<MappingFunctions>().modules_matching("/libgpu")`,
///   `Hook::group<EngineFunctions>().modules_not_matching("/libaudio")`.
///
/// Choose modules before `Tracker::start()`. All functions belong to the control plane; `refresh`
/// and `report` are thread-safe and may not be called from what an output of a dump calls.
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

  /// The patterns for one of the lists.
  template <class List>
  [[nodiscard]] static ModuleSelection& group() noexcept {
    return selection_<List>;
  }

  /// For the heap's functions: as `ModuleSelection`.
  static Status modules_matching(const std::string& pattern) {
    return group<HeapFunctions>().modules_matching(pattern);
  }
  static Status modules_not_matching(const std::string& pattern) {
    return group<HeapFunctions>().modules_not_matching(pattern);
  }
  static void modules_where(ModuleSelection::Predicate predicate) {
    group<HeapFunctions>().modules_where(predicate);
  }

  /// Forgets all patterns, of all groups. Not while a session lives.
  static void clear_modules() {
    group<HeapFunctions>().clear();
    group<MappingFunctions>().clear();
    (group<EngineLists>().clear(), ...);
  }

  /// The module that holds `code` is never hooked: for a tracker in a library that is preloaded,
  /// and not itself to be tracked. False where there are four already.
  static bool leave_alone(const void* code) noexcept {
    for (const void*& place : PltState::left_alone) {
      if (place != nullptr && place != code) continue;
      place = code;
      return true;
    }
    return false;
  }

  /// For a library that is preloaded and exports a dlclose which tells the sink: what is closed is
  /// told once. To be called before the first start.
  static void reports_modules(bool told = true) noexcept {
    PltLoaderCalls::set_other_notices(told);
  }

  /// Hooks what was opened since the last time, where a program opens modules by other means than
  /// dlopen, or wants it at once. Not while a tracker starts, stops or makes a report for longer
  /// than a tenth of a second: then at the thread's next call of the loader.
  static void refresh() noexcept { static_cast<void>(PltEngine::refresh()); }

  /// What is hooked now.
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
      return Status::invalid_argument("PltHook: more than ", PltTargets::kMost,
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

  /// In a forked child that is not to be tracked: the hook stays in the slots, and calls pass
  /// through. The loader must not be asked there: a thread that is no more may have its lock.
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

  /// Control lock held.
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

/// Engine of `PltHook`: finds originals, evaluates patterns and walks GOT slots.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "alloctap/hook/plt/loader_calls.hpp"
#include "alloctap/hook/plt/pass.hpp"
#include "alloctap/status.hpp"

namespace alloctap {

/// Report on the slots of one module. Slots that import the loader's functions are not counted.
struct PltModuleReport {
  std::string path;
  /// Number of slots that point to a handler.
  std::uint32_t hooked = 0;
  /// Number of slots that import chosen functions but do not point to a handler.
  std::uint32_t skipped = 0;
  /// Why slots were skipped, or why no slot is hooked; empty if all slots are hooked.
  std::string why;
};

struct PltReport {
  std::vector<PltModuleReport> modules;
  /// Warnings about patterns without effect, and about modules that were perhaps hooked too late.
  std::vector<std::string> warnings;
  std::uint32_t hooked_slots = 0;
};

/// Returns why slots of `module` are not hooked.
[[nodiscard]] std::string why_skipped(const PltModule& module);

/// Returns a warning if `pattern` hooked nothing in `modules`, else an empty string.
[[nodiscard]] std::string warn_of(const ModulePattern& pattern,
                                  const ArenaArray<PltModule>& modules);

/// Returns a report on `modules`, the result of a finished walk. Allocates.
[[nodiscard]] PltReport make_plt_report(const PltState& state,
                                        const ArenaArray<PltModule>& modules);

/// The part of `PltHook` that does not depend on the sink. A walk holds the loader's list lock.
/// Patterns are evaluated and symbols looked up between walks, because both may wait for this lock.
class PltEngine {
 public:
  /// Requires the control lock, and that `plt_state` has its `targets` and `selections`.
  static Status install();

  /// Hooks modules opened since the last walk. Waits at most 0.1 s for the control lock: its holder
  /// may wait for the loader's lock, which this thread may hold in a constructor. Returns false on
  /// timeout or out of memory. The next call then hooks the modules, and reports count the delays.
  static bool refresh() noexcept;

  /// Restores the slots of loaded modules that still hold handlers. Requires the control lock.
  static void uninstall() noexcept;

  /// Returns the state of all slots. Acquires the control lock.
  [[nodiscard]] static PltReport report();

 private:
  /// Maximum number of walks per call. Unknown modules or originals need another walk.
  static constexpr int kMaxWalks = 8;

  static bool program_is_static() noexcept;

  /// Pins this module, because threads may be in handlers after the slots are restored. Does not
  /// pin it if a module is excluded: this module was then loaded at program start, and may run its
  /// constructor. Pinning calls dlopen, which would run all other constructors early.
  static bool pin_own_module() noexcept;

  static void find_originals() noexcept;

  static void publish(PltTarget& target, std::uintptr_t original) noexcept;

  /// Finds PLT entries of the executable that serve as a function's address in every module. Their
  /// symbols are undefined but have a value (System V ABI, AMD64 supplement, "Function Addresses").
  static void find_program_stubs() noexcept;

  /// Repeats the walk until no module or original is unknown. Requires the control lock.
  static ArenaArray<PltModule> hook_until_settled();

  static bool try_refresh() noexcept;

  /// Publishes the originals found in `missing`, walks, and stores the originals still unknown in
  /// `missing`. Returns false if another thread held the control lock for 0.1 s.
  static bool refresh_locked(ArenaArray<MissingOriginal>& missing);

  static PltPass walk_once() noexcept;

  /// Evaluates the patterns for the modules in `unknown`. Returns true if it stored a result.
  static bool decide(const ArenaArray<PltModule>& unknown);

  /// Looks up the functions in `missing`. Acquires the loader's lock.
  static void find_missing(ArenaArray<MissingOriginal>& missing);

  /// Requires the control lock. Returns true if it published an original.
  static bool publish_found(const ArenaArray<MissingOriginal>& missing) noexcept;

  template <class T>
  static ArenaArray<T> copy(const ArenaArray<T>& array) noexcept {
    ArenaArray<T> result;
    for (const T& element : array) static_cast<void>(result.push_back(element));
    return result;
  }

  /// Returns true if a slot is hooked, or if a module opened later may have slots to hook.
  static bool can_hook(const ArenaArray<PltModule>& modules) noexcept;

  static std::string why_nothing(const ArenaArray<PltModule>& modules);
};

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/hook/plt/impl/engine.hpp"
#endif

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

/// Slots of one module, except those of the loader's functions.
struct PltModuleReport {
  std::string path;
  /// Slots that lead to the tracker.
  std::uint32_t hooked = 0;
  /// Slots of chosen functions that do not lead to the tracker.
  std::uint32_t skipped = 0;
  /// Why slots were skipped, or none is hooked; empty if all are hooked.
  std::string why;
};

struct PltReport {
  std::vector<PltModuleReport> modules;
  /// Patterns without effect, and modules that may have been hooked late.
  std::vector<std::string> warnings;
  std::uint32_t hooked_slots = 0;
};

/// Returns why slots of `module` are not hooked.
[[nodiscard]] std::string why_skipped(const PltModule& module);

/// Returns a warning if the pattern hooked nothing in `modules`, else an empty string.
[[nodiscard]] std::string warn_of(const ModulePattern& pattern,
                                  const ArenaArray<PltModule>& modules);

/// `modules` is the result of a finished walk. Allocates.
[[nodiscard]] PltReport make_plt_report(const PltState& state,
                                        const ArenaArray<PltModule>& modules);

/// The part of `PltHook` that does not depend on the sink. A walk holds the loader's list lock.
/// Evaluating patterns and looking up symbols may wait for that lock, so both happen between walks.
class PltEngine {
 public:
  /// Requires the control lock, and targets and selections in `plt_state`.
  static Status install();

  /// Hooks modules opened since the last walk. Waits at most 0.1 s for the control lock: this
  /// thread may hold the loader's lock, in a constructor, and the lock's holder may wait for that.
  /// Returns false on timeout or out of memory; the next call retries, and reports count it.
  static bool refresh() noexcept;

  /// Restores the slots of loaded modules that still hold handlers. Requires the control lock.
  static void uninstall() noexcept;

  /// Acquires the control lock.
  [[nodiscard]] static PltReport report();

 private:
  /// Maximum of walks per call, as long as each finds unknown modules or originals.
  static constexpr int kMaxWalks = 8;

  static bool program_is_static() noexcept;

  /// Pins this module, because threads may be in handlers after the slots are restored. Skipped if
  /// a module is excluded: it was loaded at program start and may now run its constructor. There,
  /// dlopen would run all other constructors early.
  static bool pin_own_module() noexcept;

  static void find_originals() noexcept;

  static void publish(PltTarget& target, std::uintptr_t original) noexcept;

  /// Finds undefined symbols with a value: a PLT entry in the executable is the function's address
  /// in every module (System V ABI, AMD64 supplement, "Function Addresses").
  static void find_program_stubs() noexcept;

  /// Requires the control lock.
  static ArenaArray<PltModule> hook_until_settled();

  static bool try_refresh() noexcept;

  /// First publishes what was found without the lock, then stores the originals still missing.
  /// Returns false if the lock was held for 0.1 s.
  static bool refresh_locked(ArenaArray<MissingOriginal>& missing);

  static PltPass walk_once() noexcept;

  /// Evaluates the patterns for unknown modules. Returns true if it stored a result.
  static bool decide(const ArenaArray<PltModule>& unknown);

  /// Acquires the loader's lock.
  static void find_missing(ArenaArray<MissingOriginal>& missing);

  /// Returns true if it published an original. Requires the control lock.
  static bool publish_found(const ArenaArray<MissingOriginal>& missing) noexcept;

  template <class T>
  static ArenaArray<T> copy(const ArenaArray<T>& array) noexcept {
    ArenaArray<T> result;
    for (const T& element : array) static_cast<void>(result.push_back(element));
    return result;
  }

  /// Returns true if a slot is hooked, or one may be in a module opened later.
  static bool can_hook(const ArenaArray<PltModule>& modules) noexcept;

  static std::string why_nothing(const ArenaArray<PltModule>& modules);
};

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/hook/plt/impl/engine.hpp"
#endif

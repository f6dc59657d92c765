/// Finds originals, asks patterns and walks slots, in the order that is safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "alloctap/hook/plt/loader_calls.hpp"
#include "alloctap/hook/plt/pass.hpp"
#include "alloctap/hook/plt/report.hpp"
#include "alloctap/status.hpp"

namespace alloctap {

/// The part of `PltHook` that knows no sink. Patterns are asked, and the loader for symbols,
/// between walks and not in them: a walk holds the loader's list, and what those take or allocate
/// may wait for it.
class PltEngine {
 public:
  /// `plt_state` has targets and selections. Behind the control lock.
  static Status install();

  /// Hooks what was opened since the last time. Waits for the control lock, but not for long: this
  /// thread may be in a constructor, where it holds the loader's lock, and who holds the control
  /// lock may wait for that. False where it was held, or the system had no memory: what was not
  /// hooked is the next time, and the report counts it.
  static bool refresh() noexcept;

  /// Restores the slots that still hold handlers, in the modules that are there. Behind the control
  /// lock.
  static void uninstall() noexcept;

  /// Takes the control lock.
  [[nodiscard]] static PltReport report();

 private:
  /// Walks that find unknown modules or originals, before the rest is left for the next time.
  static constexpr int kMaxWalks = 8;

  static bool program_is_static() noexcept;

  /// Threads may be in handlers long after the slots are restored. A library that is left alone was
  /// there from the start, and may be in its constructor now, where the loader would take a call of
  /// dlopen for the time to run everyone's constructors.
  static bool pin_own_module() noexcept;

  static void find_originals() noexcept;

  static void publish(PltTarget& target, std::uintptr_t original) noexcept;

  /// An undefined symbol with a value is a stub that stands for the function everywhere (System V
  /// ABI, AMD64 supplement, "Function Addresses").
  static void find_program_stubs() noexcept;

  /// Control lock held.
  static ArenaArray<PltModule> hook_until_settled();

  static bool try_refresh() noexcept;

  /// With what was found without the lock; leaves what is missing still. False where the lock is
  /// held.
  static bool refresh_locked(ArenaArray<MissingOriginal>& missing);

  static PltPass walk_once() noexcept;

  /// Whether there was something to decide.
  static bool decide(const ArenaArray<PltModule>& unknown);

  /// Takes the loader's lock.
  static void find_missing(ArenaArray<MissingOriginal>& missing);

  /// Whether some original is known now. Control lock held.
  static bool publish_found(const ArenaArray<MissingOriginal>& missing) noexcept;

  template <class T>
  static ArenaArray<T> copy(const ArenaArray<T>& array) noexcept {
    ArenaArray<T> result;
    for (const T& element : array) static_cast<void>(result.push_back(element));
    return result;
  }

  /// Whether something is hooked, or may be: what patterns choose may be opened later.
  static bool can_hook(const ArenaArray<PltModule>& modules) noexcept;

  static std::string why_nothing(const ArenaArray<PltModule>& modules);
};

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/hook/plt/impl/engine.hpp"
#endif

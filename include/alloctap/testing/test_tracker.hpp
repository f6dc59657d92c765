/// A type-erased interface to the tracker of a test program.
#pragma once

#include <atomic>
#include <span>
#include <type_traits>

#include "alloctap/dump/named_stacks.hpp"
#include "alloctap/session.hpp"
#include "alloctap/snapshot/snapshot.hpp"
#include "alloctap/status.hpp"
#include "alloctap/tag/inherited_tags.hpp"

namespace alloctap::testing {

/// Function pointers to a tracker's functions, so that only one source file of a test program needs
/// the tracker's type and compiles its code.
class TestTracker {
 public:
  /// Selects the tracker. Adapters such as `run_doctest` call this. Thread-safe.
  template <class Tracker>
  static void use() noexcept {
    static_assert(std::is_base_of_v<InheritedTags, typename Tracker::Tags>,
                  "a tracker of tests puts memory down to test cases: derive its configuration "
                  "from alloctap::testing::TestConfig, or set Tags = alloctap::InheritedTags");
    static constexpr TestTracker kTracker{
        {.running = &Tracker::running,
         .start = &Tracker::start,
         .snapshot = [] { return Tracker::snapshot(); },
         .name_stacks =
             [](std::span<const StackId> stacks) { return Tracker::name_stacks(stacks); }}};
    current_.store(&kTracker, std::memory_order_release);
  }

  /// Returns the selected tracker; nullptr before `use`.
  [[nodiscard]] static const TestTracker* current() noexcept {
    return current_.load(std::memory_order_acquire);
  }

  /// Returns the error to report if no tracker was selected.
  [[nodiscard]] static Status missing() {
    return Status::failed_precondition(
        "no tracker watches this test: start the tests by alloctap::testing::run_doctest<Tracker>, "
        "run_googletest<Tracker> or run_catch2<Tracker>, or call "
        "alloctap::testing::TestTracker::use<Tracker>() and Tracker::start() before");
  }

  [[nodiscard]] bool running() const noexcept { return functions_.running(); }
  [[nodiscard]] Result<Session> start() const { return functions_.start(); }
  [[nodiscard]] Result<Snapshot> snapshot() const { return functions_.snapshot(); }
  [[nodiscard]] Result<NamedStacks> name_stacks(std::span<const StackId> stacks) const {
    return functions_.name_stacks(stacks);
  }

 private:
  struct Functions {
    bool (*running)() noexcept;
    Result<Session> (*start)();
    Result<Snapshot> (*snapshot)();
    Result<NamedStacks> (*name_stacks)(std::span<const StackId>);
  };

  explicit constexpr TestTracker(const Functions& functions) : functions_(functions) {}

  Functions functions_;
  static inline constinit std::atomic<const TestTracker*> current_{nullptr};
};

}  // namespace alloctap::testing

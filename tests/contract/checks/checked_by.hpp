/// What checks tell tests of, whatever the hook.
#pragma once

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdlib>
#include <utility>
#include <vector>

#include "alloctap/check/checks.hpp"
#include "alloctap/impl/tracker.hpp"
#include "alloctap/status.hpp"
#include "tests/contract/hooks/hooked_program.hpp"

namespace alloctap::testing {

/// What `on_misuse` was told last, and how often.
struct ToldMisuse {
  Misuse last;
  int times = 0;
  /// Whether `on_misuse` is to allocate `block` for the program.
  bool allocates = false;
  void* block = nullptr;
};

inline ToldMisuse& told_misuse() noexcept {
  static constinit ToldMisuse told;
  return told;
}

/// Of a tracker that looks after all blocks that come through `ChosenHook`.
template <class ChosenHook>
struct CheckedBy : DefaultConfig {
  using Hook = ChosenHook;
  using Checks = Level10;

  static constexpr ConfigFeatures features{.on_misuse = true};
  static void on_misuse(const Misuse& misuse) noexcept {
    // It may allocate.
    std::free(escape(std::malloc(100)));
    if (told_misuse().allocates) told_misuse().block = std::malloc(100);
    told_misuse().last = misuse;
    ++told_misuse().times;
  }
};

/// A function: the faults that `work` makes, in the order in which they are found first.
template <class Tracker>
struct FaultsOf {
  template <class Work>
  std::vector<Misuse> operator()(Work&& work) const {
    const Result<Snapshot> before = Tracker::snapshot();
    REQUIRE(before.ok());
    std::forward<Work>(work)();
    const Result<Snapshot> after = Tracker::snapshot();
    REQUIRE(after.ok());
    std::vector<Misuse> faults;
    for (std::size_t i = before->misuses.size(); i < after->misuses.size(); ++i) {
      faults.push_back(after->misuses[i].first);
    }
    return faults;
  }
};

}  // namespace alloctap::testing

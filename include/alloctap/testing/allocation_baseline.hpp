/// Regression tests of allocation counts per stack against a baseline file.
#pragma once

#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "alloctap/dump/named_stacks.hpp"
#include "alloctap/runtime/reentrancy_guard.hpp"
#include "alloctap/status.hpp"
#include "alloctap/testing/baseline.hpp"
#include "alloctap/testing/baseline_comparison.hpp"
#include "alloctap/testing/baseline_difference.hpp"
#include "alloctap/testing/baseline_file.hpp"
#include "alloctap/testing/measured_callable.hpp"
#include "alloctap/testing/measured_stacks.hpp"
#include "alloctap/testing/scope_counter.hpp"
#include "alloctap/testing/unrecorded.hpp"

namespace alloctap::testing {

struct BaselineOptions {
  /// Directory of the file. If empty: the environment variable ALLOCTAP_BASELINES, or "baselines"
  /// in the working directory.
  std::string_view directory = {};
  BaselineTolerance tolerance = {};
  BaselineUpdate update = BaselineUpdate::kByEnvironment;
  /// See `BaselineFrames::without_library`.
  bool without_library = false;
};

/// The result of `allocation_baseline`; converts to true if the test passed. Move-only.
class BaselineResult {
 public:
  struct Contents {
    bool passed = false;
    std::string name = {};
    std::string message = {};
    /// Empty if counts and baseline were not compared.
    BaselineComparison comparison = {};
  };

  explicit BaselineResult(Contents&& contents) noexcept : contents_(std::move(contents)) {}

  explicit operator bool() const noexcept { return contents_->passed; }
  [[nodiscard]] const std::string& name() const noexcept { return contents_->name; }
  /// Returns, on failure, the changed stacks or the file's error; on success, the path of the file.
  [[nodiscard]] const std::string& message() const noexcept { return contents_->message; }
  /// Returns the first line of the message.
  [[nodiscard]] std::string summary() const { return message().substr(0, message().find('\n')); }
  [[nodiscard]] const BaselineComparison& comparison() const noexcept {
    return contents_->comparison;
  }

  /// Writes the message, so that `CHECK(result)` of a test framework shows it.
  friend std::ostream& operator<<(std::ostream& out, const BaselineResult& result) {
    return out << result.message();
  }

 private:
  Unrecorded<Contents> contents_;
};

/// Compares one measurement with the baseline file, or writes that file. Control plane.
class BaselineCheck {
 public:
  BaselineCheck(std::string_view name, const BaselineOptions& options) : options_(options) {
    contents_.name = name;
  }

  [[nodiscard]] BaselineResult::Contents run(const Result<Baseline>& measured) {
    const Result<BaselineFile> file = BaselineFile::find(contents_.name, options_.directory);
    const Result<bool> updates = updates_baselines(options_.update);
    if (!measured.ok()) {
      fail(measured.status());
    } else if (!file.ok()) {
      fail(file.status());
    } else if (!updates.ok()) {
      fail(updates.status());
    } else if (*updates) {
      update(*file, *measured);
    } else {
      compare(*file, *measured);
    }
    return std::move(contents_);
  }

 private:
  void say(std::string_view text) {
    contents_.message = "baseline \"" + contents_.name + "\": ";
    contents_.message += text;
  }

  void fail(const Status& status) { say(std::string(status.message())); }

  static std::string how_to_update() {
    return "run the test with " + std::string(kUpdateBaselinesVariable) + "=1";
  }

  void update(const BaselineFile& file, const Baseline& measured) {
    const Result<Baseline> before = file.read();
    const bool same = before.ok() && *before == measured;
    if (!same) {
      if (const Status status = file.write(measured); !status.ok()) return fail(status);
    }
    contents_.passed = true;
    say(file.path() + (same ? " is as measured\n" : " was written\n"));
    if (before.ok()) contents_.comparison = compare_baselines(*before, measured);
    contents_.message += before.ok()
                             ? difference_text(contents_.comparison)
                             : "  total: " + change_text(measured.total(), measured.total());
  }

  void compare(const BaselineFile& file, const Baseline& measured) {
    const Result<Baseline> before = file.read();
    if (before.status().code() == StatusCode::kNotFound) {
      return say(std::string(before.status().message()) + " yet. To make it, " + how_to_update() +
                 ", and commit it with the test. Measured:\n  " +
                 change_text(measured.total(), measured.total()));
    }
    if (!before.ok()) {
      return say(std::string(before.status().message()) + ". To measure again, " + how_to_update());
    }
    contents_.comparison = compare_baselines(*before, measured, options_.tolerance);
    contents_.passed = contents_.comparison.passes();
    say(contents_.passed ? "as in " + file.path() + '\n'
                         : "allocates otherwise than " + file.path() + " says\n");
    contents_.message += difference_text(contents_.comparison);
    if (!contents_.passed) {
      contents_.message += "  Where that is meant, " + how_to_update() + " and commit the file";
    }
  }

  const BaselineOptions options_;
  BaselineResult::Contents contents_;
};

/// Symbolizes the stacks of `counted`, and returns the counts as a baseline.
template <class Tracker, class Counts>
[[nodiscard]] Result<Baseline> name_counts(const Counts& counted, const BaselineFrames& which) {
  std::vector<StackId> stacks;
  for (const auto& count : counted) stacks.push_back(count.stack);
  const Result<NamedStacks> named = Tracker::name_stacks(stacks);
  if (!named.ok()) return named.status();
  return baseline_of(counted, *named, which);
}

/// Runs `body` once and compares its allocations per stack with `<directory>/<name>.baseline`.
/// Writes that file instead if ALLOCTAP_UPDATE_BASELINES is 1.
///
///     CHECK(allocation_baseline<Tracker>("load level", [] { load("first"); }));
///
/// A stack is identified by the modules and functions of its frames, leaf first, from the
/// allocation to `body`. Addresses and lines are ignored, so several call sites in one function
/// merge. Inlining depends on compiler options, so use a directory for each build configuration.
/// Function names come from the tracker's `Symbolizer`.
///
/// `counter(work)` calls `work()` once and returns a `Result` of a range. The range's elements have
/// the members of `CountedStack`, with stack ids of `Tracker`. The default `ScopeCounter` requires
/// the observer `AllocationScopes`, which `TestConfig` has. Control plane; passes exceptions of
/// `body` on. Two threads must not use one name concurrently.
template <class Tracker, class Body, class Counter = ScopeCounter>
[[nodiscard]] BaselineResult allocation_baseline(std::string_view name, Body&& body,
                                                 const BaselineOptions& options = {},
                                                 Counter&& counter = {}) {
  MeasuredCallable work(body);
  const auto counted = counter(work);
  const ReentrancyGuard guard;
  Result<Baseline> measured;
  if (!counted.ok()) {
    measured = counted.status();
  } else if (work.runs() != 1) {
    measured = Status::failed_precondition("the counter has to run the function once");
  } else {
    measured = name_counts<Tracker>(
        *counted, {.caller = work.caller(), .without_library = options.without_library});
  }
  return BaselineResult(BaselineCheck(name, options).run(measured));
}

}  // namespace alloctap::testing

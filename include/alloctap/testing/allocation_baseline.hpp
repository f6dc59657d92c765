/// A test that a piece of the program allocates what it did, stack by stack.
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
  /// Empty: what ALLOCTAP_BASELINES says, or "baselines" in the working directory.
  std::string_view directory = {};
  BaselineTolerance tolerance = {};
  BaselineUpdate update = BaselineUpdate::kByEnvironment;
  /// As of `BaselineFrames`.
  bool without_library = false;
};

/// What `allocation_baseline` found: true where it passed. Move-only.
class BaselineResult {
 public:
  struct Contents {
    bool passed = false;
    std::string name = {};
    std::string message = {};
    /// Where one was made.
    BaselineComparison comparison = {};
  };

  explicit BaselineResult(Contents&& contents) noexcept : contents_(std::move(contents)) {}

  explicit operator bool() const noexcept { return contents_->passed; }
  [[nodiscard]] const std::string& name() const noexcept { return contents_->name; }
  /// Where it failed, the stacks that changed, or what is wrong with the file; where it passed,
  /// with what.
  [[nodiscard]] const std::string& message() const noexcept { return contents_->message; }
  /// The first line of it.
  [[nodiscard]] std::string summary() const { return message().substr(0, message().find('\n')); }
  [[nodiscard]] const BaselineComparison& comparison() const noexcept {
    return contents_->comparison;
  }

  /// So that `CHECK(result)` and the like show the message.
  friend std::ostream& operator<<(std::ostream& out, const BaselineResult& result) {
    return out << result.message();
  }

 private:
  Unrecorded<Contents> contents_;
};

/// Holds one measurement against its file, or keeps it there. Control plane.
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

/// The names of what `counted` holds.
template <class Tracker, class Counts>
[[nodiscard]] Result<Baseline> name_counts(const Counts& counted, const BaselineFrames& which) {
  std::vector<StackId> stacks;
  for (const auto& count : counted) stacks.push_back(count.stack);
  const Result<NamedStacks> named = Tracker::name_stacks(stacks);
  if (!named.ok()) return named.status();
  return baseline_of(counted, *named, which);
}

/// Runs `body` once, by `counter`, and compares what it allocated, stack by stack, with the file
/// `<directory>/<name>.baseline`; or writes that file where ALLOCTAP_UPDATE_BASELINES is 1.
///
///     CHECK(allocation_baseline<Tracker>("load level", [] { load("first"); }));
///
/// A stack is known by the modules and functions of its frames, leaf first, from the allocation to
/// `body`; neither addresses nor lines are in the file, and calls of one function at several places
/// are one. The compiler decides by its options which functions are in a stack: each build that
/// differs in them wants a directory of its own. Which frames have names is up to the tracker's
/// `Symbolizer`.
///
/// The counter, where none is named, is a `ScopeCounter`: `Tracker` has `AllocationScopes` among
/// its observers, as that of a `TestConfig` has.
///
/// `counter(work)`: calls `work()` once and returns an `Result` of a range of
/// `CountedStack`, or of what has members of these names, by ids of `Tracker`. Control plane; what
/// `body` throws passes through. Not for two threads at once with one name.
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

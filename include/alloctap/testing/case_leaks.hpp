/// Leak detection per test case: blocks attributed by tags, expected leaks suppressed.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "alloctap/annotate.hpp"
#include "alloctap/dump/named_stacks.hpp"
#include "alloctap/event/stack_identity.hpp"
#include "alloctap/os/file.hpp"
#include "alloctap/runtime/arena_array.hpp"
#include "alloctap/runtime/file_contents.hpp"
#include "alloctap/runtime/reentrancy_guard.hpp"
#include "alloctap/runtime/text_bytes.hpp"
#include "alloctap/session.hpp"
#include "alloctap/snapshot/snapshot.hpp"
#include "alloctap/snapshot/suppressions.hpp"
#include "alloctap/stack/stack_table.hpp"
#include "alloctap/status.hpp"
#include "alloctap/tag/inherited_tags.hpp"
#include "alloctap/tag/tag_scope.hpp"
#include "alloctap/testing/leaked_case.hpp"
#include "alloctap/testing/test_framework.hpp"

namespace alloctap::testing {

using alloctap::expected_to_stay;
using alloctap::ExpectedLeak;

/// Tags "RUN/CASE/PART/PART" for the test cases of one run. Control plane; serialize all calls.
class CaseTags {
 public:
  /// The test case that a tag belongs to.
  struct Place {
    /// False if the tag is not nested in a case of this run.
    bool is_case = false;
    std::string_view name;
    /// Names of the nested parts, such as "outer/inner"; empty for the case itself.
    std::string part;
    bool expected = false;
  };

  explicit CaseTags(std::string_view run) : run_(process_tags.find_or_add(kNoTag, run)) {}

  /// Creates the tag of the case `name`. Returns the run's tag if the tag table is full.
  [[nodiscard]] Tag add(std::string_view name) {
    std::string text(cut_text(name, kLongestName));
    if (text.empty()) text = "(no name)";
    if (name.size() > kLongestName) text += "... #" + std::to_string(names_.size());
    const TagId id = process_tags.find_or_add(run_, text);
    if (id == run_) return {run_};
    names_.try_emplace(id, name);
    return {id};
  }

  [[nodiscard]] Place place_of(TagId tag) const {
    Place place;
    for (; tag != kNoTag && tag != run_; tag = process_tags.parent(tag)) {
      if (process_tags.name(tag) == ALLOCTAP_EXPECTED_TO_STAY) place.expected = true;
      if (process_tags.parent(tag) == run_) {
        const auto found = names_.find(tag);
        place.is_case = found != names_.end();
        if (place.is_case) place.name = found->second;
        return place;
      }
      const std::string inner = std::move(place.part);
      place.part = process_tags.name(tag);
      if (!inner.empty()) place.part += "/" + inner;
    }
    return {};
  }

 private:
  static constexpr std::size_t kLongestName = TagTable::kLongestName - 20;

  TagId run_;
  std::map<TagId, std::string> names_;
};

/// Leak suppressions in LeakSanitizer's syntax (`Suppressions`), allocated in the arena. Control
/// plane; not thread-safe.
class ExpectedLeaks {
 public:
  /// Adds the program's built-in rules (`Suppressions::add_defaults`) and the rules in the file
  /// that ALLOCTAP_SUPPRESSIONS names. Fails if the file cannot be read or a rule is invalid.
  [[nodiscard]] Status read() {
    Status status = rules_.add_defaults();
    const char* const path = std::getenv("ALLOCTAP_SUPPRESSIONS");
    if (status.ok() && path != nullptr && *path != '\0') status = add_file(path);
    return status;
  }

  [[nodiscard]] Status add(std::string_view text, std::string_view source) {
    return rules_.add(text, source);
  }

  [[nodiscard]] Status add_file(const char* path) {
    ArenaArray<char> contents;
    const int error = read_file(path, kMaxBytes, contents);
    if (error == 0) return add(text_of(contents), path);
    return Status::unavailable("cannot read the suppressions ", path, ": ", os::error_text(error));
  }

  /// Returns true if a leak with the allocation stack `frames` (leaf first) is expected: a rule
  /// matches a frame, or there are `only-` rules and no frame matches one of them.
  [[nodiscard]] bool have(std::span<const NamedFrame> frames) const {
    const std::uint32_t first_allowing =
        find_rule(rules_.leak_rules(), true, [](const SuppressionRule&) { return true; });
    return RuleVerdict::of(innermost(frames, false), innermost(frames, true), first_allowing)
               .suppressed_by != Suppressions::kNoRule;
  }

 private:
  static constexpr std::size_t kMaxBytes = 1 << 20;

  [[nodiscard]] std::uint32_t innermost(std::span<const NamedFrame> frames, bool only) const {
    for (const NamedFrame& frame : frames) {
      const std::uint32_t rule = find_rule(
          rules_.leak_rules(), only,
          [&](const SuppressionRule& candidate) { return names(candidate.pattern, frame); });
      if (rule != Suppressions::kNoRule) return rule;
    }
    return Suppressions::kNoRule;
  }

  static bool names(std::string_view pattern, const NamedFrame& frame) noexcept {
    return matches_pattern(pattern, frame.function) || matches_pattern(pattern, frame.file) ||
           matches_pattern(pattern, frame.module);
  }

  Suppressions rules_;
};

/// Detects leaking test cases, for adapters of test frameworks. In the first run, every case runs.
/// Cases with live blocks after the first run are suspects and run again. A case leaks if a stack
/// left a block in both runs and the first run's block is still live. Caches, statics and growing
/// tables leave no such pair of blocks. Threads started by a case belong to that case, however long
/// they run. Ignores allocations of the framework itself, `ExpectedLeak` scopes, suppressed leaks
/// and failed cases.
///
/// Control plane; call the functions only on the thread that runs the cases. Their own allocations
/// are not recorded.
class CaseLeaks {
 public:
  /// `framework` identifies the framework's frames. Its name prefixes must outlive this object.
  explicit CaseLeaks(FrameworkFrames framework) : framework_(framework) {}

  /// Starts the tracker unless it has a session, and reads the suppression rules.
  [[nodiscard]] Status start() {
    const ReentrancyGuard guard;
    if (Status status = expected_.read(); !status.ok()) return status;
    tracker_ = TestTracker::current();
    if (tracker_ == nullptr) return TestTracker::missing();
    if (tracker_->running()) return Status();
    Result<Session> session = tracker_->start();
    if (!session.ok()) return session.status();
    session_ = *std::move(session);
    return Status();
  }

  /// Returns the suppression rules. The caller may add rules until the first run ends.
  [[nodiscard]] ExpectedLeaks& expected() noexcept { return expected_; }

  /// Begins the case `name` on the calling thread.
  void begin_case(std::string_view name) {
    const ReentrancyGuard guard;
    name_ = name;
    tag_ = std::make_unique<ProcessTag>(tags().add(name));
  }

  /// Begins a part of the case, such as a subcase or section. Parts nest.
  void begin_part(std::string_view name) {
    const ReentrancyGuard guard;
    parts_.push_back(std::make_unique<TagScope>(name));
  }
  void end_part() {
    const ReentrancyGuard guard;
    if (!parts_.empty()) parts_.pop_back();
  }

  /// Ends all open parts, because an exception may have skipped calls that end parts.
  void end_parts() {
    const ReentrancyGuard guard;
    while (!parts_.empty()) parts_.pop_back();
  }

  [[nodiscard]] bool is_second_run() const noexcept { return is_second_; }

  /// Ends the case. Returns its leaks if this is the second run and the case has not `failed`.
  /// Otherwise returns an object without stacks.
  [[nodiscard]] Result<LeakedCase> end_case(bool failed) {
    const ReentrancyGuard guard;
    end_parts();
    tag_.reset();
    LeakedCase leaked{.name = name_, .stacks = {}};
    if (failed) failed_.insert(name_);
    const auto suspect = suspects_.find(name_);
    if (suspect == suspects_.end() || failed) return leaked;
    Result<Snapshot> now = tracker_->snapshot();
    if (!now.ok()) return now.status();
    Status status = find_repeated(*now, suspect->second, leaked);
    if (!status.ok()) return status;
    return leaked;
  }

  /// Ends the first run and begins the second. Returns the names of the cases to run again.
  [[nodiscard]] Result<std::vector<std::string>> end_first_run() {
    const ReentrancyGuard guard;
    const Result<Snapshot> now = tracker_->snapshot();
    if (!now.ok()) return now.status();
    std::vector<Left> lefts = left_of(*now, first_);
    std::erase_if(lefts, [this](const Left& left) { return failed_.contains(left.place.name); });
    const Result<NamedStacks> stacks = name(lefts);
    if (!stacks.ok()) return stacks.status();
    for (const Left& left : lefts) {
      const std::span<const NamedFrame> names_of_left = stacks->frames(left.stack->stack);
      if (framework_.allocated(names_of_left) || expected_.have(names_of_left)) continue;
      Frames inner = left.frames;
      // Drops the runner's frames, which may differ in the second run.
      if (const std::size_t inside = framework_.addresses_inside(names_of_left))
        inner.resize(inside);
      suspects_[std::string(left.place.name)].insert(std::move(inner));
    }
    is_second_ = true;
    std::vector<std::string> names;
    for (const auto& [suspect, frames] : suspects_) names.push_back(suspect);
    return names;
  }

 private:
  using Frames = std::vector<std::uintptr_t>;

  /// Live blocks of one stack, attributed to one case.
  struct Left {
    CaseTags::Place place;
    const StackSummary* stack = nullptr;
    Frames frames;
  };

  CaseTags& tags() noexcept { return is_second_ ? second_ : first_; }

  /// Returns the live blocks of the cases in `run`, except expected leaks.
  static std::vector<Left> left_of(const Snapshot& snapshot, const CaseTags& run) {
    std::vector<Left> left;
    for (const StackSummary& stack : snapshot.stacks) {
      if (stack.live_allocations == 0) continue;
      CaseTags::Place place = run.place_of(snapshot.table->owner(stack.stack).tag);
      if (!place.is_case || place.expected) continue;
      const StackFrames frames = snapshot.table->frames(stack.stack);
      left.push_back({std::move(place), &stack, Frames(frames.begin(), frames.end())});
    }
    return left;
  }

  /// Symbolizes the stacks of `lefts`. Slow unless `lefts` is empty: reads debug information.
  Result<NamedStacks> name(const std::vector<Left>& lefts) const {
    std::vector<StackId> ids;
    for (const Left& left : lefts) ids.push_back(left.stack->stack);
    return tracker_->name_stacks(ids);
  }

  /// Returns true if `left` belongs to the case `name` and its innermost frames equal `inner`.
  static bool is_of(const Left& left, std::string_view name, const Frames& inner) {
    return left.place.name == name && left.frames.size() >= inner.size() &&
           std::equal(inner.begin(), inner.end(), left.frames.begin());
  }

  /// Adds to `leaked` the `suspected` stacks that have live blocks of both runs in `now`.
  Status find_repeated(const Snapshot& now, const std::set<Frames>& suspected,
                       LeakedCase& leaked) const {
    const std::vector<Left> earlier = left_of(now, first_);
    std::vector<Left> again = left_of(now, second_);
    std::erase_if(again, [&](const Left& left) {
      return std::none_of(suspected.begin(), suspected.end(), [&](const Frames& inner) {
        return is_of(left, leaked.name, inner) &&
               std::any_of(earlier.begin(), earlier.end(),
                           [&](const Left& before) { return is_of(before, leaked.name, inner); });
      });
    });
    return again.empty() ? Status() : add_stacks(again, leaked);
  }

  Status add_stacks(const std::vector<Left>& lefts, LeakedCase& leaked) const {
    const Result<NamedStacks> names = name(lefts);
    if (!names.ok()) return names.status();
    for (const Left& left : lefts) {
      leaked.stacks.push_back(
          {.blocks = left.stack->live_allocations,
           .bytes = left.stack->live_bytes,
           .part = left.place.part,
           .frames = copy_frames(framework_.cut(names->frames(left.stack->stack)))});
    }
    std::sort(leaked.stacks.begin(), leaked.stacks.end(),
              [](const LeakedStack& a, const LeakedStack& b) { return a.bytes > b.bytes; });
    return Status();
  }

  FrameworkFrames framework_;
  ExpectedLeaks expected_;
  const TestTracker* tracker_ = nullptr;
  Session session_{nullptr};
  CaseTags first_{"first run"};
  CaseTags second_{"second run"};
  bool is_second_ = false;
  std::string name_;
  std::unique_ptr<ProcessTag> tag_;
  std::vector<std::unique_ptr<TagScope>> parts_;
  std::set<std::string, std::less<>> failed_;
  /// For each case, the allocation stacks (innermost frames, leaf first) of blocks that were live
  /// after the first run.
  std::map<std::string, std::set<Frames>> suspects_;
};

}  // namespace alloctap::testing

/// Regression tests of allocation counts per stack, and the baseline files that they compare.
#pragma once

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "alloctap/dump/dump_writer.hpp"
#include "alloctap/dump/impl/outputs.hpp"
#include "alloctap/dump/named_stacks.hpp"
#include "alloctap/message_text.hpp"
#include "alloctap/os/file.hpp"
#include "alloctap/os/process.hpp"
#include "alloctap/runtime/arena_array.hpp"
#include "alloctap/runtime/file_contents.hpp"
#include "alloctap/runtime/reentrancy_guard.hpp"
#include "alloctap/status.hpp"
#include "alloctap/testing/allocation_count.hpp"
#include "alloctap/testing/baseline.hpp"
#include "alloctap/testing/counted_stack.hpp"
#include "alloctap/testing/measured_callable.hpp"

namespace alloctap::testing {

inline constexpr std::string_view kBaselineOpening = "alloctap baseline ";
inline constexpr std::string_view kBaselineVersion = "1";

/// Writes `baseline` in the format of baseline files. Control plane.
inline void write_baseline(const Baseline& baseline, DumpWriter& out) {
  const BaselineCount total = baseline.total();
  out << kBaselineOpening << kBaselineVersion << '\n'
      << baseline.stacks.size() << " stacks, " << total.allocations << " allocations, "
      << total.bytes << " bytes\n";
  for (const auto& [stack, count] : baseline.stacks) {
    out << '\n' << count.allocations << " allocations, " << count.bytes << " bytes\n";
    for (const std::string& frame : stack) out << "  " << frame << '\n';
  }
  out << "\nend\n";
}

/// A parser of one baseline. Accepts CRLF line ends.
class BaselineReader {
 public:
  /// `path` is used in error messages. Both arguments must outlive the reader.
  BaselineReader(std::string_view text, std::string_view path) noexcept
      : text_(text), path_(path) {}

  /// Parses the text; call it once. Errors have the form "FILE:LINE: message". Control plane.
  [[nodiscard]] Result<Baseline> read() {
    if (Status status = refuse_conflicts(); !status.ok()) return status;
    if (Status status = read_opening(); !status.ok()) return status;
    while (next_line() && line_ != "end") {
      if (line_.empty()) continue;
      if (Status status = read_stack(); !status.ok()) return status;
    }
    if (line_ != "end") return error("the file ends before its line \"end\": it was cut");
    while (next_line()) {
      if (!line_.empty()) return error("there is text behind \"end\": two files in one?");
    }
    if (Status status = compare_sums(); !status.ok()) return status;
    return std::move(baseline_);
  }

 private:
  /// The totals, from the second line of the file.
  struct Sums {
    std::uint64_t stacks = 0;
    BaselineCount count;
  };

  /// Moves to the next line. At the end, returns false and leaves `line_` unchanged.
  bool next_line() noexcept {
    if (rest_.empty()) return false;
    ++number_;
    const std::size_t end = rest_.find('\n');
    line_ = rest_.substr(0, end);
    rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
    if (line_.ends_with('\r')) line_.remove_suffix(1);
    return true;
  }

  [[nodiscard]] Status error(std::string_view sentence) const {
    return Status::invalid_argument(std::string(path_), ":", number_, ": ", std::string(sentence));
  }

  Status refuse_conflicts() {
    while (next_line()) {
      for (const std::string_view mark : {"<<<<<<<", "|||||||", "=======", ">>>>>>>"}) {
        if (line_.starts_with(mark)) {
          return error("a merge left its conflict here: resolve it, or measure again");
        }
      }
    }
    rest_ = text_;
    number_ = 0;
    return Status();
  }

  Status read_opening() {
    if (!next_line() || !line_.starts_with(kBaselineOpening)) {
      number_ = 1;
      return error("this is no baseline: one begins with \"alloctap baseline 1\"");
    }
    const std::string_view version = line_.substr(kBaselineOpening.size());
    if (version != kBaselineVersion) {
      return error("a baseline of version \"" + std::string(version) +
                   "\", where this alloctap reads version " + std::string(kBaselineVersion) +
                   ": measure again, or use the alloctap that made it");
    }
    if (!next_line()) return error("the file ends here: it was cut");
    const auto stacks = take_number(" stacks, ");
    const auto count = take_count();
    if (!stacks || !count) return error("expected \"N stacks, N allocations, N bytes\"");
    sums_ = {.stacks = *stacks, .count = *count};
    return Status();
  }

  Status read_stack() {
    const auto count = take_count();
    if (!count) return error("expected \"N allocations, N bytes\", numbers below 2^64");
    const std::size_t first = number_;
    BaselineStack stack;
    while (rest_.starts_with("  ") && next_line()) stack.emplace_back(line_.substr(2));
    if (stack.empty()) return error("a stack without frames, which are indented by two spaces");
    if (baseline_.stacks.contains(stack)) {
      number_ = first;
      return error("this stack is in the file twice: merged by hand?");
    }
    baseline_.stacks[std::move(stack)] = *count;
    return Status();
  }

  Status compare_sums() {
    const BaselineCount found = baseline_.total();
    const std::size_t stacks = baseline_.stacks.size();
    if (sums_.stacks == stacks && sums_.count == found) return Status();
    number_ = 2;
    return error(join_text("the file has ", stacks, " stacks, ", found.allocations,
                           " allocations, ", found.bytes,
                           " bytes, which is not what this line says: merged by halves? "
                           "Measure again"));
  }

  std::optional<BaselineCount> take_count() noexcept {
    const auto allocations = take_number(" allocations, ");
    const auto bytes = take_number(" bytes");
    if (!allocations || !bytes || !line_.empty()) return std::nullopt;
    return BaselineCount{.allocations = *allocations, .bytes = *bytes};
  }

  /// Removes a number and `word` from the front of the line, and returns the number. Returns
  /// nullopt if the line does not begin with a number and `word`.
  std::optional<std::uint64_t> take_number(std::string_view word) noexcept {
    std::uint64_t number = 0;
    const char* const end = line_.data() + line_.size();
    const auto [stop, problem] = std::from_chars(line_.data(), end, number);
    line_.remove_prefix(static_cast<std::size_t>(stop - line_.data()));
    if (problem != std::errc() || !line_.starts_with(word)) return std::nullopt;
    line_.remove_prefix(word.size());
    return number;
  }

  const std::string_view text_;
  const std::string_view path_;
  std::string_view rest_ = text_;
  std::string_view line_;
  std::size_t number_ = 0;
  Sums sums_;
  Baseline baseline_;
};

/// Parses `text`. `path` is used in error messages. Control plane.
[[nodiscard]] inline Result<Baseline> read_baseline(std::string_view text, std::string_view path) {
  return BaselineReader(text, path).read();
}

/// Environment variable with the directory of baselines, used if the program passes no directory.
/// If the variable is unset, the directory is "baselines" in the working directory.
inline constexpr std::string_view kBaselinesVariable = "ALLOCTAP_BASELINES";
/// Environment variable. The value "1" means that tests write measurements to the baseline files.
/// If it is "0", empty or unset, tests compare measurements with the files.
inline constexpr std::string_view kUpdateBaselinesVariable = "ALLOCTAP_UPDATE_BASELINES";

enum class BaselineUpdate : unsigned char { kByEnvironment, kNever, kAlways };

/// Returns true if baseline files are to be written. For `kByEnvironment`, reads the value that
/// `kUpdateBaselinesVariable` had at process start; fails unless that value is "0", "1" or empty.
[[nodiscard]] inline Result<bool> updates_baselines(BaselineUpdate update) {
  if (update != BaselineUpdate::kByEnvironment) return update == BaselineUpdate::kAlways;
  std::array<char, 64> buffer{};
  const std::string_view value = os::initial_environment(kUpdateBaselinesVariable, buffer);
  if (value.empty() || value == "0") return false;
  if (value == "1") return true;
  return Status::invalid_argument(std::string(kUpdateBaselinesVariable) + "=" + std::string(value) +
                                  ": say 1 to update baselines, or 0");
}

class BaselineFile {
 public:
  /// Larger files are rejected as implausible.
  static constexpr std::size_t kMaxBytes = 64 * 1024 * 1024;

  /// Returns the file of the baseline `name`, which may have letters, digits, spaces and "-_.,+()",
  /// but no dot or space at an end. So a name stays in the directory and is valid on all systems.
  /// If `directory` is empty, uses the directory of `kBaselinesVariable`.
  [[nodiscard]] static Result<BaselineFile> find(std::string_view name,
                                                 std::string_view directory) {
    if (!is_file_name(name)) {
      return Status::invalid_argument("\"" + std::string(name) +
                                      "\" cannot be the name of a baseline, which is a file's: use "
                                      "letters, digits, spaces and \"-_.,+()\", at most " +
                                      std::to_string(kLongestName) +
                                      ", and no dot or space at an end");
    }
    BaselineFile file;
    file.directory_ = directory.empty() ? environment_directory() : std::string(directory);
    file.path_ = file.directory_ + "/" + std::string(name) + ".baseline";
    return file;
  }

  [[nodiscard]] const std::string& path() const noexcept { return path_; }

  /// Reads the file. Fails with `kNotFound` if it does not exist. Control plane.
  [[nodiscard]] Result<Baseline> read() const {
    ArenaArray<char> contents;
    const int error = read_file(path_.c_str(), kMaxBytes, contents);
    if (error == -ENOENT) return Status::not_found("there is no file ", path_);
    if (error != 0) {
      return Status::unavailable("cannot read ", path_, ": ", os::error_text(error));
    }
    return read_baseline(text_of(contents), path_);
  }

  /// Replaces the file atomically; creates the directory. Control plane.
  [[nodiscard]] Status write(const Baseline& baseline) const {
    std::error_code error;
    std::filesystem::create_directories(
        std::filesystem::path(std::u8string(directory_.begin(), directory_.end())), error);
    if (error) {
      return Status::unavailable("cannot make the directory ", directory_, ": ", error.message());
    }
    FileOutput output(path_);
    if (Status status = output.open(); !status.ok()) return status;
    DumpWriter writer(output);
    write_baseline(baseline, writer);
    if (Status status = writer.finish(); !status.ok()) return status;
    return output.commit();
  }

 private:
  static constexpr std::size_t kLongestName = 200;

  static bool is_file_name(std::string_view name) noexcept {
    static constexpr std::string_view kOthers = " -_.,+()";
    const auto is_end = [](char character) { return character == '.' || character == ' '; };
    if (name.empty() || name.size() > kLongestName || is_end(name.front()) || is_end(name.back())) {
      return false;
    }
    return std::all_of(name.begin(), name.end(), [](char character) {
      return (character >= 'a' && character <= 'z') || (character >= 'A' && character <= 'Z') ||
             (character >= '0' && character <= '9') ||
             kOthers.find(character) != std::string_view::npos;
    });
  }

  static std::string environment_directory() {
    std::array<char, 4096> buffer{};
    const std::string_view value = os::initial_environment(kBaselinesVariable, buffer);
    return value.empty() ? "baselines" : std::string(value);
  }

  std::string directory_;
  std::string path_;
};

/// Owns a `Value` that was allocated under a `ReentrancyGuard`, so its memory is not recorded.
/// Destroys it under such a guard, too, because unguarded frees would count as frees of unknown
/// blocks. Move-only. As thread-safe as `Value`.
template <class Value>
class Unrecorded {
 public:
  explicit Unrecorded(Value&& value) noexcept : value_(std::move(value)) {}
  Unrecorded(Unrecorded&&) noexcept = default;
  ~Unrecorded() {
    const ReentrancyGuard guard;
    value_.reset();
  }

  const Value& operator*() const noexcept { return *value_; }
  const Value* operator->() const noexcept { return &*value_; }

 private:
  std::optional<Value> value_;
};

struct BaselineOptions {
  /// Directory of the file. If empty, uses the directory that the environment variable
  /// ALLOCTAP_BASELINES names, or else "baselines" in the working directory.
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
  /// If the test failed, returns the error or the changed stacks; otherwise, the path of the file
  /// and the totals.
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
/// allocation to `body`. Addresses and lines are ignored, so the counts of several call sites in
/// one function add up. Inlining depends on compiler options, so use a directory for each build
/// configuration. Function names come from the tracker's `Symbolizer`.
///
/// `counter(work)` must call `work()` once and return a `Result` of a range. The range's elements
/// have the members of `CountedStack`, with stack ids of `Tracker`. The default `ScopeCounter`
/// requires the observer `AllocationScopes`, which `TestConfig` has. Control plane; passes
/// exceptions of `body` on. Two threads must not use one name concurrently.
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

/// Baseline files: their location, environment variables, reading and writing.
#pragma once

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "alloctap/dump/dump_writer.hpp"
#include "alloctap/dump/impl/outputs.hpp"
#include "alloctap/message_text.hpp"
#include "alloctap/os/file.hpp"
#include "alloctap/os/process.hpp"
#include "alloctap/runtime/arena_array.hpp"
#include "alloctap/runtime/file_contents.hpp"
#include "alloctap/status.hpp"
#include "alloctap/testing/baseline.hpp"
#include "alloctap/testing/counted_stack.hpp"

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

  /// Removes a number and `word` from the front of the line; returns nullopt if they are not there.
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
/// If unset: "baselines" in the working directory.
inline constexpr std::string_view kBaselinesVariable = "ALLOCTAP_BASELINES";
/// Environment variable: "1" writes measurements to the files; "0", empty or unset compares.
inline constexpr std::string_view kUpdateBaselinesVariable = "ALLOCTAP_UPDATE_BASELINES";

enum class BaselineUpdate : unsigned char { kByEnvironment, kNever, kAlways };

/// Returns true if baseline files are to be written. Reads the environment as of process start.
/// Fails if `kUpdateBaselinesVariable` has an undocumented value.
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

  /// Returns the file of the baseline `name`. Allows letters, digits, spaces and "-_.,+()". Rejects
  /// names that leave the directory or are invalid on some system. If `directory` is empty, uses
  /// that of `kBaselinesVariable`.
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

}  // namespace alloctap::testing

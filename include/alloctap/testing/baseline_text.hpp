/// Text format of baselines: one file each, meant for diffs in code review.
///
///     alloctap baseline 1
///     2 stacks, 13 allocations, 5096 bytes
///
///     12 allocations, 4096 bytes
///       game  engine::load(char const*)
///       game  read_level()
///
///     1 allocations, 1000 bytes
///       libc.so.6  _IO_file_doallocate
///       game  read_level()
///
///     end
///
/// Stacks are sorted by their strings, so unchanged ones do not move. The totals and the last line
/// reveal files that are truncated or merged wrongly.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "alloctap/dump/dump_writer.hpp"
#include "alloctap/message_text.hpp"
#include "alloctap/status.hpp"
#include "alloctap/testing/baseline.hpp"
#include "alloctap/testing/counted_stack.hpp"

namespace alloctap::testing {

inline constexpr std::string_view kBaselineOpening = "alloctap baseline ";
inline constexpr std::string_view kBaselineVersion = "1";

/// Writes `baseline`. Control plane.
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
  /// `path` names the file in error messages. Both arguments must outlive the reader.
  BaselineReader(std::string_view text, std::string_view path) noexcept
      : text_(text), path_(path) {}

  /// Parses the text; call it once. Errors have the form "FILE:LINE: sentence". Control plane.
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
  /// The totals in the second line.
  struct Sums {
    std::uint64_t stacks = 0;
    BaselineCount count;
  };

  /// Moves to the next line. Returns false at the end and leaves `line_` unchanged.
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

  /// Removes a number followed by `word` from the front of the line.
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

/// Parses `text`; `path` names the file in error messages. Control plane.
[[nodiscard]] inline Result<Baseline> read_baseline(std::string_view text, std::string_view path) {
  return BaselineReader(text, path).read();
}

}  // namespace alloctap::testing

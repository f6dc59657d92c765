/// The data-quality statements of a report as text, and as a list of strings.
#pragma once

#include <cstdint>
#include <string_view>

#include "alloctap/dump/dump_policy.hpp"
#include "alloctap/dump/dump_writer.hpp"
#include "alloctap/dump/human_units.hpp"
#include "alloctap/dump/impl/outputs.hpp"
#include "alloctap/version.hpp"

namespace alloctap {

/// Writes `text` on one line: replaces each control character by `instead`.
inline void write_in_one_line(std::string_view text, DumpWriter& out, char instead = ' ') {
  for (const char character : text) {
    const bool control = static_cast<unsigned char>(character) < 0x20 || character == 0x7F;
    out << (control ? instead : character);
  }
}

/// Writes the program's command line, or its executable if the command line is unknown.
inline void write_command(const ProgramInfo& program, DumpWriter& out) {
  write_in_one_line(program.command.empty() ? program.executable : program.command, out);
}

/// Writes which program was tracked and how, and how complete and exact the numbers are. Writes
/// `separator` between the statements, which contain no control characters.
inline void write_account(const Report& report, std::string_view separator, DumpWriter& out) {
  const DataQuality& account = report.snapshot.account;
  const BackendInfo& backend = report.backend;
  out << "alloctap " << kVersionString << ", pid " << report.program.pid << ' ';
  write_in_one_line(report.program.executable, out);
  out << separator << "hook ";
  write_in_one_line(backend.hook, out);
  out << ", stacks by ";
  write_in_one_line(backend.stack, out);
  out << ", at most " << backend.max_frames << " frames, symbols by ";
  write_in_one_line(backend.symbolizer, out);
  const auto write_if_any = [&](std::string_view title, std::string_view text) {
    if (text.empty()) return;
    out << separator << title;
    write_in_one_line(text, out);
  };
  write_if_any("names: ", backend.symbolizer_note());
  write_if_any("unseen: ", backend.blind_spots);
  const auto write_count = [&out](std::uint64_t count, std::string_view noun) -> DumpWriter& {
    return out << count << ' ' << noun << plural(count);
  };
  out << separator;
  write_count(account.events, "event") << ", " << account.dropped << " dropped, ";
  if (account.unmatched_frees) {
    write_count(*account.unmatched_frees, "free") << " of unknown blocks, ";
  }
  write_count(account.unseen_frees, "free") << " not seen, ";
  write_count(account.failed_unwinds, "stack")
      << " cut short, " << account.truncated_stacks << " deeper than the limit, ";
  write_count(account.pauses, "pause");
  if (account.frame_pointer_unwinds > 0) {
    out << separator;
    write_count(account.frame_pointer_unwinds, "stack")
        << " through code without unwind tables, by its frame pointers";
  }
  if (account.unlogged_events > 0) {
    out << separator;
    write_count(account.unlogged_events, "event") << (account.unlogged_events == 1 ? " is" : " are")
                                                  << " in every number, but not in the event log";
  }
  if (!report.snapshot.sampling.exact) {
    out << separator << "sampled by ";
    write_in_one_line(report.snapshot.sampling.policy.name, out);
    out << ": numbers of stacks are estimates";
  }
  if (!account.consistent) out << separator << "a thread was stopped inside the tracker";
}

/// The statements that `write_account` writes, as a list of strings in arena memory.
class AccountList {
 public:
  explicit AccountList(const Report& report) {
    DumpWriter lines(text_);
    write_account(report, "\n", lines);
    lines << '\n';
    complete_ = lines.finish().ok();
  }

  /// Returns false if out of memory.
  [[nodiscard]] bool complete() const noexcept { return complete_; }

  /// Calls `visit(std::string_view)` for each statement.
  template <class Visit>
  void for_each(Visit&& visit) const {
    std::string_view rest = text_.text();
    for (std::size_t end = rest.find('\n'); end != rest.npos; end = rest.find('\n')) {
      visit(rest.substr(0, end));
      rest.remove_prefix(end + 1);
    }
  }

 private:
  MemoryOutput text_;
  bool complete_ = false;
};

}  // namespace alloctap

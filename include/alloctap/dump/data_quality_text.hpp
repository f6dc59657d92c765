/// The data-quality statements of a report as text, for formats that have comments.
#pragma once

#include <cstdint>
#include <string_view>

#include "alloctap/dump/dump_writer.hpp"
#include "alloctap/dump/human_units.hpp"
#include "alloctap/dump/report.hpp"
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

}  // namespace alloctap

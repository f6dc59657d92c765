/// The account of a report as comments, for formats that have them.
#pragma once

#include <string_view>

#include "alloctap/dump/dump_writer.hpp"
#include "alloctap/dump/report.hpp"
#include "alloctap/version.hpp"

namespace alloctap {

/// `text` with `instead` in the place of every control character, so that it stays in one line.
inline void write_in_one_line(std::string_view text, DumpWriter& out, char instead = ' ') {
  for (const char character : text) {
    const bool control = static_cast<unsigned char>(character) < 0x20 || character == 0x7F;
    out << (control ? instead : character);
  }
}

/// The command of the program, or its executable where that is not known.
inline void write_command(const ProgramInfo& program, DumpWriter& out) {
  write_in_one_line(program.command.empty() ? program.executable : program.command, out);
}

/// Whom the report is about, how it was made and how far its numbers can be trusted, in lines that
/// start with `mark`.
inline void write_account_lines(const Report& report, std::string_view mark, DumpWriter& out) {
  const Account& account = report.snapshot.account;
  const BackendInfo& backend = report.backend;
  out << mark << "alloctap " << kVersionString << ": pid " << report.program.pid << ' ';
  write_in_one_line(report.program.executable, out);
  out << '\n'
      << mark << "hook " << backend.hook << ", stacks by " << backend.stack << ", at most "
      << backend.max_frames << " frames, symbols by " << backend.symbolizer << '\n';
  if (!backend.blind_spots.empty()) out << mark << "unseen: " << backend.blind_spots << '\n';
  out << mark << account.events << " events, " << account.dropped << " dropped, ";
  if (account.unmatched_frees) out << *account.unmatched_frees << " frees of unknown blocks, ";
  out << account.unseen_frees << " frees not seen, " << account.failed_unwinds
      << " stacks cut short, " << account.truncated_stacks << " deeper than the limit, "
      << account.pauses << " pauses\n";
  if (!report.snapshot.sampling.exact) {
    out << mark << "sampled by " << report.snapshot.sampling.policy.name
        << ": numbers of stacks are estimates\n";
  }
  if (!account.consistent) out << mark << "a thread was stopped inside the tracker\n";
}

}  // namespace alloctap

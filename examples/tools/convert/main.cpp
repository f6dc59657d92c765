/// alloctap-convert: makes other reports of a record.
#include <algorithm>
#include <alloctap/dump/dump_writer.hpp>
#include <alloctap/dump/impl/outputs.hpp>
#include <alloctap/dump/recording/saved_report.hpp>
#include <alloctap/runtime/file_contents.hpp>
#include <cstddef>
#include <cstdio>
#include <span>
#include <string>

#include "absl/strings/escaping.h"
#include "alloctap/message_text.hpp"
#include "alloctap/status.hpp"
#include "chosen_dump.hpp"
#include "convert/options.hpp"
#include "convert/replay_text.hpp"
#include "tool_program.hpp"

namespace alloctap::run {
namespace {

enum ExitCode : int { kFine = 0, kDamaged = 1, kFailed = kToolFailed };

constexpr std::size_t kMaxBytes = std::size_t{1} << 40;

constexpr char kTool[] = "alloctap-convert";

int say(int code, const std::string& message) { return run::say(kTool, code, message); }

template <class Output>
Status write_to(Output&& output, const Report& report, const ChosenDump& dump) {
  if (Status status = output.open(); !status.ok()) return status;
  DumpWriter writer(output);
  dump.write(report, writer);
  if (Status status = writer.finish(); !status.ok()) return status;
  return output.commit();
}

int write_targets(const ConvertOptions& options, const Report& report) {
  int code = kFine;
  for (const ConvertOptions::Target& target : options.targets) {
    const ChosenDump dump{.format = target.format};
    const Status status = target.path == "-" ? write_to(DescriptorOutput(1), report, dump)
                                             : write_to(FileOutput(target.path), report, dump);
    if (!status.ok()) code = say(kFailed, std::string(status.message()));
  }
  return code;
}

/// Of a damaged record, what was readable is written.
int convert(const ConvertOptions& options) {
  const std::string name = join_text("'", escaped_text(options.record), "'");
  ArenaArray<char> record;
  const int error = read_file(options.record.c_str(), kMaxBytes, record);
  if (error != 0) {
    return say(kFailed, join_text(name, " cannot be read: ", os::error_text(error)));
  }
  SavedReport saved;
  const Status status = saved.read(text_of(record));
  int code = kFine;
  if (!status.ok()) {
    code = say(kDamaged, join_text(name, " ", std::string(status.message())));
    if (status.code() != StatusCode::kDataLoss) return code;
  }
  const Report report = saved.report();
  if (options.replay) {
    const ReplayText replay = replay_text(report.snapshot);
    if (std::fputs(join_text(name, " ", replay.text, "\n").c_str(), stdout) < 0 ||
        std::fflush(stdout) != 0) {
      return say(kFailed, "standard output cannot be written");
    }
    if (!replay.equal) code = kDamaged;
  }
  return std::max(code, write_targets(options, report));
}

}  // namespace
}  // namespace alloctap::run

int main(int argc, char** argv) {
  using namespace alloctap::run;
  return run_tool(kTool, {argv, static_cast<std::size_t>(argc)}, &parse_convert_options, &convert);
}

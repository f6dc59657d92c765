#include "launcher/dump_choices.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "alloctap/message_text.hpp"
#include "alloctap/status.hpp"
#include "launcher/failure.hpp"
#include "launcher/writable_path.hpp"
#include "output_argument.hpp"

namespace alloctap::run {
namespace {

constexpr std::string_view kStandardOutput = "-";

std::string why_no_dump(const std::string& argument) {
  const std::size_t equals = argument.find('=');
  const bool has_path_alone = equals == argument.npos;
  const std::string close =
      has_path_alone ? close_ending(ending_of(argument)) : close_format(argument.substr(0, equals));
  const std::string problem =
      has_path_alone ? "there is no '=', and no format goes by this ending"
                     : join_text("unknown format ", in_quotes(argument.substr(0, equals)));
  if (!close.empty()) return problem + close;
  return join_text(problem, "; write FORMAT=PATH, where FORMAT is one of ", list_of(kFormatNames),
                   ", or a PATH with an ending ", kSomeEndings);
}

/// Of --dump, whose format is to be told for sure.
std::string read_dump_argument(const std::string& argument, DumpFormat& format, std::string& path) {
  if (read_named_format(argument, format, path)) return "";
  path = argument;
  if (argument == kStandardOutput) return "";
  const bool has_path_alone = argument.find('=') == argument.npos;
  if (has_path_alone && find_format_by_ending(argument, format)) return "";
  return why_no_dump(argument);
}

using ReadArgument = std::string (*)(const std::string&, DumpFormat&, std::string&);

Status add_dump(const char* option, const std::string& argument, ReadArgument read,
                Options& options) {
  DumpRequest dump;
  dump.argument = join_text(option, " ", in_quotes(argument));
  std::string why = read(argument, dump.format, dump.path);
  if (why.empty() && dump.path == kStandardOutput) {
    const Result<std::string> path = standard_output_path();
    if (path.ok()) {
      dump.path = *path;
    } else {
      why = std::string(path.status().message());
    }
  }
  if (!why.empty()) return Status::invalid_argument(dump.argument, ": ", why);
  options.dumps.push_back(std::move(dump));
  return Status();
}

}  // namespace

Status set_dumps(const CommandLine& line, Options& options) {
  const std::size_t count = line.dumps().size() + line.outputs().size();
  if (count > kMaxDumps) {
    return Status::invalid_argument("--dump and --output are given ", count,
                                    " times; give them at most ", kMaxDumps);
  }
  // Who writes --dump expects nothing on standard error.
  if (!line.outputs().empty()) options.children_hint = ChildrenHint::kAlways;
  Status status;
  for (const std::string& argument : line.dumps()) {
    status.update(add_dump("--dump", argument, &read_dump_argument, options));
  }
  for (const std::string& argument : line.outputs()) {
    status.update(add_dump("--output", argument, &read_output_argument, options));
  }
  return status;
}

}  // namespace alloctap::run

#include "launcher/dump_choices.hpp"

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "launcher/failure.hpp"
#include "launcher/writable_path.hpp"

namespace alloctap::run {
namespace {

constexpr std::string_view kStandardOutput = "-";

struct Ending {
  std::string_view text;
  DumpFormat format;
};

/// Beside the names of formats, which are endings too. The first that fits counts.
constexpr auto kEndings = std::to_array<Ending>({{".txt", DumpFormat::kText},
                                                 {".log", DumpFormat::kText},
                                                 {".htm", DumpFormat::kHtml},
                                                 {".pb.gz", DumpFormat::kPprof},
                                                 {".collapsed", DumpFormat::kFolded},
                                                 {".speedscope.json", DumpFormat::kSpeedscope},
                                                 {".trace.json", DumpFormat::kChromeTrace},
                                                 {".dhat.json", DumpFormat::kDhat},
                                                 {".matrix.json", DumpFormat::kMatrix}});

constexpr char kSomeEndings[] = "such as .txt, .html, .json, .folded, .pb.gz or .record";

/// What follows the last '.' of the file's name, with it; empty where there is none.
std::string ending_of(std::string_view path) {
  const std::string_view name = path.substr(path.find_last_of("/\\") + 1);
  const std::size_t dot = name.rfind('.');
  return dot == name.npos || dot == 0 ? std::string() : std::string(name.substr(dot));
}

/// False where no format is usual for the ending of `path`.
bool find_format_by_ending(const std::string& path, DumpFormat& format) {
  const std::string lower = absl::AsciiStrToLower(path);
  for (const Ending& ending : kEndings) {
    if (!std::string_view(lower).ends_with(ending.text)) continue;
    format = ending.format;
    return true;
  }
  const std::string ending = ending_of(lower);
  return !ending.empty() && find_name(kFormatNames, ending.substr(1), format);
}

/// Reads FORMAT=PATH; false where no format's name is in front.
bool read_named_format(const std::string& argument, DumpRequest& dump) {
  const std::size_t equals = argument.find('=');
  if (equals == argument.npos) return false;
  if (!find_name(kFormatNames, argument.substr(0, equals), dump.format)) return false;
  dump.path = argument.substr(equals + 1);
  return true;
}

std::string why_no_dump(const std::string& argument) {
  const std::size_t equals = argument.find('=');
  const std::string problem =
      equals == argument.npos
          ? "there is no '=', and no format goes by this ending"
          : absl::StrCat("unknown format ", in_quotes(argument.substr(0, equals)));
  return absl::StrCat(problem, "; write FORMAT=PATH, where FORMAT is one of ",
                      list_of(kFormatNames), ", or a PATH with an ending ", kSomeEndings);
}

std::string why_no_output(const std::string& argument) {
  return absl::StrCat("no format goes by the ending ", in_quotes(ending_of(argument)),
                      "; write one ", kSomeEndings, ", or --dump FORMAT=PATH");
}

/// Of --dump, whose format is to be told for sure.
std::string read_dump_argument(const std::string& argument, DumpRequest& dump) {
  if (read_named_format(argument, dump)) return "";
  dump.path = argument;
  if (argument == kStandardOutput) return "";
  const bool has_path_alone = argument.find('=') == argument.npos;
  if (has_path_alone && find_format_by_ending(argument, dump.format)) return "";
  return why_no_dump(argument);
}

/// Of --output, whose argument is a path: one without an ending is for text. -o=PATH comes here
/// with its '='.
std::string read_output_argument(const std::string& argument, DumpRequest& dump) {
  if (read_named_format(argument, dump)) return "";
  dump.path = argument.starts_with('=') ? argument.substr(1) : argument;
  if (find_format_by_ending(argument, dump.format) || ending_of(argument).empty()) return "";
  return why_no_output(argument);
}

using ReadArgument = std::string (*)(const std::string&, DumpRequest&);

absl::Status add_dump(const char* option, const std::string& argument, ReadArgument read,
                      Options& options) {
  DumpRequest dump;
  dump.argument = absl::StrCat(option, " ", in_quotes(argument));
  std::string why = read(argument, dump);
  if (why.empty() && dump.path == kStandardOutput) {
    const absl::StatusOr<std::string> path = standard_output_path();
    if (path.ok()) {
      dump.path = *path;
    } else {
      why = std::string(path.status().message());
    }
  }
  if (!why.empty()) return absl::InvalidArgumentError(absl::StrCat(dump.argument, ": ", why));
  options.dumps.push_back(std::move(dump));
  return absl::OkStatus();
}

}  // namespace

absl::Status set_dumps(const CommandLine& line, Options& options) {
  const std::size_t count = line.dumps().size() + line.outputs().size();
  if (count > kMostDumps) {
    return absl::InvalidArgumentError(absl::StrCat("--dump and --output are given ", count,
                                                   " times; give them at most ", kMostDumps));
  }
  // Who writes --dump expects nothing on standard error.
  if (!line.outputs().empty()) options.children_hint = ChildrenHint::kAlways;
  absl::Status status;
  for (const std::string& argument : line.dumps()) {
    status.Update(add_dump("--dump", argument, &read_dump_argument, options));
  }
  for (const std::string& argument : line.outputs()) {
    status.Update(add_dump("--output", argument, &read_output_argument, options));
  }
  return status;
}

}  // namespace alloctap::run

#include "launcher/command_line.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>

#include "absl/strings/escaping.h"
#include "alloctap/message_text.hpp"
#include "alloctap/status.hpp"
#include "alloctap/version.hpp"
#include "launcher/failure.hpp"
#include "option_values.hpp"
#include "settings.hpp"
#include "tool_options.hpp"

namespace alloctap::run {
namespace {

struct Formatter : CLI::Formatter {
  Formatter() { column_width(28); }
  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override {
    return join_text("Examples:\n", kRunExamples, "\n") +
           CLI::Formatter::make_help(app, std::move(name), mode);
  }
  std::string make_usage(const CLI::App*, std::string) const override {
    return join_text("Usage: alloctap-run [OPTION]... ", kRunArguments, "\n");
  }
};

/// As debuggers and other trackers spell it.
bool asks_to_attach(std::string_view option) {
  const std::string_view name = option.substr(0, option.find('='));
  return name == "--pid" || name == "--attach" || name.starts_with("-p");
}

constexpr char kCannotAttach[] =
    ": alloctap-run cannot attach to a process that runs already, whose earlier blocks nobody "
    "knows; start it by alloctap-run PROGRAM [ARGS...], or build a tracker into it, which can be "
    "started at any time";

}  // namespace

CommandLine::CommandLine()
    : app_(std::make_unique<CLI::App>(
          "Runs PROGRAM and reports which call stacks hold its memory.")) {
  app_->formatter(std::make_shared<Formatter>());
  app_->set_help_flag("-h,--help", "Print this help and exit.");
  app_->set_version_flag("--version", join_text("alloctap-run ", kVersionString),
                         "Print the version and exit.");
  app_->allow_extras();
  output_ = add("-o,--output", "PATH",
                "Write a report to PATH when PROGRAM ends, in the format that its\n"
                "ending tells: .html, .json, .txt, .folded, .pb.gz (pprof), ...;\n"
                "text where it has none. - is standard output. In PATH, %p is the\n"
                "process id, %n the number of the report and %% a percent sign.\n"
                "May be given again for another PATH. Default: text on standard\n"
                "error.");
  dump_ = add("--dump", "FORMAT=PATH", "The same in FORMAT, whatever the ending.", kFormatNames);
  interval_ = add("--interval", "SECONDS",
                  "Write the reports while PROGRAM runs too, each SECONDS (0.01\n"
                  "and more). Without %n in PATH, a report takes the place of the\n"
                  "one before. Default: at the end alone.");
  threshold_ = add("--threshold", "BYTES",
                   "Write them too each time BYTES more are live than at the last\n"
                   "report; looked at every 10 ms.");
  if (!kDumpSignals.empty()) {
    signal_ = add("--signal", "NAME",
                  "Write them too when PROGRAM gets the signal NAME (USR1, HUP, ...),\n"
                  "which does not end it then. Handlers of PROGRAM come first.");
    std::vector<std::string_view> names;
    for (const DumpSignal& signal : kDumpSignals) names.push_back(signal.name);
    note_values(signal_, names);
  }
  stack_ = add("--stack", "CHOICE",
               "How call stacks are captured: unwind-table (whole and fast),\n"
               "backtrace (by the compiler's unwinder, slow), frame-pointer (for\n"
               "programs built with frame pointers) or none (the caller alone).\n"
               "Default: unwind-table.",
               kStackNames);
  max_frames_ = add("--max-frames", "N",
                    join_text("Keep the innermost N frames of a stack, from 1 to ", kMaxFrames,
                              ".\nDefault: ", kDefaultFrames, "."));
  sample_ = add("--sample", "BYTES",
                "Record about one allocation in BYTES allocated bytes, for\n"
                "programs that cannot afford a stack for each; 512K is usual.\n"
                "Live and per-stack numbers are then estimates with a stated\n"
                "margin. Default: record every allocation.");
  min_size_ = add("--min-size", "BYTES",
                  "Take stacks only of blocks of at least BYTES. Smaller ones\n"
                  "appear as one stack. Default: of all.");
  max_size_ = add("--max-size", "BYTES",
                  "Take stacks only of blocks of at most BYTES. Larger ones\n"
                  "appear as one stack. Default: of all.");
  events_ = add("--events", "BYTES",
                "Keep every event, in order and with its time, in up to BYTES of\n"
                "memory (1G holds about 150 million), for the formats record and\n"
                "heaptrack. When it is full, the reports say so and fall back to\n"
                "totals. Default: events are counted, not kept.");
  if (kHasTags) add_tags();
  leaks_ = add("--leaks", "live|unreachable",
               "Report leaks: all that PROGRAM still holds, or of that only what\n"
               "it cannot reach any more, told by a scan of a copy of it.\n"
               "Default: live with --suppressions of leaks, else no leaks.",
               std::span(kLeakNames).subspan(1));
  suppressions_ = add("--suppressions", "FILE",
                      "Leave out of the reports, and of --error-exitcode, what the\n"
                      "rules in FILE name, one in each line: leak:PATTERN as for\n"
                      "LeakSanitizer, misuse:PATTERN, or one kind of misuse such as\n"
                      "double_free:PATTERN. only-leak:PATTERN and its like leave out all\n"
                      "else. Rules about leaks that PROGRAM brings itself count too. May\n"
                      "be given again for another FILE.");
  if (kSomeHookChecksBlocks) add_checks();
  hook_ = add("--hook", "CHOICE", kHookHelp, kHookNames);
  if (kSomeHookChoosesModules) add_modules();
  mmap_ = add("--mmap", "on|off", kMappingsHelp, kMappingsNames);
  follow_children_ = app_->add_flag("--follow-children");
  follow_children_->description(
      "Track child processes too; each writes its own report, so\n"
      "PATH needs %p in the file name. Default: PROGRAM alone.");
  app_->footer(
      join_text("FORMAT is one of ", list_of(kFormatNames),
                ".\nBYTES is a whole number, or one with K, M or G for 1024, 1024^2 or 1024^3.\n"
                "Everything after PROGRAM belongs to PROGRAM.\n"
                "Exit status: PROGRAM's own; 127 where PROGRAM is not found, 126 where it cannot\n"
                "be executed, 2 where the command line is wrong or PROGRAM cannot be tracked."));
}

CommandLine::~CommandLine() = default;

void CommandLine::add_modules() {
  modules_ = add("--modules", "REGEX",
                 "With --hook=plt, track calls of modules whose path matches, a\n"
                 "POSIX extended regular expression. May be given again. Default:\n"
                 "of all modules.");
  not_modules_ = add("--not-modules", "REGEX",
                     "With --hook=plt, leave out modules whose path matches, whatever\n"
                     "else chooses them. May be given again.");
}

void CommandLine::add_checks() {
  checks_ = add("--checks", "LIST",
                "Look for misuse of blocks: level10 (everything), level5 (fills\n"
                "them), or names of Android's malloc_debug with their values, such\n"
                "as guard=64,free_track,verify_pointers; and verify_kinds. What is\n"
                "found stands in the reports, with the stacks of the fault, of the\n"
                "allocation and of the free. A bad free does not reach the\n"
                "allocator. Default: nothing is checked.");
  if (kSomeHookPlacesBlocks) add_guard_pages();
  if (kSomeHookChecksStrings) add_string_checks();
  error_exit_code_ = add("--error-exitcode", "N",
                         "Where these, or --leaks, found something and PROGRAM ends by\n"
                         "itself, end with N, from 1 to 255. Default: with PROGRAM's own\n"
                         "exit code.");
}

void CommandLine::add_guard_pages() {
  guard_pages_ = add("--guard-pages", "all|1/N[,EDGE]",
                     "Put each block, or one in N, at the edge of a page beside\n"
                     "inaccessible ones, and make it inaccessible when it is freed:\n"
                     "who reads or writes there is told of at once, with the stacks\n"
                     "of the access, of the allocation and of the free; PROGRAM's\n"
                     "handler of SIGSEGV comes next, or its end. EDGE is right (the\n"
                     "default), left or random. 1/1000 is meant for daily use.");
}

void CommandLine::add_tags() {
  tags_ = app_->add_flag("--tags");
  tags_->description(
      "Tell memory apart by what PROGRAM says of itself through\n"
      "alloctap/annotate.h: tags, frames, pools, scopes that must not allocate.\n"
      "Default: marks, pauses and fibers alone are heard.");
}

void CommandLine::add_string_checks() {
  string_checks_ = app_->add_flag("--string-checks");
  string_checks_->description(
      "Look at what memcpy, strlen and their relatives are given, too:\n"
      "reads and writes before, behind and after a block, and copies that\n"
      "overlap, told before the call. Alone or beside --checks.");
}

Result<std::size_t> CommandLine::find_program(std::span<char*> arguments) const {
  std::size_t i = 1;
  for (; i < arguments.size(); ++i) {
    const std::string argument = arguments[i];
    if (argument == "--") return i + 1;
    if (!argument.starts_with('-')) return i;
    if (Status status = check_value(argument); !status.ok()) return status;
    if (takes_value(argument)) ++i;
  }
  return std::min(i, arguments.size());
}

Result<std::string> CommandLine::parse(std::span<char*> options) {
  // CLI11 takes them from the back.
  std::vector<std::string> reversed(options.rbegin(), options.rend());
  try {
    app_->parse(reversed);
  } catch (const CLI::CallForHelp&) {
    return app_->help();
  } catch (const CLI::CallForVersion& version) {
    return join_text(version.what(), "\n");
  } catch (const CLI::ParseError& error) {
    return Status::invalid_argument(escaped_text(error.what()), "; see alloctap-run --help");
  }
  const std::vector<std::string> unknown = app_->remaining();
  if (unknown.empty()) return std::string();
  return Status::invalid_argument(
      asks_to_attach(unknown.front())
          ? join_text("option ", in_quotes(unknown.front()), kCannotAttach)
          : unknown_option(*app_, "alloctap-run", unknown.front()));
}

bool CommandLine::checks_strings() const {
  return string_checks_ != nullptr && string_checks_->count() > 0;
}

bool CommandLine::tells_tags() const { return tags_ != nullptr && tags_->count() > 0; }

bool CommandLine::follows_children() const { return follow_children_->count() > 0; }

std::vector<std::string> CommandLine::results(const CLI::Option* option) {
  return option != nullptr ? option->results() : std::vector<std::string>{};
}

CLI::Option* CommandLine::add(const char* name, const char* value, const std::string& description,
                              std::span<const std::string_view> values) {
  CLI::Option* option = app_->add_option(name)->description(description)->option_text(value);
  note_values(option, values);
  return option->expected(1)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

bool CommandLine::takes_value(const std::string& name) const {
  const CLI::Option* option = app_->get_option_no_throw(name);
  return option != nullptr && option->get_expected_min() > 0;
}

/// CLI11 would take the next argument for an empty value, and ignores some values of flags.
Status CommandLine::check_value(const std::string& argument) const {
  const std::size_t equals = argument.find('=');
  const std::string name = argument.substr(0, equals);
  if (equals == argument.npos || app_->get_option_no_throw(name) == nullptr) {
    return Status();
  }
  if (!takes_value(name)) {
    return Status::invalid_argument("option ", in_quotes(argument), " takes no value; write ",
                                    name);
  }
  if (equals + 1 < argument.size()) return Status();
  return Status::invalid_argument("option ", in_quotes(argument),
                                  " has no value; write one behind the '='");
}

}  // namespace alloctap::run

#include "launcher/options.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "alloctap/message_text.hpp"
#include "alloctap/os/path_pattern.hpp"
#include "alloctap/status.hpp"
#include "byte_count.hpp"
#include "launcher/check_choices.hpp"
#include "launcher/command_line.hpp"
#include "launcher/dump_choices.hpp"
#include "launcher/failure.hpp"
#include "launcher/suppression_files.hpp"

namespace alloctap::run {
namespace {

Status set_stack(const std::string& value, Options& options) {
  if (find_name(kStackNames, value, options.stack)) return Status();
  return Status::invalid_argument("--stack ", in_quotes(value), ": unknown; write one of ",
                                  list_of(kStackNames));
}

Status set_max_frames(const std::string& value, Options& options) {
  const char* end = value.data() + value.size();
  const auto [stop, error] = std::from_chars(value.data(), end, options.max_frames);
  const bool in_range = options.max_frames >= 1 && options.max_frames <= kMaxFrames;
  if (error == std::errc{} && stop == end && in_range) return Status();
  return Status::invalid_argument("--max-frames ", in_quotes(value),
                                  ": write a whole number from 1 to ", kMaxFrames);
}

/// Sets `bytes` to the last of `values`, each from 1 to `most`.
Status set_bytes(const char* option, const std::vector<std::string>& values, std::uint64_t most,
                 std::uint64_t& bytes) {
  for (const std::string& value : values) {
    const std::optional<std::uint64_t> parsed = parse_bytes(value);
    if (!parsed || *parsed < 1 || *parsed > most) {
      return Status::invalid_argument(option, " ", in_quotes(value),
                                      ": write a number of bytes from 1 to ", most,
                                      ", such as 4096, 512K or 2M");
    }
    bytes = *parsed;
  }
  return Status();
}

Status set_sampling(const CommandLine& line, Options& options) {
  Status status = set_bytes("--sample", line.sample_means(), kMaxMeanBytes, options.mean_bytes);
  status.update(set_bytes("--min-size", line.min_sizes(), UINT64_MAX, options.min_size));
  status.update(set_bytes("--max-size", line.max_sizes(), UINT64_MAX, options.max_size));
  if (!status.ok() || options.min_size <= options.max_size) return status;
  return Status::invalid_argument("--min-size ", in_quotes(line.min_sizes().back()),
                                  " is above --max-size ", in_quotes(line.max_sizes().back()),
                                  "; write one that is not");
}

/// From a hundredth of a second to a year, in whole or decimal digits.
Status set_interval(const std::string& value, Options& options) {
  constexpr double kShortest = 0.01;
  constexpr double kNanoseconds = 1e9;
  double seconds = 0;
  const char* end = value.data() + value.size();
  const auto [stop, error] = std::from_chars(value.data(), end, seconds, std::chars_format::fixed);
  const double longest = static_cast<double>(kLongestInterval) / kNanoseconds;
  if (error != std::errc{} || stop != end || !(seconds >= kShortest && seconds <= longest)) {
    return Status::invalid_argument(
        "--interval ", in_quotes(value),
        ": write a number of seconds from 0.01 to 31536000, such as 0.5 or 60");
  }
  options.interval_ns = static_cast<std::int64_t>(seconds * kNanoseconds);
  return Status();
}

Status set_dump_signal(const std::string& value, Options& options) {
  options.dump_signal = find_dump_signal(value);
  if (options.dump_signal != 0) return Status();
  std::string names;
  for (const DumpSignal& signal : kDumpSignals) {
    names.append(names.empty() ? "" : ", ").append(signal.name);
  }
  return Status::invalid_argument("--signal ", in_quotes(value),
                                  ": no signal that can ask for a dump; write one of ", names);
}

Status set_events(const CommandLine& line, Options& options) {
  Status status = set_bytes("--events", line.event_bytes(), UINT64_MAX, options.event_bytes);
  if (!status.ok() || options.event_bytes == 0 || options.mean_bytes <= 1) return status;
  return Status::invalid_argument(
      "--events and --sample exclude each other: samples are not all events; leave one out");
}

/// The object that tells tags records all blocks, and checks and keeps nothing else.
Status set_tags(const CommandLine& line, Options& options) {
  options.tags = line.tells_tags();
  if (!options.tags) return Status();
  const char* other = nullptr;
  if (options.chooses_blocks())
    other = options.mean_bytes > 1 ? "--sample" : "--min-size or --max-size";
  if (options.event_bytes > 0) other = "--events";
  if (!options.checks.empty()) other = "checks";
  if (other == nullptr) return Status();
  return Status::invalid_argument("--tags and ", other, " exclude each other; leave one out");
}

Status set_triggers(const CommandLine& line, Options& options) {
  Status status = set_bytes("--threshold", line.thresholds(), UINT64_MAX, options.threshold_bytes);
  for (const std::string& value : line.intervals()) status.update(set_interval(value, options));
  for (const std::string& value : line.signals()) status.update(set_dump_signal(value, options));
  return status;
}

Status set_hook(const std::string& value, Options& options) {
  if (find_name(kHookNames, value, options.hook)) return Status();
  return Status::invalid_argument("--hook ", in_quotes(value), ": unknown; write one of ",
                                  list_of(kHookNames));
}

Status set_leaks(const CommandLine& line, Options& options) {
  options.suppressions = line.suppressions();
  if (ask_for_leaks(options.suppressions)) options.leaks = LeakChoice::kLive;
  for (const std::string& value : line.leak_choices()) {
    if (!find_name(kLeakNames, value, options.leaks) || options.leaks == LeakChoice::kNone) {
      return Status::invalid_argument("--leaks ", in_quotes(value), ": write live or unreachable");
    }
  }
  if (options.leaks != LeakChoice::kUnreachable) return Status();
  if (options.mean_bytes <= 1) return Status();
  return Status::invalid_argument(
      "--leaks=unreachable needs every allocation, and --sample leaves some out; leave one of them "
      "out");
}

Status set_mappings(const std::string& value, Options& options) {
  options.mappings = value == "on";
  if (options.mappings || value == "off") return Status();
  return Status::invalid_argument("--mmap ", in_quotes(value), ": write on or off");
}

Status add_modules(const char* option, const std::vector<std::string>& patterns, bool leaves_out,
                   Options& options) {
  for (const std::string& pattern : patterns) {
    os::PatternError error;
    const os::PathPattern compiled(pattern, error);
    std::string why = error.text;
    if (!why.empty()) append_text(why, ", at character ", error.position + 1);
    if (pattern.empty() || pattern.size() > kLongestModulePattern) {
      why = join_text("write 1 to ", kLongestModulePattern, " characters");
    } else if (options.modules.size() == kMaxModulePatterns) {
      why = join_text("there are more than ", kMaxModulePatterns, " patterns; join some by '|'");
    } else if (!description_of(options.hook).chooses_modules) {
      why = "modules can be chosen with --hook=plt alone";
    }
    if (!why.empty()) {
      return Status::invalid_argument(option, " ", in_quotes(pattern), ": ", why);
    }
    options.modules.push_back({pattern, leaves_out});
  }
  return Status();
}

Status set_hooks(const CommandLine& line, Options& options) {
  Status status;
  for (const std::string& value : line.hooks()) status.update(set_hook(value, options));
  for (const std::string& value : line.mmap_choices()) status.update(set_mappings(value, options));
  if (!status.ok()) return status;
  status.update(add_modules("--modules", line.modules(), false, options));
  status.update(add_modules("--not-modules", line.left_out_modules(), true, options));
  return status;
}

/// Without the launcher's name in front and the "--" that ends the options.
std::span<char*> own_options(std::span<char*> arguments) {
  if (!arguments.empty()) arguments = arguments.subspan(1);
  const bool marked = !arguments.empty() && std::string_view(arguments.back()) == "--";
  return marked ? arguments.first(arguments.size() - 1) : arguments;
}

}  // namespace

Result<Options> parse_options(std::span<char*> arguments) {
  CommandLine line;
  const Result<std::size_t> program = line.find_program(arguments);
  if (!program.ok()) return program.status();
  Result<std::string> answer = line.parse(own_options(arguments.first(*program)));
  if (!answer.ok()) return answer.status();
  Options options;
  options.answer = *std::move(answer);
  if (!options.answer.empty()) return options;
  Status status = set_dumps(line, options);
  for (const std::string& value : line.stacks()) status.update(set_stack(value, options));
  for (const std::string& value : line.frame_limits()) {
    status.update(set_max_frames(value, options));
  }
  status.update(set_sampling(line, options));
  status.update(set_events(line, options));
  status.update(set_triggers(line, options));
  status.update(set_hooks(line, options));
  status.update(set_leaks(line, options));
  status.update(set_checks(line, options));
  status.update(set_tags(line, options));
  if (!status.ok()) return status;
  options.follow_children = line.follows_children();
  options.command = arguments.subspan(*program);
  if (!options.command.empty()) return options;
  return Status::invalid_argument("there is no PROGRAM; write alloctap-run PROGRAM [ARGS...]");
}

}  // namespace alloctap::run

#include "launcher/check_choices.hpp"

#include <charconv>
#include <string>
#include <system_error>

#include "absl/strings/str_join.h"
#include "alloctap/check/selectable_checks.hpp"
#include "alloctap/message_text.hpp"
#include "alloctap/status.hpp"
#include "launcher/failure.hpp"
#include "launcher/guard_pages.hpp"

namespace alloctap::run {
namespace {

/// What is wrong with `checks`; empty where nothing is.
std::string why_no_checks(const std::string& checks, Options& options) {
  if (checks.size() > kMaxCheckBytes) {
    return join_text("write at most ", kMaxCheckBytes, " characters");
  }
  const Result<CheckSettings> settings = parse_check_options(checks);
  if (!settings.ok()) return std::string(settings.status().message());
  options.string_checks = settings->strings;
  if (!description_of(options.hook).checks_blocks) {
    return join_text("blocks can be checked with --hook=", std::string(kCheckingHook), " alone");
  }
  if (settings->guard_pages != 0 && !description_of(options.hook).uses_guard_pages) {
    return "guard pages are not to be had on this system";
  }
  if (options.string_checks && !description_of(options.hook).checks_strings) {
    return "string_checks: functions of strings cannot be checked on this system";
  }
  if (options.event_bytes > 0) return "it excludes --events; leave one out";
  return "";
}

Status set_guard_pages(const CommandLine& line, Options& options) {
  if (line.guard_pages().empty()) return Status();
  const std::string value = line.guard_pages().back();
  if (Status status = add_guard_pages(value, options.checks); !status.ok()) return status;
  const std::string why = why_no_checks(options.checks, options);
  if (why.empty()) return Status();
  return Status::invalid_argument("--guard-pages ", in_quotes(value), ": ", why);
}

Status set_lists(const CommandLine& line, Options& options) {
  options.checks = absl::StrJoin(line.checks(), " ");
  const std::string option =
      line.checks().empty() ? "--string-checks" : join_text("--checks ", in_quotes(options.checks));
  if (line.checks_strings()) {
    append_text(options.checks, options.checks.empty() ? "" : " ", "string_checks");
  }
  if (line.checks().empty() && !line.checks_strings()) return Status();
  const std::string why = why_no_checks(options.checks, options);
  if (why.empty()) return Status();
  return Status::invalid_argument(option, ": ", why);
}

Status set_error_exit_code(const std::string& value, Options& options) {
  const char* end = value.data() + value.size();
  const auto [stop, error] = std::from_chars(value.data(), end, options.error_exit_code);
  const bool in_range =
      options.error_exit_code >= 1 && options.error_exit_code <= kMaxErrorExitCode;
  if (error != std::errc{} || stop != end || !in_range) {
    return Status::invalid_argument("--error-exitcode ", in_quotes(value),
                                    ": write a whole number from 1 to ", kMaxErrorExitCode);
  }
  if (!options.checks.empty() || options.leaks != LeakChoice::kNone) return Status();
  return Status::invalid_argument("--error-exitcode ", in_quotes(value),
                                  ": nothing is looked for; write --leaks=CHOICE, --checks=LIST or "
                                  "--guard-pages=CHOICE too");
}

}  // namespace

Status set_checks(const CommandLine& line, Options& options) {
  Status status = set_lists(line, options);
  status.update(set_guard_pages(line, options));
  for (const std::string& value : line.error_exit_codes()) {
    status.update(set_error_exit_code(value, options));
  }
  return status;
}

}  // namespace alloctap::run

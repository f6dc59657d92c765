/// alloctap-run: checks what can be checked, then becomes the program, with an object preloaded
/// that tracks it.
///
/// There is no process in between, so exit code, signals, terminal and process id are the
/// program's.
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "launcher/dump_targets.hpp"
#include "launcher/elf_check.hpp"
#include "launcher/failure.hpp"
#include "launcher/options.hpp"
#include "launcher/preload_object.hpp"
#include "launcher/program_file.hpp"
#include "launcher/suppression_files.hpp"
#include "settings.hpp"

namespace alloctap::run {
namespace {

/// What the program's environment gets.
struct Resolved {
  std::vector<ResolvedDump> dumps;
  std::vector<std::string> suppressions;
};

std::string encode_settings(const Options& options, const Resolved& resolved) {
  Settings settings{.root_pid = ::getpid(),
                    .follow_children = options.follow_children,
                    .stack = options.stack,
                    .max_frames = options.max_frames,
                    .mean_bytes = options.mean_bytes,
                    .min_size = options.min_size,
                    .max_size = options.max_size,
                    .event_bytes = options.event_bytes,
                    .interval_ns = options.interval_ns,
                    .threshold_bytes = options.threshold_bytes,
                    .dump_signal = options.dump_signal};
  for (const ResolvedDump& dump : resolved.dumps) {
    settings.dumps[settings.dump_count++] = {dump.format, dump.mode, dump.pattern};
  }
  for (const std::string& path : resolved.suppressions) {
    settings.suppressions[settings.suppression_count++] = path;
  }
  settings.hook.choice = options.hook;
  settings.hook.mappings = options.mappings;
  for (const ModuleChoice& choice : options.modules) {
    settings.hook.patterns[settings.hook.pattern_count++] = {choice.pattern, choice.leaves_out};
  }
  return encode(settings);
}

absl::Status set_variable(const char* name, const std::string& value) {
  if (::setenv(name, value.c_str(), 1) == 0) return absl::OkStatus();
  return absl::ErrnoToStatus(errno, absl::StrCat("cannot set ", name));
}

absl::Status set_environment(const Options& options, const Resolved& resolved,
                             const std::string& object) {
  const char* existing = ::getenv("LD_PRELOAD");
  const std::string preload =
      make_preload(object, options.hook, existing != nullptr ? existing : "");
  absl::Status status = set_variable("LD_PRELOAD", preload);
  status.Update(set_variable(kSettingsVariable, encode_settings(options, resolved)));
  return status;
}

/// Returns only if the system refuses.
absl::Status become(const ProgramFile& program, std::span<char*> command) {
  ::execv(program.path.c_str(), command.data());
  if (errno == ENOEXEC && program.needs_shell) {
    std::string shell = kShell;
    std::string script = program.path;
    std::vector<char*> arguments{shell.data(), script.data()};
    // With the null pointer that stands behind them.
    arguments.insert(arguments.end(), command.data() + 1, command.data() + command.size() + 1);
    ::execv(kShell, arguments.data());
  }
  const int error = errno;
  return program_error(error, absl::StrCat("program ", in_quotes(program.path),
                                           " cannot be started: ", error_text(error)));
}

absl::StatusOr<Resolved> resolve(const Options& options) {
  auto suppressions = resolve_suppressions(options.suppressions);
  if (!suppressions.ok()) return suppressions.status();
  auto dumps = resolve_dumps(options.dumps, options.follow_children, ::getpid());
  if (!dumps.ok()) return dumps.status();
  return Resolved{*std::move(dumps), *std::move(suppressions)};
}

absl::Status start(const Options& options) {
  const auto resolved = resolve(options);
  if (!resolved.ok()) return resolved.status();
  const auto program = find_program(options.command.front());
  if (!program.ok()) return program.status();
  if (absl::Status status = check_preloadable(program->image); !status.ok()) return status;
  const auto object = find_preload_object(options.hook, options.event_bytes > 0);
  if (!object.ok()) return object.status();
  if (absl::Status status = set_environment(options, *resolved, *object); !status.ok())
    return status;
  return become(*program, options.command);
}

absl::Status print(const std::string& text) {
  const bool written = std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0;
  return written ? absl::OkStatus() : absl::ErrnoToStatus(errno, "standard output");
}

absl::Status run(std::span<char*> arguments) {
  const auto options = parse_options(arguments);
  if (!options.ok()) return options.status();
  return options->answer.empty() ? start(*options) : print(options->answer);
}

int report(int code, const std::string& message) {
  // One call, so that the line stays whole beside what others write.
  std::fputs(absl::StrCat("alloctap-run: ", message, "\n").c_str(), stderr);
  return code;
}

}  // namespace
}  // namespace alloctap::run

int main(int argc, char** argv) {
  try {
    const absl::Status status = alloctap::run::run({argv, static_cast<std::size_t>(argc)});
    if (status.ok()) return 0;
    return alloctap::run::report(alloctap::run::exit_code(status), std::string(status.message()));
  } catch (const std::exception& error) {
    return alloctap::run::report(2, error.what());
  }
}

/// alloctap-run: checks what can be checked, then becomes the program, with an object preloaded
/// that tracks it.
///
/// There is no process in between, so exit code, signals, terminal and process id are the
/// program's.
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <span>
#include <string>
#include <vector>

#include "alloctap/message_text.hpp"
#include "alloctap/status.hpp"
#include "launcher/elf_check.hpp"
#include "launcher/encode_settings.hpp"
#include "launcher/failure.hpp"
#include "launcher/options.hpp"
#include "launcher/preload_object.hpp"
#include "launcher/program_file.hpp"
#include "launcher/sanitizer_check.hpp"
#include "settings.hpp"

namespace alloctap::run {
namespace {

Status set_variable(const char* name, const std::string& value) {
  if (::setenv(name, value.c_str(), 1) == 0) return Status();
  return Status::unavailable("cannot set ", name, ": ", std::strerror(errno));
}

/// Keeps what was noted before in a followed program, where LD_PRELOAD is not the user's.
Status note_users_preload(const char* existing) {
  if (::getenv(kSettingsVariable) != nullptr) return Status();
  if (existing != nullptr) return set_variable(kUsersPreloadVariable, existing);
  ::unsetenv(kUsersPreloadVariable);
  return Status();
}

Status set_environment(const Options& options, const ResolvedFiles& files,
                       const std::string& object) {
  const char* existing = ::getenv(kPreloadVariable);
  const std::string preload =
      make_preload(object, options.hook, existing != nullptr ? existing : "");
  Status status = note_users_preload(existing);
  status.update(set_variable(kPreloadVariable, preload));
  status.update(set_variable(kSettingsVariable, encode_settings(options, files, ::getpid())));
  return status;
}

/// Returns only if the system refuses.
Status become(const ProgramFile& program, std::span<char*> command) {
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
  return program_error(error, join_text("program ", in_quotes(program.path),
                                        " cannot be started: ", error_text(error)));
}

ObjectKind object_kind(const Options& options) {
  if (options.string_checks) return ObjectKind::kChecksStrings;
  if (!options.checks.empty()) return ObjectKind::kChecksBlocks;
  if (options.tags) return ObjectKind::kWithTags;
  if (options.event_bytes > 0) return ObjectKind::kLogsEvents;
  return options.chooses_blocks() ? ObjectKind::kChoosesBlocks : ObjectKind::kCounts;
}

void print_line(const std::string& message) {
  // One call, so that the line stays whole beside what others write.
  std::fputs(join_text("alloctap-run: ", message, "\n").c_str(), stderr);
}

/// What is known before the start, because nobody is there to say it at the end.
void warn_of_missing_report(const Options& options, const ProgramFile& program) {
  if (options.interval_ns > 0 || options.threshold_bytes > 0 || !is_go_program(program.image)) {
    return;
  }
  print_line(join_text("program ", in_quotes(program.image), " is written in Go and ends without ",
                       "the C library, so there is no report at its end; ask for some before, ",
                       "with --interval=SECONDS"));
}

Status start(const Options& options) {
  const auto files = resolve_files(options, ::getpid());
  if (!files.ok()) return files.status();
  const auto program = find_program(options.command.front());
  if (!program.ok()) return program.status();
  if (Status status = check_preloadable(program->image); !status.ok()) return status;
  const Status sanitizers = check_sanitizers(program->image, options.hook);
  if (!sanitizers.ok()) return sanitizers;
  const auto object = find_preload_object(options.hook, object_kind(options));
  if (!object.ok()) return object.status();
  if (Status status = set_environment(options, *files, *object); !status.ok()) return status;
  warn_of_missing_report(options, *program);
  return become(*program, options.command);
}

Status print(const std::string& text) {
  const bool written = std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0;
  return written ? Status() : Status::unavailable("standard output: ", std::strerror(errno));
}

/// A shell may have become this process after it ran others.
bool had_children() {
  rusage usage{};
  return ::getrusage(RUSAGE_CHILDREN, &usage) == 0 && usage.ru_maxrss > 0;
}

Status run(std::span<char*> arguments) {
  auto options = parse_options(arguments);
  if (!options.ok()) return options.status();
  if (had_children()) options->children_hint = ChildrenHint::kNever;
  return options->answer.empty() ? start(*options) : print(options->answer);
}

int report(int code, const std::string& message) {
  print_line(message);
  return code;
}

}  // namespace
}  // namespace alloctap::run

int main(int argc, char** argv) {
  try {
    const alloctap::Status status = alloctap::run::run({argv, static_cast<std::size_t>(argc)});
    if (status.ok()) return 0;
    return alloctap::run::report(alloctap::run::exit_code(status), std::string(status.message()));
  } catch (const std::exception& error) {
    return alloctap::run::report(2, error.what());
  }
}

/// alloctap-run for Windows: checks what can be checked, starts the program, puts a library into it
/// that tracks it, and waits for it. Its exit code is the program's.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "alloctap/message_text.hpp"
#include "alloctap/status.hpp"
#include "launcher/encode_settings.hpp"
#include "launcher/failure.hpp"
#include "launcher/options.hpp"
#include "launcher/path_text.hpp"
#include "launcher/windows/program_file.hpp"
#include "launcher/windows/suspended_program.hpp"
#include "windows/program_image.hpp"
// After windows.h.
#include <shellapi.h>

namespace alloctap::run {
namespace {

const wchar_t* library_for(const Options& options) {
  if (!options.checks.empty()) return L"alloctap-run-checks.dll";
  return options.event_bytes > 0 ? L"alloctap-run-events.dll" : L"alloctap-run.dll";
}

/// Beside this executable.
Result<std::wstring> find_library(const wchar_t* name) {
  std::wstring own(32768, L'\0');
  own.resize(::GetModuleFileNameW(nullptr, own.data(), static_cast<DWORD>(own.size())));
  const std::filesystem::path library = std::filesystem::path(own).parent_path() / name;
  if (::GetFileAttributesW(library.c_str()) != INVALID_FILE_ATTRIBUTES) return library.native();
  return Status::internal("there is no ", in_quotes(text_of(library)),
                          ", which tracks the program; install alloctap again");
}

/// The keys that end programs are the program's affair.
BOOL WINAPI leave_to_program(DWORD) { return TRUE; }

/// The program's exit code.
Result<std::uint32_t> start(const Options& options) {
  const auto path = find_program(options.command.front());
  if (!path.ok()) return path.status();
  const Status kind = check_program_image(*path, in_quotes(options.command.front()));
  if (!kind.ok()) return kind;
  const auto library = find_library(library_for(options));
  if (!library.ok()) return library.status();
  auto program = SuspendedProgram::start(*path, join_arguments(options.command));
  if (!program.ok()) return program.status();
  const auto pid = static_cast<std::int32_t>(program->id());
  const auto files = resolve_files(options, pid);
  if (!files.ok()) return files.status();
  if (Status status = program->load_library(*library); !status.ok()) return status;
  // What it cannot do, it says itself; the program runs on without.
  const std::string settings = encode_settings(options, *files, pid);
  const auto tracked = program->call_library(*library, "alloctap_run_start", settings);
  if (!tracked.ok()) return tracked.status();
  ::SetConsoleCtrlHandler(&leave_to_program, TRUE);
  return program->run();
}

Result<std::uint32_t> run(std::span<char*> arguments) {
  const auto options = parse_options(arguments);
  if (!options.ok()) return options.status();
  if (options->answer.empty()) return start(*options);
  const bool written = std::fputs(options->answer.c_str(), stdout) >= 0 && std::fflush(stdout) == 0;
  if (written) return 0;
  return Status::unavailable("standard output cannot be written");
}

/// What main is told is in the code page of the system, and cut in another way.
std::vector<std::string> own_arguments() {
  int count = 0;
  wchar_t** const texts = ::CommandLineToArgvW(::GetCommandLineW(), &count);
  std::vector<std::string> arguments;
  for (int i = 0; i < count; ++i) arguments.push_back(text_of(texts[i]));
  ::LocalFree(texts);
  return arguments;
}

int report(int code, const std::string& message) {
  // One call, so that the line stays whole beside what others write.
  std::fputs(join_text("alloctap-run: ", message, "\n").c_str(), stderr);
  return code;
}

}  // namespace
}  // namespace alloctap::run

int main() {
  try {
    std::vector<std::string> arguments = alloctap::run::own_arguments();
    std::vector<char*> pointers;
    for (std::string& argument : arguments) pointers.push_back(argument.data());
    const std::size_t count = pointers.size();
    pointers.push_back(nullptr);
    const auto code = alloctap::run::run(std::span(pointers).first(count));
    if (code.ok()) return static_cast<int>(*code);
    return alloctap::run::report(alloctap::run::exit_code(code.status()),
                                 std::string(code.status().message()));
  } catch (const std::exception& error) {
    return alloctap::run::report(2, error.what());
  }
}

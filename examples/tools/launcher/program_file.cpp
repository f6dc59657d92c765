#include "launcher/program_file.hpp"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <vector>

#include "absl/strings/str_split.h"
#include "alloctap/message_text.hpp"
#include "alloctap/status.hpp"
#include "launcher/failure.hpp"

namespace alloctap::run {
namespace {

/// How much of a script the kernel reads (BINPRM_BUF_SIZE), and how many scripts may run scripts.
constexpr std::size_t kHeadBytes = 256;
constexpr int kMaxInterpreters = 5;

/// 0, or why `path` cannot be executed.
int execution_error(const std::string& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) return errno;
  if (S_ISDIR(status.st_mode)) return EISDIR;
  if (!S_ISREG(status.st_mode)) return EACCES;
  return ::eaccess(path.c_str(), X_OK) == 0 ? 0 : errno;
}

Status refuse(const std::string& subject, int error) {
  const std::string message = join_text(subject, ": ", error_text(error));
  switch (error) {
    case EISDIR:
      return program_error(error, join_text(message, "; name a program"));
    case EACCES:
      return program_error(error, join_text(message, "; make it executable with chmod +x"));
    default:
      return program_error(error, join_text(message, "; check the path"));
  }
}

/// The first file of that name in PATH that can be executed. One that cannot is skipped, and named
/// if no other follows.
Result<std::string> search_path(const std::string& name) {
  const char* variable = ::getenv("PATH");
  const std::vector<std::string> directories =
      absl::StrSplit(variable != nullptr ? variable : "/bin:/usr/bin", ':');
  Status status = Status::not_found("program ", in_quotes(name),
                                    ": not found in PATH; check the name or write its path");
  for (const std::string& directory : directories) {
    std::string file = directory.empty() ? name : join_text(directory, "/", name);
    const int error = execution_error(file);
    if (error == 0) return file;
    if (error == ENOENT || error == ENOTDIR || status.code() == StatusCode::kPermissionDenied)
      continue;
    status = refuse(join_text("program ", in_quotes(name), " at ", in_quotes(file)), error);
  }
  return status;
}

Result<std::string> locate(const std::string& name) {
  if (name.empty()) return refuse("program ''", ENOENT);
  if (name.find('/') == name.npos) return search_path(name);
  const int error = execution_error(name);
  if (error == 0) return name;
  return refuse(join_text("program ", in_quotes(name)), error);
}

Result<std::string> read_head(const std::string& path) {
  std::array<char, kHeadBytes> buffer{};
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  const ssize_t length = file < 0 ? -1 : ::pread(file, buffer.data(), buffer.size(), 0);
  const int error = errno;
  if (file >= 0) ::close(file);
  if (length >= 0) return std::string(buffer.data(), static_cast<std::size_t>(length));
  return Status::failed_precondition(
      "program ", in_quotes(path), " cannot be read, so nobody knows whether tracking ",
      "works: ", error_text(error), "; make it readable with chmod +r");
}

/// Follows "#!" lines from `path`. Empty where the system would not execute it at all.
Result<std::string> resolve_image(const std::string& path) {
  std::string image = path;
  for (int depth = 0; depth <= kMaxInterpreters; ++depth) {
    const Result<std::string> head = read_head(image);
    if (!head.ok()) return head.status();
    if (head->starts_with(ELFMAG)) return image;
    const std::string_view interpreter = interpreter_of(*head);
    if (interpreter.empty()) return std::string();
    const std::string subject =
        join_text("interpreter ", in_quotes(interpreter), " of ", in_quotes(image));
    image = interpreter;
    if (const int error = execution_error(image); error != 0) return refuse(subject, error);
  }
  return Status::permission_denied("program ", in_quotes(path),
                                   ": too many scripts run one another; start the last of them");
}

}  // namespace

std::string_view interpreter_of(std::string_view head) {
  constexpr std::string_view kBlank = " \t";
  constexpr std::string_view kBlankOrNull(" \t\0", 3);
  if (!head.starts_with("#!")) return {};
  const bool cut_short = head.size() == kHeadBytes && head.find('\n') == head.npos;
  std::string_view line =
      head.substr(2, head.find('\n') == head.npos ? head.npos : head.find('\n') - 2);
  line.remove_prefix(std::min(line.find_first_not_of(kBlank), line.size()));
  const std::size_t end = line.find_first_of(kBlankOrNull);
  if (end == line.npos && cut_short) return {};
  return line.substr(0, end);
}

Result<ProgramFile> find_program(const std::string& name) {
  const Result<std::string> path = locate(name);
  if (!path.ok()) return path.status();
  Result<std::string> image = resolve_image(*path);
  if (!image.ok()) return image.status();
  if (!image->empty()) return ProgramFile{.path = *path, .image = *std::move(image)};
  const Result<std::string> shell = resolve_image(kShell);
  if (!shell.ok()) return shell.status();
  return ProgramFile{.path = *path, .image = *shell, .needs_shell = true};
}

}  // namespace alloctap::run

#include "launcher/writable_path.hpp"

#include <fcntl.h>
#include <linux/limits.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <string_view>
#include <system_error>

#include "alloctap/message_text.hpp"
#include "alloctap/status.hpp"
#include "launcher/failure.hpp"
#include "launcher/path_text.hpp"
#include "settings.hpp"

namespace alloctap::run {
namespace {

namespace fs = std::filesystem;

Status refuse(const std::string& why) { return Status::invalid_argument(why); }

bool is_in_procfs(const fs::path& path) {
  struct statfs system{};
  const fs::path directory = path.parent_path();
  return ::statfs(directory.c_str(), &system) == 0 && system.f_type == PROC_SUPER_MAGIC;
}

Status check_is_no_directory(const fs::path& path) {
  const fs::path name = path.filename();
  struct stat status{};
  const bool is_directory = ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
  if (!is_directory && !name.empty() && name != "." && name != "..") return Status();
  return refuse("the path is a directory; add a file name");
}

/// In a sticky directory only the owner of a file, or of the directory, may replace it.
bool is_kept_from_replacement(const struct stat& file, const fs::path& directory) {
  struct stat parent{};
  if (::stat(directory.c_str(), &parent) != 0 || (parent.st_mode & S_ISVTX) == 0) return false;
  const uid_t user = ::geteuid();
  return user != 0 && user != file.st_uid && user != parent.st_uid;
}

Status check_existing(const fs::path& path, const fs::path& directory) {
  struct stat status{};
  if (::lstat(path.c_str(), &status) != 0) {
    if (errno == ENOENT) return Status();
    return refuse(join_text(error_text(errno), "; choose another path"));
  }
  if (::eaccess(path.c_str(), W_OK) == 0 && !is_kept_from_replacement(status, directory)) {
    return Status();
  }
  return refuse("the file is there and you may not replace it; choose another path");
}

/// Reports are written to a temporary file with a longer name, so that is what has to work.
Status try_to_create_beside(const fs::path& path) {
  constexpr char kLead[] = ".probe-";
  const std::string process = std::to_string(::getpid());
  const std::string zeros(kTemporarySuffixBytes + 1 - sizeof(kLead) - process.size(), '0');
  // What gets too long is cut, there as here.
  const std::string name = path.filename().native().substr(0, NAME_MAX - kTemporarySuffixBytes);
  const fs::path probe = path.parent_path() / join_text(name, kLead, zeros, process);
  const int file = ::open(probe.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) {
    return refuse(join_text("no file can be created in ", in_quotes(path.parent_path().native()),
                            ": ", error_text(errno), "; choose another path"));
  }
  ::close(file);
  ::unlink(probe.c_str());
  return Status();
}

}  // namespace

Result<fs::path> follow_links(fs::path path) {
  // As many as the kernel follows.
  constexpr int kMaxLinks = 40;
  for (int i = 0; i < kMaxLinks; ++i) {
    std::error_code error;
    const fs::path target = fs::read_symlink(path, error);
    if (error || is_in_procfs(path)) return path;
    path = path.parent_path() / target;
  }
  return refuse("the path is a symbolic link that leads to itself; choose another path");
}

bool is_written_through(const fs::path& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) return false;
  return !S_ISDIR(status.st_mode) && (!S_ISREG(status.st_mode) || is_in_procfs(path));
}

std::string standard_stream_path(const fs::path& path) {
  std::error_code error;
  if (!fs::equivalent(path.parent_path(), "/proc/self/fd", error) || error) return {};
  const std::string name = path.filename().native();
  if (name == "1") return kStandardOutputPath;
  return name == "2" ? kStandardErrorPath : std::string();
}

Result<std::string> check_device(const fs::path& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) {
    return refuse(join_text(error_text(errno), "; choose another path"));
  }
  if (S_ISSOCK(status.st_mode) || S_ISBLK(status.st_mode)) {
    const char* kind = S_ISSOCK(status.st_mode) ? "a socket" : "a block device";
    return refuse(join_text("the path is ", kind, "; choose a file, a pipe or a terminal"));
  }
  if (::eaccess(path.c_str(), W_OK) != 0) {
    return refuse(join_text(error_text(errno), "; choose a path that you may write"));
  }
  return join_text("device ", status.st_dev, ":", status.st_ino);
}

Result<fs::path> check_file(const fs::path& path) {
  if (Status status = check_is_no_directory(path); !status.ok()) return status;
  std::error_code error;
  const fs::path directory = fs::canonical(path.parent_path(), error);
  if (!error && !fs::is_directory(directory, error)) error = {ENOTDIR, std::system_category()};
  if (error) {
    return refuse(join_text("directory ", in_quotes(path.parent_path().native()), ": ",
                            error_text(error.value()), "; create it or choose another path"));
  }
  fs::path file = directory / path.filename();
  if (Status status = check_existing(file, directory); !status.ok()) return status;
  if (Status status = try_to_create_beside(file); !status.ok()) return status;
  return file;
}

Result<std::string> standard_output_path() { return kStandardOutputPath; }

std::string identity_of(const fs::path& file) { return text_of(file); }

}  // namespace alloctap::run

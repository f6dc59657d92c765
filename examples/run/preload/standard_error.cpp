#include "standard_error.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <optional>

namespace alloctap::run {
namespace {

struct FileIdentity {
  dev_t device = 0;
  ino_t inode = 0;
  bool operator==(const FileIdentity&) const = default;
};

/// Nothing until the copy is made, or tried.
constinit std::optional<FileIdentity> original;
constinit int copy = -1;

std::optional<FileIdentity> identify(int descriptor) noexcept {
  struct stat status{};
  if (descriptor < 0 || ::fstat(descriptor, &status) != 0) return std::nullopt;
  return FileIdentity{status.st_dev, status.st_ino};
}

}  // namespace

void keep_standard_error() noexcept {
  // Above what programs and select(2) use, below the usual limit.
  constexpr int kLeastNumber = 1000;
  if (original) return;
  original = identify(STDERR_FILENO).value_or(FileIdentity{});
  copy = ::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, kLeastNumber);
}

void drop_standard_error() noexcept {
  if (identify(copy) == original) ::syscall(SYS_close, copy);
  copy = -1;
}

int standard_error() noexcept {
  if (!original) return STDERR_FILENO;
  if (identify(copy) == original) return copy;
  return identify(STDERR_FILENO) == original ? STDERR_FILENO : -1;
}

}  // namespace alloctap::run

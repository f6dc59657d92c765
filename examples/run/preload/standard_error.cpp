#include "standard_error.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <optional>

#include "confinement.hpp"

namespace alloctap::run {
namespace {

struct FileIdentity {
  dev_t device = 0;
  ino_t inode = 0;
  bool operator==(const FileIdentity&) const = default;
};

std::optional<FileIdentity> identify(int descriptor) noexcept {
  struct stat status{};
  if (descriptor < 0 || ::fstat(descriptor, &status) != 0) return std::nullopt;
  return FileIdentity{status.st_dev, status.st_ino};
}

bool may_identify() noexcept { return may_call(SYS_fstat) && may_call(SYS_newfstatat); }

class KeptDescriptor {
 public:
  constexpr explicit KeptDescriptor(int number) noexcept : number_(number) {}

  void keep() noexcept {
    // Above what programs and select(2) use, below the usual limit.
    constexpr int kLeastNumber = 1000;
    if (original_) return;
    original_ = identify(number_).value_or(FileIdentity{});
    copy_ = ::fcntl(number_, F_DUPFD_CLOEXEC, kLeastNumber);
  }

  /// Before a filter that may refuse to look at descriptors.
  void keep_for_confinement() noexcept { last_answer_ = get(); }

  void drop() noexcept {
    if (!may_identify()) return;
    if (identify(copy_) == original_) ::syscall(SYS_close, copy_);
    copy_ = -1;
  }

  [[nodiscard]] int get() const noexcept {
    if (!may_identify()) return last_answer_;
    if (!original_) return number_;
    if (identify(copy_) == original_) return copy_;
    return identify(number_) == original_ ? number_ : -1;
  }

 private:
  int number_;
  /// Nothing until the copy is made, or tried.
  std::optional<FileIdentity> original_;
  int copy_ = -1;
  /// The answer while descriptors cannot be looked at.
  int last_answer_ = -1;
};

constinit KeptDescriptor kept_error(STDERR_FILENO);
constinit KeptDescriptor kept_output(STDOUT_FILENO);

}  // namespace

void keep_standard_error() noexcept { kept_error.keep(); }

void drop_standard_error() noexcept {
  kept_error.drop();
  kept_output.drop();
}

void keep_standard_error_for_confinement() noexcept {
  kept_error.keep_for_confinement();
  kept_output.keep_for_confinement();
}

int standard_error() noexcept { return kept_error.get(); }

void keep_standard_output() noexcept { kept_output.keep(); }

int standard_output() noexcept { return kept_output.get(); }

}  // namespace alloctap::run

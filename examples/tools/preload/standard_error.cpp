#include "standard_error.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <alloctap/os/thread_local.hpp>
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

class StandardStream {
 public:
  constexpr explicit StandardStream(int number) noexcept : number_(number) {}

  void note() noexcept { original_ = identify(number_).value_or(FileIdentity{}); }

  void keep() noexcept {
    // Above what programs and select(2) use, below the usual limit.
    constexpr int kLeastNumber = 1000;
    const os::ErrnoGuard preserve_error;
    if (is_forked_ || copy_ >= 0 || !original_) return;
    if (!may_identify() || !may_call(SYS_fcntl)) return;
    if (identify(number_) == original_) copy_ = ::fcntl(number_, F_DUPFD_CLOEXEC, kLeastNumber);
  }

  /// Before a filter that may refuse to look at descriptors.
  void keep_for_confinement() noexcept { last_answer_ = get(); }

  void drop() noexcept {
    is_forked_ = true;
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
  bool is_forked_ = false;
  /// Nothing until it is noted.
  std::optional<FileIdentity> original_;
  int copy_ = -1;
  /// The answer while descriptors cannot be looked at.
  int last_answer_ = -1;
};

constinit StandardStream error_stream(STDERR_FILENO);
constinit StandardStream output_stream(STDOUT_FILENO);

}  // namespace

void note_standard_error() noexcept { error_stream.note(); }

void keep_standard_error() noexcept { error_stream.keep(); }

void drop_standard_error() noexcept {
  error_stream.drop();
  output_stream.drop();
}

void keep_standard_error_for_confinement() noexcept {
  error_stream.keep_for_confinement();
  output_stream.keep_for_confinement();
}

int standard_error() noexcept { return error_stream.get(); }

void note_standard_output() noexcept { output_stream.note(); }

void keep_standard_output() noexcept { output_stream.keep(); }

int standard_output() noexcept { return output_stream.get(); }

}  // namespace alloctap::run

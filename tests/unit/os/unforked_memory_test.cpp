// Memory that a fork leaves out, in the copy of a process.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>

#include "alloctap/os/frozen_process.hpp"
#include "alloctap/os/linux/frozen_process.hpp"
#include "tests/support/frozen_moment.hpp"

namespace {

namespace os = alloctap::os;
using alloctap::testing::FrozenMoment;
using alloctap::testing::FrozenNotes;

constexpr std::size_t kPages = 8;

/// Pages with a number in the sixth of them, for which `advice` was given.
class AdvisedPages {
 public:
  explicit AdvisedPages(int advice, int flags = MAP_PRIVATE | MAP_ANONYMOUS,
                        int protection = PROT_READ | PROT_WRITE)
      : size_(kPages * os::page_size()) {
    pages_ =
        static_cast<unsigned char*>(::mmap(nullptr, size_, PROT_READ | PROT_WRITE, flags, -1, 0));
    REQUIRE(pages_ != MAP_FAILED);
    number() = 42;
    REQUIRE(::mprotect(pages_, size_, protection) == 0);
    REQUIRE(::madvise(pages_, size_, advice) == 0);
    seen = &number();
  }
  ~AdvisedPages() { ::munmap(pages_, size_); }
  AdvisedPages(const AdvisedPages&) = delete;
  AdvisedPages& operator=(const AdvisedPages&) = delete;

  [[nodiscard]] unsigned char& number() { return pages_[5 * os::page_size()]; }

  static inline unsigned char* seen = nullptr;

 private:
  std::size_t size_;
  unsigned char* pages_ = nullptr;
};

void note_number(FrozenNotes& notes) { notes.number = *AdvisedPages::seen; }
void look_at_nothing(FrozenNotes&) {}

/// What a copy finds in `pages`, which have something else by the time it may look.
int number_in_copy() {
  FrozenMoment frozen(&note_number);
  frozen.wait();
  CHECK(frozen.error() == 0);
  CHECK(frozen.notes().ended == 1);
  CHECK(frozen.notes().unread_bytes == 0);
  return frozen.notes().number;
}

/// In a process whose /proc is its parent's, which tells other ids: how many threads were seen, 100
/// more for each that was not.
int threads_seen_in_namespace() {
  std::atomic<bool> done{false};
  std::thread other([&] {
    while (!done) std::this_thread::yield();
  });
  FrozenMoment frozen(&look_at_nothing);
  frozen.wait();
  done = true;
  other.join();
  if (frozen.error() != 0 || frozen.notes().ended != 1) return 99;
  return static_cast<int>(frozen.notes().threads + 100 * frozen.unseen());
}

/// As `threads_seen_in_namespace`, with more threads than one read of their list tells, behind a
/// first thread that has ended: 0 if all were seen.
int see_many_threads_in_namespace() {
  constexpr std::uint32_t kThreads = 400;
  std::atomic<std::uint32_t> started{0};
  for (std::uint32_t i = 0; i < kThreads; ++i) {
    std::thread([&] {
      ++started;
      for (;;) ::pause();
    }).detach();
  }
  std::thread([&] {
    const auto tasks = os::TaskList::of_this_process();
    while (started < kThreads || tasks.state(::getpid()) != 'Z') std::this_thread::yield();
    FrozenMoment frozen(&look_at_nothing, kThreads + 10);
    frozen.wait();
    const bool all = frozen.error() == 0 && frozen.notes().threads == kThreads;
    ::_exit(all && frozen.unseen() == 0 ? 0 : 1);
  }).detach();
  for (;;) ::syscall(SYS_exit, 0);
}

int code_of(pid_t child) {
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

constexpr int kNoNamespaces = 98;

/// The exit status of a process that runs `inside` in a PID namespace without a /proc of its own.
int run_in_namespace(int (*inside)()) {
  const pid_t child = ::fork();
  if (child != 0) return code_of(child);
  if (::unshare(CLONE_NEWUSER | CLONE_NEWPID) != 0) ::_exit(kNoNamespaces);
  const pid_t first = ::fork();
  if (first == 0) ::_exit(inside());
  ::_exit(code_of(first));
}

}  // namespace

TEST_CASE("a copy has memory that a fork leaves out, as it was") {
  for (const int flags : {MAP_PRIVATE | MAP_ANONYMOUS, MAP_SHARED | MAP_ANONYMOUS}) {
    for (const int protection : {PROT_READ, PROT_READ | PROT_WRITE}) {
      CAPTURE(flags);
      CAPTURE(protection);
      AdvisedPages pages(MADV_DONTFORK, flags, protection);
      CHECK(number_in_copy() == 42);
    }
  }
}

TEST_CASE("a copy has memory that a fork hands out empty, as it was") {
  for (const int protection : {PROT_READ, PROT_READ | PROT_WRITE}) {
    CAPTURE(protection);
    AdvisedPages pages(MADV_WIPEONFORK, MAP_PRIVATE | MAP_ANONYMOUS, protection);
    CHECK(number_in_copy() == 42);
  }
}

TEST_CASE("the process itself still leaves that memory out of its forks") {
  AdvisedPages pages(MADV_WIPEONFORK);
  CHECK(number_in_copy() == 42);
  const pid_t child = ::fork();
  if (child == 0) ::_exit(pages.number());
  CHECK(code_of(child) == 0);
  CHECK(pages.number() == 42);
}

TEST_CASE("memory that is left out and cannot be read is counted") {
  const os::File file(::memfd_create("empty", MFD_CLOEXEC));
  REQUIRE(file.is_open());
  void* const behind_end =
      ::mmap(nullptr, os::page_size(), PROT_READ | PROT_WRITE, MAP_SHARED, file.descriptor(), 0);
  REQUIRE(behind_end != MAP_FAILED);
  REQUIRE(::madvise(behind_end, os::page_size(), MADV_DONTFORK) == 0);
  FrozenMoment frozen(&look_at_nothing);
  frozen.wait();
  ::munmap(behind_end, os::page_size());
  CHECK(frozen.notes().ended == 1);
  CHECK(frozen.notes().unread_bytes == os::page_size());
}

TEST_CASE("what is left out of a process that may not be dumped is counted" *
          doctest::skip(::geteuid() != 0)) {
  const pid_t child = ::fork();
  if (child == 0) {
    const AdvisedPages pages(MADV_DONTFORK);
    // Becoming another user has the effect of PR_SET_DUMPABLE.
    if (::setresuid(65534, 65534, 65534) != 0) ::_exit(1);
    FrozenMoment frozen(&look_at_nothing);
    frozen.wait();
    const bool counted = frozen.notes().unread_bytes == kPages * os::page_size();
    ::_exit(frozen.error() == 0 && frozen.notes().ended == 1 && counted ? 0 : 2);
  }
  CHECK(code_of(child) == 0);
}

TEST_CASE("threads are stopped where /proc tells the ids of another PID namespace") {
  const int seen = run_in_namespace(&threads_seen_in_namespace);
  if (seen == kNoNamespaces) {
    MESSAGE("the system makes no namespaces for this user");
    return;
  }
  CHECK(seen == 1);
  CHECK(run_in_namespace(&see_many_threads_in_namespace) == 0);
}

TEST_CASE("a process that makes its children in another PID namespace is not copied") {
  CHECK(os::may_copy_process());
  const pid_t child = ::fork();
  if (child == 0) {
    if (::unshare(CLONE_NEWUSER | CLONE_NEWPID) != 0) ::_exit(kNoNamespaces);
    ::_exit(os::may_copy_process() ? 1 : 0);
  }
  const int code = code_of(child);
  CHECK((code == 0 || code == kNoNamespaces));
}

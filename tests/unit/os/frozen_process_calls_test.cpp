// System calls that threads wait in go on, as if they had never been stopped.
#include <doctest/doctest.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <functional>
#include <thread>

#include "alloctap/os/frozen_process.hpp"
#include "alloctap/os/linux/thread_stops.hpp"
#include "tests/support/frozen_moment.hpp"

namespace {

namespace os = alloctap::os;
using alloctap::testing::FrozenMoment;
using alloctap::testing::FrozenNotes;

/// A pipe, or what is like one, that becomes readable.
struct WaitedFor {
  explicit WaitedFor(bool socket = false) {
    if (socket) {
      REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    } else {
      REQUIRE(::pipe(ends) == 0);
    }
  }
  ~WaitedFor() {
    ::close(ends[0]);
    ::close(ends[1]);
  }
  void become_ready() const { REQUIRE(::write(ends[1], "x", 1) == 1); }
  int ends[2] = {};
};

void do_nothing(FrozenNotes&) {}

/// The errno that `call`, which returns a number, fails with on a thread that is in it while copies
/// are made; 0 where it succeeds. `end` lets it return.
int error_of(const std::function<long()>& call, const std::function<void()>& end) {
  std::atomic<os::ThreadId> id{0};
  std::atomic<int> error{-1};
  std::thread waiting([&] {
    id = os::current_thread_id();
    const long result = call();
    error = result < 0 ? errno : 0;
  });
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  const auto tasks = os::TaskList::of_this_process();
  const auto waits = [&] { return id != 0 && tasks.state(id) == 'S'; };
  while (!waits() && error == -1 && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::yield();
  }
  int failed = 0;
  std::size_t unseen = 0;
  for (int i = 0; i < 20; ++i) {
    FrozenMoment frozen(&do_nothing);
    failed += frozen.error() != 0;
    unseen += frozen.unseen();
  }
  end();
  waiting.join();
  CHECK(failed == 0);
  CHECK(unseen == 0);
  return error;
}

}  // namespace

TEST_CASE("a thread that reads, polls or sleeps does not notice that it was stopped") {
  const WaitedFor waited;
  char byte = 0;
  CHECK(error_of([&] { return ::read(waited.ends[0], &byte, 1); },
                 [&] { waited.become_ready(); }) == 0);
  pollfd request{.fd = waited.ends[0], .events = POLLIN, .revents = 0};
  CHECK(error_of([&] { return ::poll(&request, 1, -1); }, [&] { waited.become_ready(); }) == 0);
  const timespec nap{.tv_sec = 0, .tv_nsec = 300'000'000};
  CHECK(error_of([&] { return ::nanosleep(&nap, nullptr); }, [] {}) == 0);
}

#if defined(__x86_64__)
TEST_CASE("a call that would fail when it is stopped is begun again") {
  const WaitedFor waited;
  const int set = ::epoll_create1(EPOLL_CLOEXEC);
  epoll_event event{.events = EPOLLIN, .data = {}};
  REQUIRE(::epoll_ctl(set, EPOLL_CTL_ADD, waited.ends[0], &event) == 0);
  CHECK(error_of([&] { return ::epoll_wait(set, &event, 1, -1); },
                 [&] { waited.become_ready(); }) == 0);
  ::close(set);

  const WaitedFor sockets(true);
  const timeval patience{.tv_sec = 300, .tv_usec = 0};
  REQUIRE(::setsockopt(sockets.ends[0], SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) == 0);
  char byte = 0;
  CHECK(error_of([&] { return ::recv(sockets.ends[0], &byte, 1, 0); },
                 [&] { sockets.become_ready(); }) == 0);

  const int semaphores = ::semget(IPC_PRIVATE, 1, 0600);
  sembuf take{.sem_num = 0, .sem_op = -1, .sem_flg = 0};
  sembuf give{.sem_num = 0, .sem_op = 1, .sem_flg = 0};
  CHECK(error_of([&] { return ::semop(semaphores, &take, 1); },
                 [&] { ::semop(semaphores, &give, 1); }) == 0);
  ::semctl(semaphores, 0, IPC_RMID);
}
#endif

TEST_CASE("a signal for a thread that is stopped reaches it") {
  static std::atomic<int> handled{0};
  handled = 0;
  struct sigaction before{};
  struct sigaction action{};
  action.sa_handler = [](int) { ++handled; };
  REQUIRE(::sigaction(SIGUSR2, &action, &before) == 0);
  std::atomic<bool> done{false};
  std::thread target([&] {
    while (!done) std::this_thread::yield();
  });
  const pthread_t thread = target.native_handle();
  std::atomic<int> sent{0};
  std::thread sender([&] {
    while (!done) {
      ::pthread_kill(thread, SIGUSR2);
      const int wanted = ++sent;
      while (handled < wanted && !done) std::this_thread::yield();
    }
  });
  while (sent < 10) std::this_thread::yield();
  for (int i = 0; i < 100; ++i) FrozenMoment(&do_nothing).wait();
  const int before_last = sent;
  // If one was lost, the sender would wait for it in vain.
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (sent < before_last + 10 && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::yield();
  }
  CHECK(sent >= before_last + 10);
  done = true;
  sender.join();
  target.join();
  ::sigaction(SIGUSR2, &before, nullptr);
}

TEST_CASE("a thread that waits for a child with its memory is not waited for") {
  const WaitedFor waited;
  std::thread waiting([&] {
    char byte = 0;
    const pid_t child = ::vfork();
    if (child == 0) {
      static_cast<void>(!::read(waited.ends[0], &byte, 1));
      ::_exit(0);
    }
    ::waitpid(child, nullptr, 0);
  });
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  std::size_t unseen = 0;
  while (unseen == 0 && std::chrono::steady_clock::now() < deadline) {
    FrozenMoment frozen(&do_nothing);
    CHECK(frozen.error() == 0);
    unseen = frozen.unseen();
  }
  waited.become_ready();
  waiting.join();
  CHECK(unseen == 1);
}
